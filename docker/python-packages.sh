#!/bin/sh
# The locked environment, with compiled bytecode, in the folder given (default /opt/mediarank).
set -eu
target=${1:-/opt/mediarank}
here=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
python3 -m venv "$target"
"$target/bin/python" -m pip install --quiet "$(grep '^uv==' "$here/requirements.lock")"
"$target/bin/uv" pip install --quiet --python "$target/bin/python" --compile-bytecode -r "$here/requirements.lock" ||
    "$target/bin/python" -m pip install --quiet -r "$here/requirements.lock"
