"""From candidate to champion: registered, tried in a fresh process, compared, and only then promoted.

`promote` takes the version in the workspace through all of it, system by system, and gives a `Decision` for each. A
candidate is promoted unless it is worse beyond noise on the named metric, query by query, against the champion. A
scheduled promotion is stopped by drift beyond the limits in params.yaml, too; a person who promotes by hand sees the
drift and decides. The trial can't be waived.
"""

from __future__ import annotations

import fcntl
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from mediarank import disk, store
from mediarank.asking.describe import Copying
from mediarank.evaluation.significance import paired_randomisation
from mediarank.ops.models.champion_drift import Movement, movements, version_summary
from mediarank.ops.models.model_registry import CHALLENGER, CHAMPION, Registry, Version
from mediarank.ops.models.packing import ChangedModel, needs_of, pack
from mediarank.ops.models.promotion_config import PromotionConfig
from mediarank.ops.models.trial import TrialFailed, try_out
from mediarank.ops.runs.results import PROMOTION
from mediarank.ops.runs.tracking import track
from mediarank.ops.services.environment import state_folder
from mediarank.ops.versions.lockfile import Lock, read_lock
from mediarank.types import ConfigError, DataError


@dataclass(frozen=True)
class Comparison:
    """Candidate against champion on the queries that both have.

    shared : the share of the champion's queries that these are
    p : two-sided, of a paired randomisation test; NaN if there is no query
    """

    metric: str
    queries: int
    shared: float
    champion: float
    candidate: float
    p: float

    def worse(self, config: PromotionConfig) -> bool:
        return self.candidate < self.champion and self.p < config.significance


@dataclass(frozen=True)
class Decision:
    """What became of a candidate. champion : the version's number before; why : in sentences"""

    system: str
    candidate: str
    champion: str | None
    promoted: bool
    why: tuple[str, ...]
    comparison: Comparison | None = None
    moved: tuple[Movement, ...] = ()

    @property
    def drifted(self) -> tuple[Movement, ...]:
        return tuple(movement for movement in self.moved if movement.too_far)

    def summary(self) -> str:
        verb = "promoted" if self.promoted else "not promoted"
        return f"{self.system}: version {self.candidate} {verb}. {' '.join(self.why)}"

    def to_json(self) -> dict[str, Any]:
        return {
            "system": self.system,
            "candidate": self.candidate,
            "champion": self.champion,
            "promoted": self.promoted,
            "why": list(self.why),
            "comparison": None if self.comparison is None else _without_nan(vars(self.comparison)),
            "moved": [movement.to_json() for movement in self.moved],
        }


def promote(
    root: Path,
    copying: Copying,
    config: PromotionConfig,
    *,
    systems: Sequence[str] = (),
    scheduled: bool = False,
    force: bool = False,
    uri: str | None = None,
    say: Callable[[str], None] = print,
) -> list[Decision]:
    """Decide about the version in the workspace, for the systems named or all that can be served.

    scheduled : nobody is watching, so drift beyond the limits keeps the champion
    force : promote what is worse, or can't be compared; a model that does not load and rank is never promoted
    """
    root = root.resolve()
    lock = read_lock(root)
    lock.require_one_run()
    chosen = _servable(lock, systems, say)
    decisions: list[Decision] = []
    failed: list[str] = []
    with _alone(root):
        tracked = track(root, uri)
        registry = Registry(root, uri)
        for system in chosen:
            registry.sweep(tracked.systems[system])
            candidate = registry.of_lock(system, lock.key)
            if candidate is None:
                candidate = _register(registry, lock, system, tracked.systems[system], copying)
            try:
                decisions.append(_decide(registry, root, candidate, config, scheduled, force))
            except (TrialFailed, ChangedModel) as error:
                failed.append(str(error))  # the other systems are decided about all the same
            else:
                say(decisions[-1].summary())
    store.write_json(root / PROMOTION, {"decisions": [decision.to_json() for decision in decisions]})
    if failed:
        raise TrialFailed("\n".join(failed))
    return decisions


def _servable(lock: Lock, systems: Sequence[str], say: Callable[[str], None]) -> list[str]:
    outs = [lock.root / out for out in lock.outs("data/systems")]
    fitted = []
    for out in outs:
        # A collection may lack the labels that a system needs; then it has fitted or measured nothing, and says why.
        facts = store.read_json(out / "model.json")
        if "skipped" in facts:
            continue
        if (out / "scores" / facts["served"]).is_dir():
            fitted.append(out.name)
        else:
            say(f"{out.name}: nothing was measured, so it can't be compared; it is not promoted.")
    unknown = [name for name in systems if name not in fitted]
    if unknown:
        raise ConfigError(
            f"{', '.join(unknown)} can't be promoted: fitted and measured here are {', '.join(fitted) or 'none'}."
        )
    return [name for name in fitted if name in (systems or fitted)]


def _register(registry: Registry, lock: Lock, system: str, run: str, copying: Copying) -> Version:
    # What is packed must be what the lock says, or the version would bear a wrong name.
    for below in (f"data/systems/{system}", "data/features", "data/manifest", "data/check_features"):
        lock.files(below)
    with disk.scratch(state_folder(lock.root) / "packing", tempfile.mkdtemp) as folder:
        return registry.register(pack(lock.root / "data", system, copying, folder / "packed"), run, lock.key)


def _decide(
    registry: Registry, root: Path, candidate: Version, config: PromotionConfig, scheduled: bool, force: bool
) -> Decision:
    system = candidate.system
    champion = registry.bearing(system, CHAMPION)
    if champion is not None and champion.number == candidate.number:
        return Decision(system, candidate.number, champion.number, False, ("It is the champion already.",))
    registry.call(CHALLENGER, candidate)
    registry.verified(candidate)
    found = try_out(registry.folder(candidate), root / f"data/systems/{system}/scores/{candidate.method}", root)
    why = [f"It loads and ranks {found['queries']} test queries in a fresh process."]
    comparison: Comparison | None = None
    moved: tuple[Movement, ...] = ()
    against: list[str] = []
    if champion is None:
        why.append("There was no champion.")
    else:
        packed, former = registry.packed(candidate), registry.packed(champion)
        comparison = compare(former, packed, config.metric_of(system), config)
        moved = tuple(movements(*_summaries(former, packed), config))
        against = _objections(comparison, moved, config, scheduled)
        why += against or [_praise(comparison, config)]
    promoted = not against or force
    if promoted and against:
        why.append("Promoted all the same, because it was forced.")
    before = None if champion is None else champion.number
    decision = Decision(system, candidate.number, before, promoted, tuple(why), comparison, moved)
    registry.note(candidate, "mediarank.decision", " ".join(why)[:4000])
    registry.keep(candidate, PROMOTION.rpartition("/")[2], decision.to_json())
    if promoted:  # the alias of the champion moves last: whoever is killed before decides again
        registry.call_no_more(CHALLENGER, system)
        registry.call(CHAMPION, candidate)
    return decision


def compare(champion: Path, candidate: Path, metric: str, config: PromotionConfig) -> Comparison:
    """Two packed models on the queries that both were measured on."""
    columns = []
    for folder in (champion, candidate):
        table = store.read_table(folder / "per_query.parquet")
        if metric not in table:
            known = ", ".join(name for name in table.columns if name not in ("method", "query"))
            raise ConfigError(f"promotion.metric: there is no {metric!r} by query; there are {known}.")
        columns.append(table.set_index("query")[metric])
    both = pd.concat(columns, axis=1, join="inner", keys=["champion", "candidate"]).dropna().sort_index()
    if both.empty:
        return Comparison(metric, 0, 0.0, float("nan"), float("nan"), float("nan"))
    p = paired_randomisation(both["champion"], both["candidate"], seed=config.seed, rounds=config.rounds)
    shared = len(both) / columns[0].count()
    return Comparison(metric, len(both), shared, float(both["champion"].mean()), float(both["candidate"].mean()), p)


def _summaries(champion: Path, candidate: Path) -> tuple[Any, Any]:
    return store.read_json(champion / "summary.json"), store.read_json(candidate / "summary.json")


def _objections(
    comparison: Comparison, moved: Sequence[Movement], config: PromotionConfig, scheduled: bool
) -> list[str]:
    against = []
    if comparison.shared < config.min_shared:
        against.append(
            f"It shares {comparison.queries} measured queries with the champion, {comparison.shared:.0%} of them, too "
            f"few to compare (min_shared is {config.min_shared:g}); look at both and use --force."
        )
    elif comparison.worse(config):
        against.append(f"It is worse than the champion beyond noise: {_figures(comparison)}.")
    too_far = [movement for movement in moved if movement.too_far]
    if scheduled and too_far:
        parts = (f"{m.what} ({m.measure} {m.value:.3g}, limit {m.limit:g})" for m in too_far)
        against.append(f"The data drifted: {', '.join(parts)}. If that is meant, run mediarank promote by hand.")
    return against


def _praise(comparison: Comparison, config: PromotionConfig) -> str:
    better = comparison.candidate > comparison.champion and comparison.p < config.significance
    return f"It is {'better' if better else 'not worse beyond noise'}: {_figures(comparison)}."


def _without_nan(values: Mapping[str, Any]) -> dict[str, Any]:
    """JSON has no NaN."""
    return {name: None if value != value else value for name, value in values.items()}


def _figures(found: Comparison) -> str:
    means = f"{found.metric} {found.candidate:.4f} against {found.champion:.4f}"
    return f"{means} over {found.queries} queries, p = {found.p:.3g}"


def champion_drift(
    root: Path, system: str, config: PromotionConfig, uri: str | None = None
) -> tuple[Version, list[Movement]]:
    """A system's champion, and what moved between its version and the one in the workspace."""
    registry = Registry(root, uri)
    champion = registry.bearing(system, CHAMPION)
    if champion is None:
        raise DataError(f"{system} has no champion to compare with; mediarank promote makes one.")
    facts = store.read_json(root / "data/systems" / system / "model.json")
    now = version_summary(root / "data", system, facts["served"], needs_of(system, facts).features)
    return champion, movements(store.read_json(registry.packed(champion) / "summary.json"), now, config)


@contextmanager
def _alone(root: Path) -> Iterator[None]:
    """Wait until no other process of this project promotes; remove what a killed one has left."""
    with (state_folder(root) / "promotion.lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        disk.sweep_below(state_folder(root), depth=0)
        yield
