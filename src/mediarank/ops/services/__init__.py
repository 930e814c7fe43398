"""Long-running processes: Prefect server, MLflow UI, and their environment."""
