"""A DVC project with two committed versions, shaped like the real one as far as versions and lineage look at it.

    collect -> manifest -> systems@retrieval -> evaluation@retrieval -> report

Its stages copy prepared files out of `source`, so that a run takes a moment; `code.py` stands for the code.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pandas as pd
import yaml
from process_state import restored

from mediarank.ops.services.environment import quiet_environment

PLAN = """\
stages:
  collect:
    cmd: mkdir -p data/raw && cp -r source/media source/labels data/raw/
    deps: [source, code.py]
    params: [collection]
    outs: [data/raw/media, data/raw/labels]
  manifest:
    cmd:
      - mkdir -p data/manifest data/splits
      - cp prepared/manifest.parquet data/manifest/
      - cp prepared/roles.parquet data/splits/
    deps: [data/raw/media, data/raw/labels, prepared/manifest.parquet, prepared/roles.parquet]
    outs: [data/manifest/manifest.parquet, data/splits/roles.parquet]
  systems:
    foreach: ${systems}
    do:
      cmd: mkdir -p data/systems/${key} && cp prepared/metrics.json data/systems/${key}/model.json
      deps: [data/manifest/manifest.parquet, code.py, prepared/metrics.json]
      params: ["systems.${key}"]
      outs: ["data/systems/${key}"]
  evaluation:
    foreach: ${systems}
    do:
      cmd:
        - mkdir -p data/evaluation/${key}
        - cp prepared/metrics.json prepared/per_query.parquet data/evaluation/${key}/
      deps: ["data/systems/${key}", data/raw/labels, prepared/metrics.json, prepared/per_query.parquet]
      outs: ["data/evaluation/${key}/metrics.json", "data/evaluation/${key}/per_query.parquet"]
  report:
    cmd: mkdir -p data/report && echo report > data/report/report.html
    deps: [data/evaluation/retrieval/metrics.json]
    outs: [data/report/report.html]
"""

FIRST = {f"images/{name}.jpg": f"picture of {name}" for name in ("bay", "cliff", "forest", "street")}
SECOND = {**FIRST, "images/cliff.jpg": "another cliff", "images/tower.jpg": "picture of tower"}
del SECOND["images/forest.jpg"]


def make(folder: Path, remote: Path) -> Path:
    """A project with the versions v1 and v2, both of them pushed; v2 is checked out."""
    folder.mkdir(parents=True)
    git(folder, "init", "--quiet", "--initial-branch=main")
    git(folder, "config", "user.name", "test")
    git(folder, "config", "user.email", "test@localhost")
    dvc(folder, "init", "--quiet")
    dvc(folder, "remote", "add", "--quiet", "--default", "store", str(remote))
    dvc(folder, "config", "cache.type", "reflink,hardlink,copy")
    (folder / ".gitignore").write_text("/.mediarank/\n/mlflow.db*\n/mlartifacts/\n/source/\n")
    (folder / "dvc.yaml").write_text(PLAN)
    (folder / "code.py").write_text("print('one')\n")
    (folder / "baseline").mkdir()
    (folder / "baseline/check.json").write_text("{}\n")
    run(folder, FIRST, seed=7, boost=0.0)
    commit(folder, "first run", "v1")
    (folder / "baseline/check.json").write_text('{"items": 4}\n')
    run(folder, SECOND, seed=8, boost=0.1)
    commit(folder, "second run", "v2")
    return folder


def run(folder: Path, media: dict[str, str], seed: int, boost: float) -> None:
    """Prepare what the stages copy, run them, push the data."""
    shutil.rmtree(folder / "source", ignore_errors=True)
    for name, content in media.items():
        (folder / "source/media" / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / "source/media" / name).write_text(content)
    (folder / "source/labels").mkdir()
    rows = "".join(f"{name},{'sea' if content == 'picture of cliff' else 'land'}\n" for name, content in media.items())
    (folder / "source/labels/classes.csv").write_text("item,class\n" + rows)
    prepare(folder / "prepared", media, boost)
    params = {"collection": {"source": "folder", "path": "source", "seed": seed}, "systems": {"retrieval": {"k": 5}}}
    (folder / "params.yaml").write_text(yaml.safe_dump(params, sort_keys=False))
    dvc(folder, "repro")
    dvc(folder, "push", "--quiet")


def prepare(folder: Path, media: dict[str, str], boost: float) -> None:
    folder.mkdir(exist_ok=True)
    items = sorted(media)
    manifest = pd.DataFrame({
        "item_id": items, "path": items, "kind": "image", "width": 8, "height": 8, "seconds": 0.0, "fps": 0.0,
        "has_sound": False, "sha256": [hashlib.sha256(media[item].encode()).hexdigest() for item in items],
        "group_id": items, "status": "ok", "reason": "",
    })  # fmt: skip
    manifest.to_parquet(folder / "manifest.parquet")
    roles = pd.DataFrame({"item_id": items, "group_id": items, "role": "rank", "fold": 0})
    roles.loc[roles.index[-1], "role"] = "test"
    roles.to_parquet(folder / "roles.parquet")
    queries = [f"q{k:02d}" for k in range(40)]
    noise = np.random.default_rng(3).normal(0, 0.02, size=(2, len(queries)))
    values = {"plain": 0.5 + noise[0], "learned": 0.6 + boost + noise[1]}
    tables = [pd.DataFrame({"method": m, "query": queries, "relevant": 3, "ap": v}) for m, v in values.items()]
    pd.concat(tables).to_parquet(folder / "per_query.parquet")
    metrics = {method: {"map": float(v.mean()), "queries": len(v)} for method, v in values.items()}
    (folder / "metrics.json").write_text(json.dumps(metrics))


def commit(folder: Path, message: str, tag: str = "") -> str:
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message", message)
    if tag:
        git(folder, "tag", tag)
    return git(folder, "rev-parse", "HEAD")


def git(folder: Path, *arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def dvc(folder: Path, *arguments: str) -> None:
    """DVC in this process: starting Python and importing it each time would take most of a test's time."""
    import os

    with restored():  # DVC sets up logging for the whole process
        from dvc.cli import main

        os.chdir(folder)
        os.environ.update(quiet_environment(folder))
        assert main(list(arguments)) == 0, arguments


def media(folder: Path) -> dict[str, str]:
    """The collection as it lies in the workspace."""
    root = folder / "data/raw/media"
    return {path.relative_to(root).as_posix(): path.read_text() for path in sorted(root.rglob("*")) if path.is_file()}


def damage(folder: Path, content: str) -> list[Path]:
    """Overwrite a content behind DVC's back, in its cache and in the workspace, as a failing disk would."""
    everywhere = [*(folder / ".dvc/cache/files/md5").glob("??/*"), *(folder / "data/raw/media").rglob("*")]
    copies = [path for path in everywhere if path.is_file() and path.read_bytes() == content.encode()]
    assert copies, f"{content!r} is not there"
    for path in copies:
        path.chmod(0o644)
        path.write_text(content.upper())
        path.chmod(0o444)
    return copies
