"""Learning to rank image and video collections, as a pipeline that can be versioned, scheduled and rolled back."""

__version__ = "0.1.0"
