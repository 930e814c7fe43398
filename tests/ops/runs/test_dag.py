"""The graph against DVC itself, on a real toy project."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
import toy_project

from mediarank.ops.runs.dag import Plan, open_repo, put_in_order, read_plan
from mediarank.ops.runs.dvc_process import DvcProcess
from mediarank.ops.runs.dvc_stages import TO_RUN, Stages
from mediarank.types import ConfigError


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project that plain `dvc repro` has brought up to date."""
    made = toy_project.make(tmp_path_factory.mktemp("dag") / "project")
    toy_project.plain_repro(made)
    return made


@pytest.fixture
def copied(project: Path, tmp_path: Path) -> Path:
    return toy_project.copy(project, tmp_path / "copy")


def test_stages_in_plan_order_with_their_edges(project: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)  # addresses do not depend on where we are
    plan = read_plan(project)
    assert {stage.address: stage.upstream for stage in plan.stages} == {
        "source": (),
        "sides@left": ("source",),
        "sides@right": ("source",),
        "join": ("sides@left", "sides@right"),
        "report": ("join",),
    }
    left = plan.stages[1]
    assert (left.address, left.outs) == ("sides@left", ("data/left",))
    assert [command.split()[1:3] for command in left.commands] == [["work.py", "left"]]


def test_the_order_is_the_order_of_plain_repro(project: Path) -> None:
    plan = read_plan(project)
    assert [stage.address.removeprefix("sides@") for stage in plan.stages] == toy_project.ran(project)
    assert plan.locked == toy_project.STAGES
    assert plan.in_order


def test_unchanged_follows_params_inputs_and_outputs(copied: Path) -> None:
    def unchanged() -> set[str]:
        return {stage.address for stage in read_plan(copied).stages if stage.unchanged}

    everything = set(toy_project.STAGES)
    assert unchanged() == everything
    toy_project.change(copied, "right", 30)
    assert unchanged() == everything - {"sides@right"}
    toy_project.change(copied, "right", 3)
    (copied / "data/join.txt").unlink()
    assert unchanged() == everything - {"join", "report"}


def test_dvc_hashes_each_dependency_once_before_a_stage_runs(copied: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It would do it six times, and a folder of 100,000 pictures takes seconds each time."""
    import dvc.output

    plain, looked = dvc.output.build, Counter[str]()

    def counting(store: object, path: str, *rest: object, **settings: object) -> object:
        looked[Path(path).relative_to(copied).as_posix()] += 1
        return plain(store, path, *rest, **settings)

    monkeypatch.setattr(dvc.output, "build", counting)
    toy_project.change(copied, "right", 30)
    with Stages(copied) as stages:
        looked.clear()
        assert stages.begin("sides@right").outcome == TO_RUN
        assert looked["data/source.txt"] == 1
        stages.abandon("sides@right")


def test_another_process_reads_the_same(project: Path) -> None:
    beside = DvcProcess(project)
    try:
        assert beside.plan() == read_plan(project)
    finally:
        beside.close()


def test_another_process_explains_a_folder_without_a_plan(project: Path) -> None:
    beside = DvcProcess(project / "data")
    try:
        with pytest.raises(ConfigError, match="DVC can't read the pipeline"):
            beside.plan()
    finally:
        beside.close()


def tidy(project: Path, plan: Plan) -> None:
    with open_repo(project) as repo, repo.lock:
        put_in_order(repo, plan)


def test_what_finished_in_another_order_is_put_in_plan_order(copied: Path) -> None:
    lock, ignored = copied / "dvc.lock", copied / "data/.gitignore"
    plain = lock.read_bytes(), ignored.read_bytes()
    header, *entries = _entries(lock.read_text())
    lines = ignored.read_text().splitlines(keepends=True)
    ignored.unlink()
    plan = read_plan(copied)
    lock.write_text(header + "".join(entries[place] for place in (1, 4, 0, 3, 2)))
    ignored.write_text("".join(reversed(lines)))
    assert (lock.read_bytes(), ignored.read_bytes()) != plain
    assert not read_plan(copied).in_order
    tidy(copied, plan)
    assert (lock.read_bytes(), ignored.read_bytes()) == plain


def test_lines_that_were_there_before_stay_where_they_are(copied: Path) -> None:
    ignored = copied / "data/.gitignore"
    mine = "# mine\n/right\n/left\n"
    ignored.write_text(mine)
    plan = read_plan(copied)
    ignored.write_text(mine + "/join.txt\n/source.txt\n")
    tidy(copied, plan)
    assert ignored.read_text() == mine + "/source.txt\n/join.txt\n"


def test_entries_of_former_stages_come_last(copied: Path) -> None:
    lock = copied / "dvc.lock"
    header, *entries = _entries(lock.read_text())
    former = entries[0].replace("  source:", "  former:", 1)
    lock.write_text(header + former + "".join(entries))
    tidy(copied, read_plan(copied))
    assert lock.read_text() == header + "".join(entries) + former


def test_order_that_is_right_is_not_touched(copied: Path) -> None:
    before = (copied / "dvc.lock").stat().st_mtime_ns
    tidy(copied, read_plan(copied))
    assert (copied / "dvc.lock").stat().st_mtime_ns == before


def test_a_folder_without_a_plan_is_explained(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"no dvc\.yaml"):
        read_plan(tmp_path)


def test_a_broken_plan_is_explained(copied: Path) -> None:
    (copied / "dvc.yaml").write_text("stages:\n  a:\n    cmd: x\n    outs: [b]\n    deps: [b]\n")
    with pytest.raises(ConfigError, match="can't read the pipeline"):
        read_plan(copied)


def _entries(text: str) -> list[str]:
    """A lock file cut into its head and the text of each stage."""
    pieces: list[str] = [""]
    for line in text.splitlines(keepends=True):
        if line.startswith("  ") and line[2] != " " and line[2] != "-":
            pieces.append("")
        pieces[-1] += line
    return pieces
