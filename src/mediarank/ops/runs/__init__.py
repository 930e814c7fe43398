"""Running the stages, recording runs in MLflow, and reading them back."""
