# Two targets: `pipeline` runs the stages once, `serve` is the Prefect runner that waits for scheduled runs.
# Every RUN step is a script in docker/, so that it can be rehearsed without a container engine (tests/test_container.py).
# The layers, from what rarely changes to what often does: system, packages, user, project.
# The image to start from, by digest (docker/secrets.sh writes it to .env): without a default, so that no tag floats.
ARG PYTHON_IMAGE
FROM ${PYTHON_IMAGE} AS packages
COPY docker/python-packages.sh /build/docker/
COPY requirements.lock /build/
RUN /build/docker/python-packages.sh /opt/mediarank

FROM ${PYTHON_IMAGE} AS base
COPY docker/system-packages.sh docker/user.sh /build/docker/
RUN /build/docker/system-packages.sh
RUN /build/docker/user.sh
COPY --from=packages --chown=mediarank /opt/mediarank /opt/mediarank
ENV PATH=/opt/mediarank/bin:$PATH \
    MEDIARANK_PYTHON=/opt/mediarank/bin/python \
    DO_NOT_TRACK=true DVC_NO_ANALYTICS=1 MLFLOW_DISABLE_TELEMETRY=true PREFECT_SERVER_ANALYTICS_ENABLED=false \
    NUMBA_CACHE_DIR=/tmp/numba PYTHONUNBUFFERED=1
USER mediarank
WORKDIR /home/mediarank/project
COPY --chown=mediarank . .
RUN docker/project.sh /opt/mediarank

FROM base AS pipeline
CMD ["docker/run-once.sh"]

FROM base AS serve
HEALTHCHECK --interval=30s --timeout=10s --start-period=60s CMD ["python", "docker/healthy.py"]
CMD ["python", "flows/deployments.py"]
