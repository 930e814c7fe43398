"""Rankers that learn from one triplet after another (paper 003)."""
