"""Make the bucket given, unless it is there: MLflow keeps artifacts in one, but makes none."""

import os
import sys
import time

import boto3
from botocore.exceptions import BotoCoreError, ClientError

PATIENCE = 60
"""Seconds until the storage must answer."""

client = boto3.client("s3", endpoint_url=os.environ.get("MLFLOW_S3_ENDPOINT_URL"))
deadline = time.monotonic() + PATIENCE
while True:
    try:
        if sys.argv[1] not in [bucket["Name"] for bucket in client.list_buckets()["Buckets"]]:
            client.create_bucket(Bucket=sys.argv[1])
        break
    except (BotoCoreError, ClientError) as error:
        if time.monotonic() > deadline:
            sys.exit(f"The storage does not answer: {error}")
        time.sleep(1)
