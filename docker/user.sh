#!/bin/sh
# The user that everything runs as, and the folders that are its own. Run as root while the image is built.
set -eu
useradd --create-home --uid 1000 mediarank
install --directory --owner mediarank /home/mediarank/project /home/mediarank/workspace /var/lib/prefect /var/lib/mlflow
