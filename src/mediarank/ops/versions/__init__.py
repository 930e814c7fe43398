"""Versions of the data: history, rollback, verification."""
