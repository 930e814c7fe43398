"""The whole pipeline on a small demo collection: `mediarank run`, `dvc repro` and the flow give the same bytes.

One project is run once with `mediarank run`, two stages at a time; a second copy by `dvc repro` on one process, and a
third by the flow. dvc.lock holds a fingerprint of every output, so equal lock files mean equal bytes.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml
from whole_project import call, change_params, fresh_project, run

from mediarank import config, store
from mediarank.asking.describe import Copying
from mediarank.ops.models.packing import pack
from mediarank.ops.models.trial import TOLERANCE, difference
from mediarank.systems.registry import SYSTEMS

pytestmark = pytest.mark.timeout(1200)  # a whole run is set up within the first test


def stages_run(output: str) -> list[str]:
    return [line.split("'")[1] for line in output.splitlines() if line.startswith("Running stage '")]


@pytest.fixture(scope="module")
def first_run(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A project after its first run, and what that printed."""
    made = fresh_project(tmp_path_factory.mktemp("pipeline") / "project")
    return made, run(made)


@pytest.fixture(scope="module")
def project(first_run: tuple[Path, str]) -> Path:
    return first_run[0]


def test_a_run_shows_its_progress_and_what_to_do_next(first_run: tuple[Path, str]) -> None:
    project, printed = first_run
    count = len(yaml.safe_load((project / "dvc.lock").read_text())["stages"])
    assert all(f"stage {k} of {count}: " in printed for k in range(1, count + 1))
    assert f"{count} up to date, 0 of them unchanged." in printed
    assert "uni_con" in printed
    assert "open data/report/report.html" in printed.split("Next:")[1]


def test_everything_is_up_to_date_afterwards(project: Path) -> None:
    assert "up to date" in call(project, "dvc", "status")
    assert not stages_run(call(project, "dvc", "repro"))


def test_results_and_report_are_there(project: Path) -> None:
    metrics = json.loads((project / "data/evaluation/retrieval/metrics.json").read_text())
    assert 0.125 < metrics["uni_con"]["map"] < 0.95, "eight classes: above chance, below the ceiling"
    for name in SYSTEMS:
        assert json.loads((project / f"data/evaluation/{name}/metrics.json").read_text()), f"{name} was not skipped"
    assert "<h1" in (project / "data/report/report.html").read_text()
    printed = call(project, sys.executable, "-m", "mediarank", "results")
    assert "uni_con" in printed
    assert "data/report/report.html" in printed


@pytest.mark.parametrize("name", SYSTEMS)
def test_a_packed_model_ranks_as_its_stage_did(project: Path, tmp_path: Path, name: str) -> None:
    params = config.load(project / "params.yaml")
    packed = pack(project / "data", name, Copying(params.frames, params.manifest.limits), tmp_path / "p")
    recorded = store.read_method(project / "data/systems" / name / "scores" / packed.model.served)
    columns = [packed.model.names.index(candidate) for candidate in recorded.names]
    asked = recorded.ids.tolist()
    found = packed.rank_items(asked)[:, columns]
    wanted = recorded.rows(asked)
    found = np.where(np.isnan(wanted), wanted, found)  # rankings keep the best, without the query itself
    assert difference(np.nan_to_num(wanted), np.nan_to_num(found), packed.model.orders) <= TOLERANCE
    # A file from outside is described as the pipeline describes it, clips with all their frames and their sound.
    item = str(asked[0])
    own = tmp_path / f"original{Path(item).suffix}"
    call(project, "mediarank", "original", item, "--to", str(own))
    outside, inside = packed.rank_file(own), packed.rank_items([item])
    np.testing.assert_array_equal(outside, inside)


@pytest.mark.parametrize(("system", "method"), [("concepts", "mean_fusion"), ("events", "average")])
def test_what_was_learned_is_found(project: Path, tmp_path: Path, system: str, method: str) -> None:
    names = store.read_features(project / "data/systems" / system / "scores" / method).names
    counts = Counter(concept for concept, _ in store.read_labels(project / "data/manifest/labels").shown)
    name = max(names, key=lambda one: counts[one])  # few pictures: rarer ones can hardly be learned
    page = tmp_path / "find.html"
    said = call(project, "mediarank", "find", str(name), "--system", system, "--to", str(page))
    assert f"of {system}" in said
    assert "(labelled)" in said
    assert page.exists()


@pytest.mark.parametrize(
    ("what", "item", "reason"),
    [
        ("file", "images/damaged_cut.jpg", "truncated"),
        ("file", "clips/damaged_text.mp4", "image, clip or sound"),
        ("label", "images/missing_001.jpg", "not in the collection"),
    ],
)
def test_bad_input_is_in_the_quarantine_with_its_reason(project: Path, what: str, item: str, reason: str) -> None:
    table = pd.read_csv(project / "data/frames/quarantine.csv")
    found = table[(table["what"] == what) & (table["item_id"] == item)]
    assert len(found)
    assert found["reason"].str.contains(reason).all()


def test_tracking_is_idempotent(project: Path) -> None:
    first = call(project, sys.executable, "-m", "mediarank", "track")
    second = call(project, sys.executable, "-m", "mediarank", "track")
    assert first != second, "the second says that it was recorded before"
    from mlflow import MlflowClient

    client = MlflowClient(f"sqlite:///{project}/mlflow.db")
    runs = client.search_runs([e.experiment_id for e in client.search_experiments()])
    nested = [run for run in runs if "mlflow.parentRunId" in run.data.tags]
    assert len(runs) - len(nested) == 1
    assert len(nested) == len(SYSTEMS), "one a system"


@contextmanager
def for_a_while(project: Path) -> Iterator[None]:
    """Whatever is changed inside, the project is its former version afterwards, for the tests that come then."""
    # What the report is compared with belongs to the version, as params.yaml does (decision 13).
    version = {name: (project / name).read_text() for name in ("params.yaml", "baseline/report.json")}
    lock = (project / "dvc.lock").read_text()
    try:
        yield
    finally:
        for name, text in version.items():
            (project / name).write_text(text)
    restored = call(project, "dvc", "repro")  # DVC itself goes on from where the other left
    assert "skipping run, checking out outputs" in restored, "the former version comes from the run cache"
    assert (project / "dvc.lock").read_text() == lock


@pytest.mark.slow  # with a few text files: tests/ops/runs/test_side_by_side.py; which stages: tests/stages/test_wire.py
def test_a_changed_parameter_reruns_just_its_stages(project: Path) -> None:
    with for_a_while(project):
        change_params(project, "evaluation", "seed", 8)
        printed = run(project)
        reran = [line.split()[0] for line in printed.splitlines() if " took " in line]
        # `wire` looks at all of params.yaml; what it writes stays the same.
        assert sorted(reran) == sorted(["wire", *(f"evaluation-{name}" for name in SYSTEMS), "report"])


@pytest.mark.slow  # what a check says: tests/ops/test_checks_run.py; what a failure stops: test_side_by_side.py
def test_a_wrong_collection_stops_the_run_with_an_explanation(project: Path) -> None:
    with for_a_while(project):
        change_params(project, "check_manifest", "min_items", 1000)
        with pytest.raises(AssertionError) as stopped:
            run(project)
    message = str(stopped.value)
    assert "What to do" in message
    assert "check_manifest failed" in message
    assert ": frames" not in message


@pytest.mark.slow
@pytest.mark.central
def test_dvc_and_the_flow_give_the_same_bytes(project: Path, tmp_path: Path) -> None:
    plain, other = fresh_project(tmp_path / "plain"), fresh_project(tmp_path / "other")
    call(plain, "dvc", "repro", jobs=1)
    assert (plain / "dvc.lock").read_bytes() == (project / "dvc.lock").read_bytes()
    printed = call(other, sys.executable, "flows/pipeline.py", jobs=2)
    assert (other / "dvc.lock").read_bytes() == (project / "dvc.lock").read_bytes()
    assert "Completed" in printed
    again = call(other, sys.executable, "flows/pipeline.py", jobs=2)
    assert "Completed" not in again
    assert again.count("Cached") >= len(yaml.safe_load((other / "dvc.lock").read_text())["stages"])
