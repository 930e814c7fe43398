"""dvc.lock read with yaml only: its key, the planned stages, and whether the workspace matches."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from mediarank.ops.versions.lockfile import dvc_hash, read_lock
from mediarank.types import DataError

PLAN = {
    "collect": {"cmd": "collect", "outs": ["data/raw"]},
    "features": {"foreach": "${features}", "do": {"cmd": "features ${key}"}},
    "evaluation": {"foreach": ["retrieval"], "do": {"cmd": "evaluation ${item}"}},
}
PARAMS = {"collect": {"seed": 7, "rate": 0.001}, "features": {"hog": {"bins": 9}, "lab": {"bins": 4}}}


def write(root: Path, plan: Any = PLAN, params: Any = PARAMS, stages: Any = None) -> None:
    (root / "data/raw").mkdir(parents=True, exist_ok=True)
    (root / "data/raw/a.txt").write_text("one\n")
    (root / "dvc.yaml").write_text(yaml.safe_dump({"stages": plan}))
    (root / "params.yaml").write_text(yaml.safe_dump(params))
    (root / "dvc.lock").write_text(yaml.safe_dump({"schema": "2.0", "stages": stages or locked()}, sort_keys=False))


def locked() -> dict[str, Any]:
    listing = [{"md5": hashlib.md5(b"one\n", usedforsecurity=False).hexdigest(), "relpath": "a.txt"}]
    raw = hashlib.md5(json.dumps(listing).encode(), usedforsecurity=False).hexdigest() + ".dir"
    return {
        "collect": {
            "cmd": "collect",
            "params": {"params.yaml": {"collect": {"seed": 7, "rate": 0.001}}},
            "outs": [{"path": "data/raw", "hash": "md5", "md5": raw, "size": 4, "nfiles": 1}],
        },
        "features@hog": {"cmd": "features hog", "params": {"params.yaml": {"features.hog": {"bins": 9}}}},
        "features@lab": {"cmd": "features lab"},
        "evaluation@retrieval": {"cmd": "evaluation retrieval"},
    }


def test_folder_hash_is_that_of_dvc(tmp_path: Path) -> None:
    """The known answer is from dvc 3.67: `dvc repro` of a stage that writes these three files."""
    (tmp_path / "é").mkdir()
    (tmp_path / "é/b.txt").write_text("1\n")
    (tmp_path / "a").write_text("2\n")
    (tmp_path / "é.txt").write_text("3\n")
    assert dvc_hash(tmp_path) == "508fd08e925507fd4c1352382cdb0d5d.dir"
    assert dvc_hash(tmp_path / "é/b.txt") == "b026324c6904b2a9cb4b88d6d61c81d1"


def test_key_depends_on_what_ran_but_not_on_the_order(tmp_path: Path) -> None:
    write(tmp_path)
    key = read_lock(tmp_path).key
    write(tmp_path, stages=dict(reversed(locked().items())))
    assert read_lock(tmp_path).key == key
    changed = locked()
    changed["features@lab"]["cmd"] = "features lab --fine"
    write(tmp_path, stages=changed)
    assert read_lock(tmp_path).key != key


def test_data_version_depends_on_the_collection_alone(tmp_path: Path) -> None:
    write(tmp_path)
    version = read_lock(tmp_path).data_version
    changed = locked()
    changed["features@lab"]["cmd"] = "features lab --fine"
    write(tmp_path, stages=changed)
    assert read_lock(tmp_path).data_version == version
    changed["collect"]["outs"][0]["md5"] = "0" * 32 + ".dir"
    write(tmp_path, stages=changed)
    assert read_lock(tmp_path).data_version != version


def test_stages_that_are_no_longer_planned_do_not_count(tmp_path: Path) -> None:
    write(tmp_path)
    key = read_lock(tmp_path).key
    former = {"cmd": "features gist", "params": {"params.yaml": {"features.gist": {"blocks": 4}}}}
    write(tmp_path, stages={**locked(), "features@gist": former, "base_models": {"cmd": "base_models"}})
    lock = read_lock(tmp_path)
    lock.require_same_params()
    assert sorted(lock.stages) == ["collect", "evaluation@retrieval", "features@hog", "features@lab"]
    assert lock.key == key


@pytest.mark.parametrize("gone", ["collect", "features@lab", "evaluation@retrieval"])
def test_a_planned_stage_that_has_not_run_is_reported(tmp_path: Path, gone: str) -> None:
    write(tmp_path, stages={name: stage for name, stage in locked().items() if name != gone})
    with pytest.raises(DataError, match=f"lacks the stage\\(s\\) {gone}; run dvc repro first"):
        read_lock(tmp_path)


def test_a_matrix_has_the_addresses_that_are_found(tmp_path: Path) -> None:
    plan = {**PLAN, "features": {"matrix": {"name": ["hog", "lab"]}, "cmd": "features"}}
    write(tmp_path, plan=plan)
    assert "features@lab" in read_lock(tmp_path).stages
    write(tmp_path, plan=plan, stages={k: v for k, v in locked().items() if not k.startswith("features")})
    with pytest.raises(DataError, match="features"):
        read_lock(tmp_path)


@pytest.mark.parametrize("name", ["dvc.lock", "dvc.yaml", "params.yaml"])
def test_a_missing_file_is_reported(tmp_path: Path, name: str) -> None:
    write(tmp_path)
    (tmp_path / name).unlink()
    with pytest.raises(DataError, match=f"There is no {name} in .*; run"):
        read_lock(tmp_path)


def test_damaged_yaml_is_reported(tmp_path: Path) -> None:
    write(tmp_path)
    (tmp_path / "dvc.lock").write_text("stages: [")
    with pytest.raises(DataError, match="can't be read"):
        read_lock(tmp_path)


def test_files_are_those_that_the_lock_speaks_of(tmp_path: Path) -> None:
    write(tmp_path)
    lock = read_lock(tmp_path)
    assert lock.files("data/raw") == [tmp_path / "data/raw/a.txt"]
    assert lock.files("data/ra") == []
    (tmp_path / "data/raw/a.txt").write_text("two\n")
    with pytest.raises(DataError, match=r"data/raw is not what dvc\.lock says; run dvc repro first"):
        lock.files("data/raw")
    (tmp_path / "data/raw/a.txt").unlink()
    (tmp_path / "data/raw").rmdir()
    with pytest.raises(DataError, match="not in the workspace; run dvc checkout"):
        lock.files("data/raw")


def test_changed_params_are_reported(tmp_path: Path) -> None:
    write(tmp_path)
    read_lock(tmp_path).require_same_params()
    write(tmp_path, params={**PARAMS, "collect": {"seed": 8, "rate": 0.001}})
    with pytest.raises(DataError, match="has changed since collect ran"):
        read_lock(tmp_path).require_same_params()
    write(tmp_path, params={**PARAMS, "features": {"hog": {"bins": 9, "soft": True}, "lab": {"bins": 4}}})
    with pytest.raises(DataError, match="has changed since features@hog ran"):
        read_lock(tmp_path).require_same_params()


def test_a_number_is_the_same_however_it_is_written(tmp_path: Path) -> None:
    """DVC writes 0.001 where params.yaml says 1e-3, which PyYAML takes for text."""
    write(tmp_path)
    params = (tmp_path / "params.yaml").read_text().replace("0.001", "1e-3")
    assert "1e-3" in params
    (tmp_path / "params.yaml").write_text(params)
    read_lock(tmp_path).require_same_params()
