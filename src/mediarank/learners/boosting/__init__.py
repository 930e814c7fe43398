"""Boosted rankers and cascades: models asked one after another (papers 000 and 001)."""
