"""The pipeline's graph as DVC sees it: which stages, in which order, after which others, and what is out of date.

`dvc.yaml` is the only place where an edge is written; `Dag` asks DVC for the edges, for the order in which a plain
`dvc repro` would take the stages (the plan order), and for what changed. It also puts what DVC writes down as stages
finish, entries in `dvc.lock` and lines in `.gitignore`, back into plan order after a parallel run.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

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
        try:
            if not (self.root / PLAN).exists():
                raise DvcException(f"there is no {PLAN}; run this in the project's folder")
            # The flag behind `dvc --wait-for-lock`: a stage that is just being written is waited for.
            self._repo = Repo(str(self.root), _wait_for_lock=True)
            with self._repo.lock:
                # Exactly what `dvc repro` without targets does, so that the order is exactly its order.
                graph = get_active_graph(self._repo.index.graph)
                targets = self._repo.stage.collect(str(self.root / PLAN))
                planned = plan_repro(graph, targets)
        except DvcException as error:
            from mediarank.types import ConfigError  # pandas with it: not for a run that has nothing to do

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
        self._ignored = {path: _text_lines(path) for path in self._ignore_files()}

    def unchanged(self, address: str) -> bool:
        """Whether `dvc repro` would skip the stage, as its inputs and outputs are now."""
        from dvc.exceptions import DvcException
        from dvc.lock import LockError

        with self._one_at_a_time, self._repo.lock:
            try:
                return not self._found[address].changed()
            except LockError:
                raise
            except DvcException:  # such as a missing input: `dvc repro` will say what is wrong
                return False

    def put_in_order(self) -> None:
        """Leave `dvc.lock` and `.gitignore` as a plain `dvc repro`, one stage after the other, would have left them."""
        with self._one_at_a_time, self._repo.lock:
            self._order_lock()
            self._order_ignored()

    def _order_lock(self) -> None:
        """Stages that are no longer in the plan keep their entries, at the end, as DVC keeps them."""
        from dvc.utils.serialize import dumps_yaml, load_yaml, parse_yaml_for_update

        path = self.root / LOCK
        if not path.exists():
            return
        found = list(load_yaml(str(path)).get("stages", {}))
        ordered = _in_order(found, [stage.address for stage in self.stages])
        if found != ordered:
            content = parse_yaml_for_update(path.read_text(), str(path))
            for name in ordered:
                content["stages"].move_to_end(name)
            _write(path, dumps_yaml(content))

    def _order_ignored(self) -> None:
        """Only the lines that came since we looked are moved: what was there before is as its author wants it."""
        for path, outs in self._ignore_files().items():
            before, found = self._ignored[path], _text_lines(path)
            kept = [line for line in found if line in before]
            ordered = kept + _in_order([line for line in found if line not in before], outs)
            if found != ordered:
                _write(path, "".join(f"{line}\n" for line in ordered))

    def _ignore_files(self) -> dict[Path, list[str]]:
        """Where DVC tells git to leave outputs alone, and its lines for them, in plan order."""
        files: dict[Path, list[str]] = {}
        for stage in self.stages:
            for out in map(Path, stage.outs):
                files.setdefault(self.root / out.parent / ".gitignore", []).append(f"/{out.name}")
        return files

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


def _text_lines(path: Path) -> list[str]:
    return path.read_text().splitlines() if path.exists() else []


def _write(path: Path, text: str) -> None:
    from mediarank import store

    store.write_text(path, text)
