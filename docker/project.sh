#!/bin/sh
# mediarank itself into the environment (default /opt/mediarank), compiled, and a git repository for DVC if there is none.
set -eu
target=${1:-/opt/mediarank}
here=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
"$target/bin/python" -m pip install --quiet --no-cache-dir --no-deps --no-build-isolation --editable "$here"
"$target/bin/python" -m compileall -q "$here/src" "$here/flows"
[ -e "$here/.git" ] || git -C "$here" init --quiet
