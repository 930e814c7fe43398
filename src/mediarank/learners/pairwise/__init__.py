"""Rankers learned from ordered pairs and triplets, and how such pairs are made."""
