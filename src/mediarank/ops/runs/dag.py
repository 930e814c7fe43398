"""The pipeline's graph as DVC sees it: the stages, their order, their dependencies, and what is out of date.

`dvc.yaml` holds the edges; `mediarank wire` writes it. `read_plan` asks DVC for the edges, for the order of the stages
in a plain `dvc repro` (the plan order) and for what has not changed. `put_in_order` moves what DVC writes as stages
finish, entries in `dvc.lock` and lines in `.gitignore`, back into plan order after a parallel run.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mediarank.ops.runs.dvc_looks import keep_looks
from mediarank.ops.runs.dvc_repair import repair_rwlock
from mediarank.ops.runs.lock_text import entries, joined

PLAN = "dvc.yaml"
LOCK = "dvc.lock"


@dataclass(frozen=True)
class Stage:
    """One stage of the pipeline.

    address : what DVC calls it, such as `features-hog`
    upstream : addresses of the stages whose outputs it reads, in plan order
    commands : the lines it runs; empty for data that DVC only keeps (a `.dvc` file)
    outs : what it writes, below the root
    unchanged : whether `dvc repro` would skip it, given its current inputs and outputs
    """

    address: str
    upstream: tuple[str, ...]
    commands: tuple[str, ...]
    outs: tuple[str, ...]
    unchanged: bool


@dataclass(frozen=True)
class Plan:
    """The stages in plan order, and the state when they were read.

    locked : the stages of `dvc.lock`, in its order
    ignored : the lines of each `.gitignore` beside an output, by its path below the root
    """

    stages: tuple[Stage, ...]
    locked: tuple[str, ...]
    ignored: Mapping[str, tuple[str, ...]]

    @classmethod
    def from_dict(cls, found: Mapping[str, Any]) -> Plan:
        """The plan from the result of `dataclasses.asdict`, after a way through JSON."""
        stages = (
            Stage(s["address"], tuple(s["upstream"]), tuple(s["commands"]), tuple(s["outs"]), s["unchanged"])
            for s in found["stages"]
        )
        return cls(tuple(stages), tuple(found["locked"]), {k: tuple(v) for k, v in found["ignored"].items()})

    @property
    def in_order(self) -> bool:
        return list(self.locked) == self.ordered(self.locked)

    def ordered(self, names: Sequence[str]) -> list[str]:
        """Names of stages in plan order; those that are no longer planned come last, in the given order."""
        return _in_order(names, [stage.address for stage in self.stages])


@contextmanager
def open_repo(root: Path) -> Iterator[Any]:
    """DVC's view of the project at `root`; waits for another process that is just writing."""
    from dvc.exceptions import DvcException
    from dvc.repo import Repo

    repair_rwlock(root)
    _require_regular_source(root)
    try:
        if not (root / PLAN).exists():
            raise DvcException(f"there is no {PLAN}; run this in the project's folder")
        repo = Repo(str(root), _wait_for_lock=True)  # the flag behind `dvc --wait-for-lock`
    except DvcException as error:
        raise _unreadable(root, error) from error
    with repo:
        yield repo


def _require_regular_source(root: Path) -> None:
    """DVC reads every file of the collection's folder, and would hang at a pipe."""
    import yaml

    from mediarank.collections.containment import require_regular

    params = root / "params.yaml"
    collection = (yaml.safe_load(params.read_bytes()) or {}).get("collection") if params.exists() else None
    if isinstance(collection, dict) and isinstance(collection.get("path"), str):
        require_regular(root / collection["path"])


def read_plan(root: Path) -> Plan:
    """The plan of the project at `root`."""
    with open_repo(root.resolve()) as repo, repo.lock:
        return plan_of(repo)[0]


def plan_of(repo: Any) -> tuple[Plan, list[Any]]:
    """The plan, and DVC's own objects for its stages in the same order."""
    from dvc.exceptions import DvcException
    from dvc.repo.reproduce import get_active_graph, plan_repro

    root = Path(repo.root_dir)
    try:
        # Exactly what `dvc repro` without targets does, so that the order is the same.
        graph = get_active_graph(repo.index.graph)
        planned = plan_repro(graph, repo.stage.collect(str(root / PLAN)))
        keep_looks(planned)
    except DvcException as error:
        raise _unreadable(root, error) from error
    place = {address_of(stage): k for k, stage in enumerate(planned)}
    stages = tuple(
        Stage(
            address=address_of(stage),
            upstream=tuple(sorted((address_of(s) for s in graph.successors(stage)), key=place.__getitem__)),
            commands=commands_of(stage.cmd),
            outs=tuple(_below(root, out.fs_path) for out in stage.outs),
            unchanged=_unchanged(stage),
        )
        for stage in planned
    )
    ignored = {path: _lines(root / path) for path in _ignore_files(stages)}
    return Plan(stages, tuple(_locked(root)), ignored), planned


def put_in_order(repo: Any, plan: Plan) -> None:
    """Leave `dvc.lock` and `.gitignore` as a plain `dvc repro`, one stage after the other, would have left them.

    In a `.gitignore` only lines added since the plan was read are moved; the rest stays as its author wrote it.
    DVC's lock is held by the caller.
    """
    from mediarank import store

    root = Path(repo.root_dir)
    locked = _locked(root)
    if locked != plan.ordered(locked):
        store.write_text(root / LOCK, _reordered((root / LOCK).read_text(), plan.ordered(locked)))
    for path, outs in _ignore_files(plan.stages).items():
        before, found = plan.ignored[path], _lines(root / path)
        added = [line for line in found if line not in before]
        ordered = (*(line for line in found if line in before), *_in_order(added, outs))
        if found != ordered:
            store.write_text(root / path, "".join(f"{line}\n" for line in ordered))


def _reordered(text: str, order: Sequence[str]) -> str:
    from dvc.utils.serialize import dumps_yaml, parse_yaml_for_update

    blocks = entries(text)
    if blocks is not None:
        return joined(blocks, order)
    content = parse_yaml_for_update(text, LOCK)
    for name in order:
        content["stages"].move_to_end(name)
    return str(dumps_yaml(content))


def _unreadable(root: Path, error: Exception) -> Exception:
    from mediarank.types import ConfigError

    return ConfigError(f"DVC can't read the pipeline in {root}: {error}")


def _unchanged(stage: Any) -> bool:
    from dvc.exceptions import DvcException

    try:
        return not stage.changed()
    except DvcException:  # such as a missing input, or one that is being written: `dvc repro` will say what is wrong
        return False


def address_of(stage: Any) -> str:
    """The stage's address from the root, wherever we are; DVC's is relative to the working directory."""
    name = getattr(stage, "name", None)
    if name is None:
        return str(stage.path_in_repo)
    return str(name) if stage.path_in_repo == PLAN else f"{stage.path_in_repo}:{name}"


def commands_of(command: str | Sequence[str] | None) -> tuple[str, ...]:
    if command is None:
        return ()
    return (command,) if isinstance(command, str) else tuple(command)


def _below(root: Path, path: str) -> str:
    found = Path(path)
    return found.relative_to(root).as_posix() if found.is_relative_to(root) else path


def _locked(root: Path) -> list[str]:
    from dvc.utils.serialize import load_yaml

    return list(load_yaml(str(root / LOCK)).get("stages", {})) if (root / LOCK).exists() else []


def _ignore_files(stages: Sequence[Stage]) -> dict[str, list[str]]:
    """The .gitignore files where DVC lists outputs, and its lines for them, in plan order."""
    files: dict[str, list[str]] = {}
    for stage in stages:
        for out in map(Path, stage.outs):
            files.setdefault((out.parent / ".gitignore").as_posix(), []).append(f"/{out.name}")
    return files


def _lines(path: Path) -> tuple[str, ...]:
    return tuple(path.read_text().splitlines()) if path.exists() else ()


def _in_order(names: Sequence[str], plan: Sequence[str]) -> list[str]:
    place = {name: k for k, name in enumerate(plan)}
    return sorted(names, key=lambda name: place.get(name, len(plan)))  # stable: unknown names keep their order
