#!/bin/sh
# Puts the image's code ($1) into the workspace ($2) and runs the command that follows there. Data, settings, labels,
# versions and passwords of the workspace stay; code is replaced, so that a new image brings its own.
set -eu
code=$1
work=$2
shift 2
mkdir -p "$work"
for name in src flows docker bin; do
    rm -rf "$work/.$name.new"
    cp -R "$code/$name" "$work/.$name.new"
    rm -rf "${work:?}/$name"
    mv "$work/.$name.new" "$work/$name"
done
cp "$code/pyproject.toml" "$code/prefect.yaml" "$code/README.md" "$work/"
for name in params.yaml dvc.yaml baseline data .dvc .dvcignore .gitignore; do
    [ -e "$work/$name" ] || [ ! -e "$code/$name" ] || cp -R "$code/$name" "$work/$name"
done
[ -e "$work/.git" ] || git -C "$work" init --quiet
cd "$work"
mediarank wire
exec "$@"
