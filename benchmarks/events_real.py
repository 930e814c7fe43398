"""One collection of clips, split anew for several seeds: every method on test clips, and the paper's protocol.

Base classifiers, fusions and settings are learned from the clips of `base` and `rank` of each split; test clips are
used for measuring only. Bands and p-values are over clips (events_bands.py).
"""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from events_bands import (
    RESAMPLES,
    Band,
    SplitScores,
    band,
    exchange_test,
    group_weights,
    mean_precision,
    measured,
    p_value,
    significant_lead,
)
from events_data import HAND_MADE, Collection

import mediarank
from mediarank import store
from mediarank.evaluation.figures import Line, line_figure
from mediarank.learners.fusion.recycling import Recycling
from mediarank.learners.fusion.rivals import against_rivals
from mediarank.systems.events.config import CONSENSUS, DEFAULT, KERNEL_FUSION, RATIOS, Config
from mediarank.systems.events.fit import Clips, fit_clips
from mediarank.systems.events.kernel_fusion import fit_kernel_fusion
from mediarank.systems.events.model import REFITTED
from mediarank.systems.events.protocol import EventScores, draw, figure2, learn

BEST = "served"
"""What validation chooses in each split."""
RIVALS = ("log_odds", "out_of_fold", "meta_only", "best_modality")
COMPETING = {"log_odds_half": 0.5, "log_odds_rivals": 1.0}
"""`log_odds` after events have competed for clips, as in `kernel_fusion`: how much of its lead that explains."""
OTHERS = (CONSENSUS, KERNEL_FUSION, "highest", *COMPETING)
"""Further methods that the summary names; `highest` is the one with the highest validation figure, whatever it is."""
SHOWN = (
    "average", "meta_only", "naive", "equal_weights", "recycling", "out_of_fold", "average_log_odds",
    "meta_only_log_odds", "recycling_log_odds", "out_of_fold_log_odds", "log_odds", "blended_log_odds",
)  # fmt: skip
"""Fusions of the protocol's table and figures."""
FITTED = (*DEFAULT, "blended_log_odds")
"""What params.yaml fits, and the step beyond of before."""
PAIRS = (
    ("recycling", "meta_only"), ("recycling_log_odds", "meta_only_log_odds"), ("naive", "meta_only"),
    ("out_of_fold", "recycling"), ("log_odds", "recycling_log_odds"), ("blended_log_odds", "log_odds"),
)  # fmt: skip


@dataclass(frozen=True)
class Measured:
    """splits : the test clips of each seed; frozen : by seed, event -> scores of the frozen classifiers"""

    title: str
    splits: Sequence[SplitScores]
    frozen: Sequence[Mapping[str, EventScores]]
    classifiers: tuple[str, ...]
    served: tuple[str, ...]


def measure(collection: Collection, seeds: Sequence[int], cache: Path) -> Measured:
    """The results of each split are kept in `cache`, by the code that made them."""
    found = []
    for seed in seeds:
        key = hashlib.sha256(repr([collection.identity, seed, _code()]).encode()).hexdigest()[:24]
        path = cache / "splits" / f"{collection.title}-{seed}-{key}.npz"
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            _write(path, *_measure(collection, seed))
        found.append(_read(path))
    splits, frozen, classifiers, served = zip(*found, strict=True)
    return Measured(collection.title, splits, frozen, classifiers[0], served)


def _measure(collection: Collection, seed: int) -> tuple[SplitScores, dict[str, EventScores], tuple[str, ...], str]:
    clips = collection.split(seed)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="The (classifier|event)")
        model, scores = fit_clips(clips, Config(methods=FITTED, repeats=0, seed=seed))
        ranked = {m: model.fused(clips.matrices, clips.test, method=m) for m in model.methods}
        refitted = model.classifiers[REFITTED]
        # alone, a classifier knows the clips of `rank` as well, as the best fusions do
        ranked |= {n: c.probabilities(clips.matrices[n], clips.test) for n, c in refitted.items()}
        highest = max(model.validation, key=lambda method: model.validation[method])
        ranked |= {"served": ranked[model.served], "highest": ranked[highest], **_hand_made(clips)}
    names = np.array([clips.groups.get(clip, clip) for clip in clips.test])
    sizes = f"{len(clips.base)} base, {len(clips.rank)} unseen, {len(clips.test)} test"
    print(f"{collection.title}, split {seed}: {sizes}, {len(clips.shown)} events; served: {model.served}")
    frozen = {event: found for event, found in scores.items() if found.test_y.any()}
    return SplitScores(names, clips.marks(clips.test), ranked), frozen, tuple(clips.matrices), model.served


def _write(
    path: Path, tested: SplitScores, frozen: Mapping[str, EventScores], classifiers: Sequence[str], served: str
) -> None:
    arrays = {f"scores/{method}": values for method, values in tested.scores.items()}
    for event, scores in frozen.items():
        arrays |= {f"frozen/{event}/{part}": values for part, values in vars(scores).items()}
    facts = {
        "groups": tested.groups,
        "marks": tested.marks,
        "classifiers": np.array(classifiers),
        "served": np.array(served),
    }
    store.write_arrays(path, {**arrays, **facts})


def _read(path: Path) -> tuple[SplitScores, dict[str, EventScores], tuple[str, ...], str]:
    arrays = store.read_arrays(path)
    scores = {name.split("/", 1)[1]: values for name, values in arrays.items() if name.startswith("scores/")}
    frozen: dict[str, dict[str, Any]] = {}
    for name, values in arrays.items():
        if name.startswith("frozen/"):
            event, part = name.removeprefix("frozen/").rsplit("/", 1)
            frozen.setdefault(event, {})[part] = values
    tested = SplitScores(arrays["groups"], arrays["marks"], scores)
    named = {event: EventScores(**parts) for event, parts in frozen.items()}
    return tested, named, tuple(arrays["classifiers"].tolist()), str(arrays["served"].item())


def _code() -> str:
    """A hash of the modules that decide the scores."""
    package = Path(mediarank.__file__).parent
    digest = hashlib.sha256()
    for folder in ("base_models", "features", "learners/fusion", "media", "similarity", "systems/events"):
        for path in sorted((package / folder).rglob("*.py")):
            digest.update(path.read_bytes())
    return digest.hexdigest()


def _hand_made(clips: Clips) -> dict[str, np.ndarray]:
    """The fusion of kernels without the network's."""
    kept = {name: matrix for name, matrix in clips.matrices.items() if name in HAND_MADE}
    if not kept or len(kept) == len(clips.matrices):
        return {}
    members = clips.base + clips.rank
    fused, _ = fit_kernel_fusion(kept, clips.labels(members), members, Config().svm, clips.groups)
    return {"hand_made": fused.log_odds(clips.matrices, clips.test)}


def table(found: Measured) -> dict[str, Any]:
    """Every method on all test clips, with bands over clips; and how sure the lead of the best fusion is."""
    weights = group_weights(found.splits, RESAMPLES)
    splits = [replace(s, scores={**s.scores, **_competing(s.scores["log_odds"])}) for s in found.splits]
    figures = {method: mean_precision(splits, method, weights) for method in splits[0].scores}
    best_modality = max(found.classifiers, key=lambda name: figures[name][0])
    splits = [replace(s, scores={**s.scores, "best_modality": s.scores[best_modality]}) for s in splits]
    print(f"\n{found.title}: mean AP with 95 % band over clips, {len(splits)} splits; classifiers know base and rank")
    for method, values in sorted(figures.items(), key=lambda entry: -entry[1][0]):
        lead = "" if method == BEST else f"   {BEST} leads by {band(figures[BEST] - values)}"
        print(f"{method:24} {band(values)}{lead}")
    tests = {rival: exchange_test(splits, BEST, rival) for rival in (*RIVALS, *COMPETING)}
    print(f"p-values of {BEST} against " + ", ".join(f"{r} {p_value([t]):.4f}" for r, t in tests.items()))
    return {"figures": figures, "best_modality": best_modality, "tests": tests}


def _competing(log_odds: np.ndarray) -> dict[str, np.ndarray]:
    return {name: against_rivals(log_odds, share) for name, share in COMPETING.items()}


def summary(tables: Mapping[str, dict[str, Any]], found: Mapping[str, Measured]) -> dict[str, Any]:
    """The JSON's `real`: pooled as the mean over collections, and each collection by itself."""

    def of(names: Sequence[str]) -> dict[str, Any]:
        figures = {
            method: np.mean([_figure(tables[name], method) for name in names], axis=0)
            for method in ("best", *RIVALS, *OTHERS)
        }
        values: dict[str, Any] = {method: float(v[0]) for method, v in figures.items()}
        tests = {r: [tables[name]["tests"][r] for name in names] for r in (*RIVALS, *COMPETING)}
        p_values = {r: p_value(of) for r, of in tests.items()}
        leads = {r: vars(band(figures["best"] - figures[r])) for r in (*RIVALS, *OTHERS)}
        least = {r: significant_lead(of) for r, of in tests.items()}
        rest = {"p_values": p_values, "leads": leads, "significant_from": least}
        return {**values, "p_value": max(p_values[r] for r in RIVALS), **rest}

    collections = {}
    for name, entry in tables.items():
        ranked = {method: vars(band(v)) for method, v in entry["figures"].items()}
        extra = {"network": "network", "hand_made": "hand_made", "all": KERNEL_FUSION}
        rows = {key: ranked[m]["mean"] for key, m in extra.items() if m in ranked}
        collections[name] = {
            **of([name]), **rows, "modality": entry["best_modality"], "served_methods": found[name].served, "ap": ranked
        }  # fmt: skip
    return {**of(list(tables)), "collections": collections}


def _figure(entry: dict[str, Any], method: str) -> np.ndarray:
    names = {"best": BEST, "best_modality": entry["best_modality"]}
    return entry["figures"][names.get(method, method)]


def protocol(found: Measured, repeats: int, resamples: int = 200) -> dict[str, np.ndarray]:
    """Section 3 with frozen classifiers: method -> (metrics, ratios, 1 + resamples), mean over events and splits."""
    weights = group_weights(found.splits, resamples)
    out = {method: np.zeros((2, len(RATIOS), resamples + 1)) for method in SHOWN}
    for r, ratio in enumerate(RATIOS):
        values: dict[str, list[Any]] = {method: [] for method in SHOWN}
        for seed, (events, drawn) in enumerate(zip(found.frozen, weights, strict=True)):
            for e, event in enumerate(events.values()):
                draws = draw(event, ratio, repeats, np.random.default_rng([seed, e, r]))
                for method in SHOWN:
                    fused = learn(method, event, draws).predict(event.test)
                    values[method].append(_mean([measured(row, event.test_y, drawn) for row in fused]))
        for method in SHOWN:
            out[method][:, r] = _mean(values[method])
    return out


def protocol_table(title: str, figures: Mapping[str, np.ndarray]) -> dict[str, Any]:
    print(f"\n{title}: frozen classifiers, mean AP by the ratio of unseen to training clips")
    print(f"{'':24}" + "".join(f"{f'1/{round(1 / r)}':>8}" for r in RATIOS))
    for method, values in figures.items():
        print(f"{method:24}" + "".join(f"{v:8.3f}" for v in values[0, :, 0]))
    leads = {}
    for first, second in PAIRS:
        bands = [band(gap) for gap in (figures[first] - figures[second])[0]]
        whole = band((figures[first] - figures[second])[0].mean(axis=0))
        print(f"{first} − {second}: {whole}; by ratio " + ", ".join(f"{b.mean:+.4f}" for b in bands))
        leads[f"{first}_vs_{second}"] = {"all": vars(whole), "ratios": [vars(b) for b in bands]}
    ap = {method: values[0, :, 0].tolist() for method, values in figures.items()}
    f1 = {method: values[1, :, 0].tolist() for method, values in figures.items()}
    return {"ap": ap, "f1": f1, "ratios": list(RATIOS), "leads": leads}


def write_figures(folder: Path, found: Measured, figures: Mapping[str, np.ndarray], repeats: int) -> None:
    """Figures 2, 4 and 5 as tables and pictures; bands are over clips, means over events, splits and repeats."""
    shown = ("average", "meta_only", "naive", "recycling", "out_of_fold", "log_odds")
    rows = []
    for m, metric in enumerate(("ap", "f1")):
        bands = {method: [band(v) for v in figures[method][m]] for method in figures}
        lines = [_line(method, RATIOS, bands[method]) for method in shown]
        svg = line_figure(lines, "unseen clips per training clip, r", metric, highlight="recycling")
        store.write_text(folder / f"figure4_{metric}.svg", svg)
        rows += [
            (m_, metric, r, *vars(b).values()) for m_, of in bands.items() for r, b in zip(RATIOS, of, strict=True)
        ]
    columns = ["method", "metric", "ratio", "mean", "low", "high"]
    store.write_csv(folder / "figure4.csv", pd.DataFrame(rows, columns=columns))
    first = next(iter(found.frozen[0]))
    store.write_csv(folder / f"figure2_{first}.csv", figure2(found.frozen[0][first], found.classifiers))
    store.write_csv(folder / "figure5.csv", figure5(found, repeats))


def figure5(found: Measured, repeats: int, resamples: int = 200) -> pd.DataFrame:
    """iteration, metric, mean, low, high: recycling after each iteration at r = 1/4, with bands over clips."""
    weights = group_weights(found.splits, resamples)
    values = []
    for seed, (events, drawn) in enumerate(zip(found.frozen, weights, strict=True)):
        for e, event in enumerate(events.values()):
            draws = draw(event, RATIOS[0], repeats, np.random.default_rng([seed, e, 5]))
            fusion = Recycling()
            examples = event.held_in[draws.source], event.base_y[draws.source]
            fusion.fit(*examples, event.unseen[draws.target], event.unseen_y[draws.target])
            staged = fusion.staged_[..., :-1] @ event.test.T + fusion.staged_[..., -1:]
            values.append([_mean([measured(row, event.test_y, drawn) for row in stage]) for stage in staged])
    means = _mean(values)
    rows = []
    for t, stage in enumerate(means):
        rows += [(t + 1, metric, *vars(band(stage[m])).values()) for m, metric in enumerate(("ap", "f1"))]
    return pd.DataFrame(rows, columns=["iteration", "metric", "mean", "low", "high"])


def _mean(values: Sequence[Any]) -> np.ndarray:
    """Over the first axis, without NaN: an event of which no positive was drawn has no figure."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Mean of empty slice")
        return np.nanmean(values, axis=0)


def _line(name: str, xs: Sequence[float], bands: Sequence[Band]) -> Line:
    order = np.argsort(xs)
    points = [(xs[k], bands[k].mean, bands[k].low, bands[k].high) for k in order]
    return Line(name, *(list(column) for column in zip(*points, strict=True)))
