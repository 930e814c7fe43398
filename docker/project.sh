#!/bin/sh
# mediarank itself into the environment, and its numba kernels' cache folder.
set -eu
target=${1:-/opt/mediarank}
here=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
"$target/bin/python" -m pip install --quiet --no-deps --no-build-isolation --editable "$here"
