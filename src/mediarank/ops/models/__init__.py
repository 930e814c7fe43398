"""Models after fitting: packed, registered, promoted, served."""
