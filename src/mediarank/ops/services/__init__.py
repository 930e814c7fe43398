"""Processes that stay: Prefect server, MLflow UI, and their environment."""
