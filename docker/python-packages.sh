#!/bin/sh
# The locked environment, with compiled bytecode and no caches, in the folder given (default /opt/mediarank).
set -eu
target=${1:-/opt/mediarank}
here=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
export PIP_NO_CACHE_DIR=1 UV_NO_CACHE=1
python3 -m venv "$target"
"$target/bin/python" -m pip install --quiet "$(grep '^uv==' "$here/requirements.lock")"
"$target/bin/uv" pip install --quiet --python "$target/bin/python" --compile-bytecode -r "$here/requirements.lock" ||
    "$target/bin/python" -m pip install --quiet -r "$here/requirements.lock"
