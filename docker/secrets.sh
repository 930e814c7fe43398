#!/bin/sh
# Writes .env for compose.yaml: random passwords, and the images by digest, so that a tag that moves changes nothing.
# What is in .env already stays; delete a line to have it made anew. Needs docker, to ask for the digests.
set -eu
here=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
file=${1:-$here/.env}
umask 077
touch "$file"
chmod 600 "$file"

known() { grep -q "^$1=" "$file"; }

for name in DATABASE_PASSWORD STORAGE_PASSWORD PREFECT_PASSWORD; do
    known "$name" || echo "$name=$(od -An -N24 -tx1 /dev/urandom | tr -d ' \n')" >> "$file"
done

# A tag may move, so only images by digest are accepted, also those that somebody wrote into the file.
pin() {
    if ! known "$1"; then
        docker pull --quiet "$2" > /dev/null || {
            echo "$2 can't be pulled. Where it can: docker pull $2 && docker image inspect --format '{{index .RepoDigests 0}}' $2" >&2
            echo "Then write what it prints to $file, as $1=name@sha256:..., and run this again." >&2
            exit 1
        }
        echo "$1=$(docker image inspect --format '{{index .RepoDigests 0}}' "$2")" >> "$file"
    fi
    grep -Eq "^$1=[^@ ]+@sha256:[0-9a-f]{64}$" "$file" || {
        echo "$1 in $file is no image by digest (name@sha256:...): delete the line and run this again." >&2
        exit 1
    }
}

pin DATABASE_IMAGE postgres:17
pin STORAGE_IMAGE chrislusf/seaweedfs:4.07
pin PYTHON_IMAGE python:3.11-slim
