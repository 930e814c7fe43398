"""The pipeline's graph as DVC sees it: which stages, in which order, after which others, and what is out of date.

`dvc.yaml` holds the edges (`mediarank wire` writes it). `read_plan` asks DVC for the edges, for the order in which a
plain `dvc repro` would take the stages (the plan order) and for what has not changed; `python -m
mediarank.ops.runs.dag` prints the same as JSON, for who would rather not import DVC. `put_in_order` puts what DVC
writes down as stages finish, entries in `dvc.lock` and lines in `.gitignore`, back into plan order after a parallel
run.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from mediarank.ops.runs.dvc_repair import mend_dvc_lock

PLAN = "dvc.yaml"
LOCK = "dvc.lock"


@dataclass(frozen=True)
class Stage:
    """One stage of the pipeline.

    address : what DVC calls it, such as `features-hog`
    upstream : addresses of the stages whose outputs it reads, in plan order
    commands : the lines it runs; none for data that DVC only keeps (a `.dvc` file)
    outs : what it writes, below the root
    unchanged : whether `dvc repro` would skip it, as its inputs and outputs are now
    """

    address: str
    upstream: tuple[str, ...]
    commands: tuple[str, ...]
    outs: tuple[str, ...]
    unchanged: bool


@dataclass(frozen=True)
class Plan:
    """The stages in plan order, and how things were when they were read.

    locked : the stages of `dvc.lock`, in its order
    ignored : the lines of each `.gitignore` beside an output, by its path below the root
    """

    stages: tuple[Stage, ...]
    locked: tuple[str, ...]
    ignored: Mapping[str, tuple[str, ...]]

    def to_json(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Plan:
        found = json.loads(text)
        stages = (
            Stage(s["address"], tuple(s["upstream"]), tuple(s["commands"]), tuple(s["outs"]), s["unchanged"])
            for s in found["stages"]
        )
        return cls(tuple(stages), tuple(found["locked"]), {k: tuple(v) for k, v in found["ignored"].items()})

    @property
    def in_order(self) -> bool:
        return list(self.locked) == self.ordered(self.locked)

    def ordered(self, names: Sequence[str]) -> list[str]:
        """Names of stages in plan order; those that are no longer planned come last, as they stand."""
        return _in_order(names, [stage.address for stage in self.stages])


def read_plan(root: Path) -> Plan:
    """What DVC makes of the project at `root`."""
    from dvc.exceptions import DvcException
    from dvc.repo import Repo
    from dvc.repo.reproduce import get_active_graph, plan_repro

    root = root.resolve()
    mend_dvc_lock(root)
    try:
        if not (root / PLAN).exists():
            raise DvcException(f"there is no {PLAN}; run this in the project's folder")
        # The flag behind `dvc --wait-for-lock`: what is just being written is waited for.
        with Repo(str(root), _wait_for_lock=True) as repo, repo.lock:
            # Exactly what `dvc repro` without targets does, so that the order is exactly its order.
            graph = get_active_graph(repo.index.graph)
            planned = plan_repro(graph, repo.stage.collect(str(root / PLAN)))
            place = {_address(stage): k for k, stage in enumerate(planned)}
            stages = tuple(
                Stage(
                    address=_address(stage),
                    upstream=tuple(sorted((_address(s) for s in graph.successors(stage)), key=place.__getitem__)),
                    commands=_commands(stage.cmd),
                    outs=tuple(_below(root, out.fs_path) for out in stage.outs),
                    unchanged=_unchanged(stage),
                )
                for stage in planned
            )
    except DvcException as error:
        from mediarank.types import ConfigError

        raise ConfigError(f"DVC can't read the pipeline in {root}: {error}") from error
    ignored = {path: _lines(root / path) for path in _ignore_files(stages)}
    return Plan(stages, tuple(_locked(root)), ignored)


def put_in_order(root: Path, plan: Plan) -> None:
    """Leave `dvc.lock` and `.gitignore` as a plain `dvc repro`, one stage after the other, would have left them.

    Of a `.gitignore` only lines that came since the plan was read are moved: the rest is as its author wants it.
    """
    from dvc.repo import Repo
    from dvc.utils.serialize import dumps_yaml, parse_yaml_for_update

    from mediarank import store

    root = root.resolve()
    with Repo(str(root), _wait_for_lock=True) as repo, repo.lock:
        locked = _locked(root)
        if locked != plan.ordered(locked):
            content = parse_yaml_for_update((root / LOCK).read_text(), LOCK)
            for name in plan.ordered(locked):
                content["stages"].move_to_end(name)
            store.write_text(root / LOCK, dumps_yaml(content))
        for path, outs in _ignore_files(plan.stages).items():
            before, found = plan.ignored[path], _lines(root / path)
            added = [line for line in found if line not in before]
            ordered = (*(line for line in found if line in before), *_in_order(added, outs))
            if found != ordered:
                store.write_text(root / path, "".join(f"{line}\n" for line in ordered))


def _unchanged(stage: Any) -> bool:
    from dvc.exceptions import DvcException

    try:
        return not stage.changed()
    except DvcException:  # such as a missing input, or one that is being written: `dvc repro` will say what is wrong
        return False


def _address(stage: Any) -> str:
    """The stage's address from the root, wherever we are; DVC's own is relative to the working directory."""
    name = getattr(stage, "name", None)
    if name is None:
        return str(stage.path_in_repo)
    return str(name) if stage.path_in_repo == PLAN else f"{stage.path_in_repo}:{name}"


def _commands(command: str | Sequence[str] | None) -> tuple[str, ...]:
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
    """Where DVC tells git to leave outputs alone, and its lines for them, in plan order."""
    files: dict[str, list[str]] = {}
    for stage in stages:
        for out in map(Path, stage.outs):
            files.setdefault((out.parent / ".gitignore").as_posix(), []).append(f"/{out.name}")
    return files


def _lines(path: Path) -> tuple[str, ...]:
    return tuple(path.read_text().splitlines()) if path.exists() else ()


def _in_order(names: Sequence[str], plan: Sequence[str]) -> list[str]:
    place = {name: k for k, name in enumerate(plan)}
    return sorted(names, key=lambda name: place.get(name, len(plan)))  # stable: strangers keep their order


def main() -> None:
    try:
        print(read_plan(Path(sys.argv[1])).to_json())
    except Exception as error:
        from mediarank.types import MediarankError

        if isinstance(error, MediarankError):
            sys.exit(str(error))
        raise


if __name__ == "__main__":
    main()
