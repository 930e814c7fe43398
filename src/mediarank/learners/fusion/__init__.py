"""Combining the scores of base models (papers 000 and 002)."""
