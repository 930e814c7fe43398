#!/usr/bin/env bash
# Installs a Chromium for the browser tests of the explorer, where that is possible. Never fails: without one the
# tests are skipped and say so.
set -u
for name in chromium chromium-browser google-chrome google-chrome-stable; do
    command -v "$name" > /dev/null && exit 0
done
if [ -n "${MEDIARANK_CHROMIUM:-}" ]; then exit 0; fi
if [ "$(id -u)" -ne 0 ] || ! command -v apt-get > /dev/null; then
    echo "No Chromium, and it can't be installed here (that takes root and apt-get): browser tests will be skipped."
    exit 0
fi
export DEBIAN_FRONTEND=noninteractive
{ timeout 300 apt-get update -qq && timeout 600 apt-get install -qq -y --no-install-recommends chromium; } > /dev/null 2>&1 \
    || echo "apt-get could not install a Chromium: browser tests will be skipped."
exit 0
