"""Open a fitted system, describe files as the pipeline would, and answer."""
