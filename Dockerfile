# Two targets: `pipeline` runs the stages once, `serve` is the Prefect runner that waits for scheduled runs.
# Every RUN step is a script in docker/, so that it can be tried without a container engine.
FROM python:3.11-slim AS base
COPY docker/system-packages.sh /tmp/
RUN /tmp/system-packages.sh
COPY requirements.lock docker/python-packages.sh /build/docker/
RUN mv /build/docker/requirements.lock /build/ && /build/docker/python-packages.sh /opt/mediarank
ENV PATH=/opt/mediarank/bin:$PATH \
    MEDIARANK_PYTHON=/opt/mediarank/bin/python \
    DO_NOT_TRACK=1 DVC_NO_ANALYTICS=1 MLFLOW_DISABLE_TELEMETRY=true \
    NUMBA_CACHE_DIR=/tmp/numba PYTHONUNBUFFERED=1
RUN useradd --create-home mediarank
WORKDIR /home/mediarank/project
COPY --chown=mediarank . .
RUN docker/project.sh /opt/mediarank && chown mediarank .
USER mediarank

FROM base AS pipeline
CMD ["sh", "-c", "dvc repro && mediarank track && mediarank results"]

FROM base AS serve
HEALTHCHECK --interval=30s --timeout=10s --start-period=60s CMD ["python", "-c", "import urllib.request, os; urllib.request.urlopen(os.environ['PREFECT_API_URL'] + '/health', timeout=5)"]
CMD ["python", "flows/deployments.py"]
