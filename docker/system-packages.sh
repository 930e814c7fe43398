#!/bin/sh
# What the wheels expect of the system: git for DVC, libgomp for LightGBM. Run as root while the image is built.
set -eu
apt-get update
apt-get install --yes --no-install-recommends git libgomp1
rm -rf /var/lib/apt/lists/*
