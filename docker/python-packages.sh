#!/bin/sh
# The locked run-time environment, with compiled bytecode and no caches, in the folder given (default /opt/mediarank).
# pip refuses what does not match its hash in the lock, which is complete; wheels are unpacked, nothing is built.
set -eu
target=${1:-/opt/mediarank}
here=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
export PIP_NO_CACHE_DIR=1
python3 -m venv "$target"
"$target/bin/python" -m pip install --quiet --no-deps --require-hashes --only-binary :all: -r "$here/requirements.lock"
"$target/bin/python" -m compileall -q "$target/lib" || true  # some packages carry files for other Pythons
