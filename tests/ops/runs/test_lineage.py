"""From a metric to the files, labels, settings and code that made it, and from a file to the runs that used it."""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path

import pytest
from versioned_project import FIRST, SECOND, git

from mediarank.ops.runs.lineage import Lineage, trace, uses
from mediarank.ops.runs.recorded_runs import Run, Runs
from mediarank.ops.versions.objects import Objects
from mediarank.types import DataError

STAGES = ("collect", "manifest", "systems@retrieval", "evaluation@retrieval")


@pytest.fixture(scope="module")
def runs(tracked: Path) -> Runs:
    return Runs(tracked, "sqlite:///mlflow.db")


def traced(root: Path, runs: Runs, name: str, metric: str = "") -> Lineage:
    with Objects(root) as objects:
        return trace(root, runs, objects, name, metric)


def users(root: Path, runs: Runs, what: str) -> tuple[list[tuple[str, str, str]], list[Run]]:
    with Objects(root) as objects:
        found, unknown = uses(runs, objects, what)
    return [(use.run.run_id, use.item_id, use.role) for use in found], unknown


@pytest.mark.parametrize(("version", "media", "seed"), [("v1", FIRST, "7"), ("v2", SECOND, "8")])
def test_a_metric_leads_to_exactly_what_made_it(
    tracked: Path, runs: Runs, version: str, media: dict[str, str], seed: str
) -> None:
    lineage = traced(tracked, runs, version, "retrieval/learned/map")
    made_of = dict(zip(lineage.items["item_id"], lineage.items["sha256"], strict=True))
    assert made_of == {item: hashlib.sha256(content.encode()).hexdigest() for item, content in media.items()}
    assert dict(zip(lineage.items["item_id"], lineage.items["role"], strict=True))[max(media)] == "test"
    assert lineage.params["collection.seed"] == seed
    assert lineage.stages == STAGES, "the report did not make the metric"
    assert lineage.labels["classes"][1] == 4
    assert lineage.code.commit == git(tracked, "rev-parse", version), "made before the commit, and recognised in it"
    assert lineage.code.differing == ()
    assert lineage.code.outside == ("source",)
    assert list(lineage.metrics) == ["retrieval/learned/map"]
    said = lineage.summary()
    assert "5 of 6 sources are there exactly as they ran" in said
    assert "4 files used (3 rank, 1 test), 0 not" in said


def test_contents_can_be_had_by_their_hash(tracked: Path, runs: Runs) -> None:
    lineage = traced(tracked, runs, "v1")
    with Objects(tracked) as objects:
        contents = {row.item_id: objects.read(str(row.md5)).decode() for row in lineage.items.itertuples()}
    assert contents == FIRST


def test_everything_as_json(tracked: Path, runs: Runs) -> None:
    found = json.loads(json.dumps(traced(tracked, runs, "v2").to_json()))
    assert len(found["items"]) == len(SECOND)
    assert found["metrics"]["retrieval/plain/queries"] == 40
    assert set(found["code"]["sources"]) == {
        "code.py", "prepared/manifest.parquet", "prepared/metrics.json", "prepared/per_query.parquet",
        "prepared/roles.parquet", "source",
    }  # fmt: skip


def test_code_that_was_never_committed_is_reported(tracked: Path, runs: Runs, tmp_path: Path) -> None:
    """Another history, in which the code is not what ran."""
    git(tmp_path, "clone", "--quiet", str(tracked), "other")
    other = tmp_path / "other"
    git(other, "tag", "--delete", "v1", "v2")
    (other / "code.py").write_text("print('three')\n")
    identity = ("-c", "user.name=test", "-c", "user.email=test@localhost")
    git(other, *identity, "commit", "--quiet", "--all", "--amend", "--message", "second run, amended")
    with Objects(tracked) as objects:
        code = trace(other, runs, objects, "v2").code
    assert code.commit != ""
    assert git(tracked, "rev-parse", "v2") == code.commit, "the commit before the amended one has it all"
    shutil.rmtree(other / ".git")
    git(other, "init", "--quiet")
    with Objects(tracked) as objects:
        nothing = trace(other, runs, objects, "v2").code
    assert nothing.commit == ""
    assert nothing.outside == tuple(nothing.sources)


def test_a_file_leads_to_the_runs_that_used_it(tracked: Path, runs: Runs) -> None:
    first, second = runs.find("v1").run_id, runs.find("v2").run_id
    assert users(tracked, runs, "images/forest.jpg") == ([(first, "images/forest.jpg", "rank")], [])
    tower = tracked / "data/raw/media/images/tower.jpg"
    assert users(tracked, runs, str(tower))[0] == [(second, "images/tower.jpg", "test")]
    fingerprint = hashlib.sha256(FIRST["images/cliff.jpg"].encode()).hexdigest()
    assert users(tracked, runs, fingerprint[:10])[0] == [(first, "images/cliff.jpg", "rank")]
    assert {run for run, _, _ in users(tracked, runs, "images/cliff.jpg")[0]} == {first, second}
    assert users(tracked, runs, "images/unknown.jpg") == ([], [])


def test_runs_whose_data_is_gone_are_reported(tracked: Path, runs: Runs, tmp_path: Path) -> None:
    git(tmp_path, "clone", "--quiet", str(tracked), "clone")
    clone = tmp_path / "clone"
    (clone / ".dvc/config.local").write_text("['remote \"store\"']\n    url = /nowhere/at/all\n")
    found, unknown = users(clone, runs, "images/cliff.jpg")
    assert found == []
    assert {run.run_id for run in unknown} == {run.run_id for run in runs.all()}


def test_a_run_is_found_by_any_of_its_names(tracked: Path, runs: Runs) -> None:
    first, second = runs.find("v1"), runs.find("v2")
    assert [run.run_id for run in runs.all()] == [first.run_id, second.run_id], "v1 was recorded last"
    names = [second.run_id, second.run_id[:10], second.name, runs.systems(second)["retrieval"]]
    names += [git(tracked, "rev-parse", "v2")]
    assert {runs.find(name).run_id for name in names} == {second.run_id}
    assert second.name in str(second)


def test_what_is_not_there_is_reported(tracked: Path, runs: Runs, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"There is no run 'zzz'.*The newest are: "):
        runs.find("zzz")
    with pytest.raises(DataError, match="2 runs are named ''"):
        runs.find("")
    with pytest.raises(DataError, match="no metric 'retrieval/scw'; it has retrieval/learned/map"):
        traced(tracked, runs, "v2", "retrieval/scw")
    with pytest.raises(DataError, match="Nothing was recorded in"):
        Runs(tmp_path, "sqlite:///mlflow.db")
    with pytest.raises(DataError, match=r"has no no\.such\.file in MLflow any more"):
        runs.artifact(runs.find("v1").run_id, "no.such.file")
