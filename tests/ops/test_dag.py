"""The graph against DVC itself, on a real toy project."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "flows"))
import toy_project

from mediarank.ops.dag import Dag
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
    with Dag(project) as dag:
        assert [stage.address for stage in dag.stages] == list(toy_project.STAGES)
        assert {stage.address: stage.upstream for stage in dag.stages} == {
            "source": (),
            "sides@left": ("source",),
            "sides@right": ("source",),
            "join": ("sides@left", "sides@right"),
            "report": ("join",),
        }
        left = dag.stages[1]
        assert left.outs == ("data/left",)
        assert [command.split()[1:3] for command in left.commands] == [["work.py", "left"]]


def test_the_order_is_the_order_of_plain_repro(project: Path) -> None:
    with Dag(project) as dag:
        ran = toy_project.ran(project)
        assert [stage.address.removeprefix("sides@") for stage in dag.stages] == ran


def test_unchanged_follows_params_inputs_and_outputs(copied: Path) -> None:
    def unchanged() -> set[str]:
        return {stage.address for stage in dag.stages if dag.unchanged(stage.address)}

    everything = set(toy_project.STAGES)
    with Dag(copied) as dag:
        assert unchanged() == everything
        toy_project.change(copied, "right", 30)
        assert unchanged() == everything - {"sides@right"}
        toy_project.change(copied, "right", 3)
        (copied / "data/join.txt").unlink()
        assert unchanged() == everything - {"join", "report"}
        # One reading of the project is enough: what a stage writes later is seen.
        toy_project.plain_repro(copied)
        assert unchanged() == everything


def test_what_finished_in_another_order_is_put_in_plan_order(copied: Path) -> None:
    lock, ignored = copied / "dvc.lock", copied / "data/.gitignore"
    plain = lock.read_bytes(), ignored.read_bytes()
    header, *entries = _entries(lock.read_text())
    entries = [entries[place] for place in (1, 4, 0, 3, 2)]
    lines = ignored.read_text().splitlines(keepends=True)
    ignored.unlink()
    with Dag(copied) as dag:
        lock.write_text(header + "".join(entries))
        ignored.write_text("".join(reversed(lines)))
        assert (lock.read_bytes(), ignored.read_bytes()) != plain
        dag.put_in_order()
        assert (lock.read_bytes(), ignored.read_bytes()) == plain


def test_lines_that_were_there_before_stay_where_they_are(copied: Path) -> None:
    ignored = copied / "data/.gitignore"
    mine = "# mine\n/right\n/left\n"
    ignored.write_text(mine)
    with Dag(copied) as dag:
        ignored.write_text(mine + "/join.txt\n/source.txt\n")
        dag.put_in_order()
    assert ignored.read_text() == mine + "/source.txt\n/join.txt\n"


def test_entries_of_former_stages_come_last(copied: Path) -> None:
    lock = copied / "dvc.lock"
    header, *entries = _entries(lock.read_text())
    former = entries[0].replace("  source:", "  former:", 1)
    lock.write_text(header + former + "".join(entries))
    with Dag(copied) as dag:
        dag.put_in_order()
    assert lock.read_text() == header + "".join(entries) + former


def test_order_that_is_right_is_not_touched(copied: Path) -> None:
    before = (copied / "dvc.lock").stat().st_mtime_ns
    with Dag(copied) as dag:
        dag.put_in_order()
    assert (copied / "dvc.lock").stat().st_mtime_ns == before


def test_a_folder_without_a_plan_is_explained(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"no dvc\.yaml"):
        Dag(tmp_path)


def test_a_broken_plan_is_explained(copied: Path) -> None:
    (copied / "dvc.yaml").write_text("stages:\n  a:\n    cmd: x\n    outs: [b]\n    deps: [b]\n")
    with pytest.raises(ConfigError, match="can't read the pipeline"):
        Dag(copied)


def _entries(text: str) -> list[str]:
    """A lock file cut into its head and the text of each stage."""
    pieces: list[str] = [""]
    for line in text.splitlines(keepends=True):
        if line.startswith("  ") and line[2] != " " and line[2] != "-":
            pieces.append("")
        pieces[-1] += line
    return pieces
