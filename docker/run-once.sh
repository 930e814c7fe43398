#!/bin/sh
# All stages, recorded, with a table of the results: what `make run` does, where there is no make.
set -eu
cd "$(dirname -- "$0")/.."
dvc repro
mediarank track
mediarank results
