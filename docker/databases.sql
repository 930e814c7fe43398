-- One database a server, in one PostgreSQL.
CREATE DATABASE prefect;
CREATE DATABASE mlflow;
