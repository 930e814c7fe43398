"""The pipeline's graph as DVC sees it: which stages, in which order, after which others, and what is out of date.

`dvc.yaml` is the only place where an edge is written; `Dag` asks DVC for the edges, for the order in which a plain
`dvc repro` would take the stages (the plan order), and for what changed. It also puts the stages of `dvc.lock` back
into plan order after a parallel run, in which they stand in the order they finished.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

from mediarank import store
from mediarank.types import ConfigError

PLAN = "dvc.yaml"
LOCK = "dvc.lock"


@dataclass(frozen=True)
class Stage:
    """One stage of the pipeline.

    address : what DVC calls it, such as `features@hog`
    upstream : addresses of the stages whose outputs it reads, in plan order
    commands : the lines it runs; none for data that DVC only keeps (a `.dvc` file)
    outs : what it writes, below the root
    """

    address: str
    upstream: tuple[str, ...]
    commands: tuple[str, ...]
    outs: tuple[str, ...]


class Dag:
    """The stages of the project at `root`, as they were when this was made.

    Safe to ask from several threads. A stage's own entry in `dvc.lock` changes only when the stage runs, so one
    reading of the project serves a whole run.
    """

    def __init__(self, root: Path) -> None:
        from dvc.exceptions import DvcException
        from dvc.repo import Repo
        from dvc.repo.reproduce import get_active_graph, plan_repro

        self.root = root.resolve()
        self._one_at_a_time = threading.Lock()
        if not (self.root / PLAN).exists():
            raise ConfigError(f"{self.root} has no {PLAN}; run this in the project's folder.")
        try:
            # The flag behind `dvc --wait-for-lock`: a stage that is just being written is waited for.
            self._repo = Repo(str(self.root), _wait_for_lock=True)
            with self._repo.lock:
                # Exactly what `dvc repro` without targets does, so that the order is exactly its order.
                graph = get_active_graph(self._repo.index.graph)
                targets = self._repo.stage.collect(str(self.root / PLAN))
                planned = plan_repro(graph, targets)
        except DvcException as error:
            raise ConfigError(f"DVC can't read the pipeline in {self.root}: {error}") from error
        self._found: dict[str, Any] = {_address(stage): stage for stage in planned}
        place = {address: k for k, address in enumerate(self._found)}
        self.stages = tuple(
            Stage(
                address=address,
                upstream=tuple(sorted((_address(s) for s in graph.successors(found)), key=place.__getitem__)),
                commands=_lines(found.cmd),
                outs=tuple(_below(self.root, out.fs_path) for out in found.outs),
            )
            for address, found in self._found.items()
        )

    def unchanged(self, address: str) -> bool:
        """Whether `dvc repro` would skip the stage, as its inputs and outputs are now."""
        with self._one_at_a_time, self._repo.lock:
            return not self._found[address].changed()

    def order_lock(self) -> bool:
        """Put the stages of `dvc.lock` in plan order, atomically; whether that changed anything.

        What a plain `dvc repro` writes in a fresh project has the same bytes. Stages that are no longer in the plan
        keep their entries, at the end, as DVC keeps them.
        """
        from dvc.utils.serialize import dumps_yaml, load_yaml, parse_yaml_for_update

        path = self.root / LOCK
        with self._one_at_a_time, self._repo.lock:
            if not path.exists():
                return False
            found = list(load_yaml(str(path)).get("stages", {}))
            ordered = _in_order(found, [stage.address for stage in self.stages])
            if found == ordered:
                return False
            content = parse_yaml_for_update(path.read_text(), str(path))
            entries = content["stages"]
            for name in ordered:
                entries.move_to_end(name)
            store.write_text(path, dumps_yaml(content))
            return True

    def close(self) -> None:
        self._repo.close()

    def __enter__(self) -> Dag:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _address(stage: Any) -> str:
    """The stage's address from the root, wherever we are; DVC's own is relative to the working directory."""
    name = getattr(stage, "name", None)
    if name is None:
        return str(stage.path_in_repo)
    return str(name) if stage.path_in_repo == PLAN else f"{stage.path_in_repo}:{name}"


def _lines(command: str | Sequence[str] | None) -> tuple[str, ...]:
    if command is None:
        return ()
    return (command,) if isinstance(command, str) else tuple(command)


def _below(root: Path, path: str) -> str:
    found = Path(path)
    return found.relative_to(root).as_posix() if found.is_relative_to(root) else path


def _in_order(names: Sequence[str], plan: Sequence[str]) -> list[str]:
    place = {name: k for k, name in enumerate(plan)}
    return sorted(names, key=lambda name: place.get(name, len(plan)))  # stable: strangers keep their order
