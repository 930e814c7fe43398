"""Boosted rankers and cascades: models evaluated one after another (papers 000 and 001)."""
