"""Paper 003: how well and how fast search by example is learned.

    python benchmarks/retrieval.py                     # speed, on made-up data (see retrieval_speed.py)
    python benchmarks/retrieval.py --data FOLDER       # the paper's section 5 on a collection with classes

With a collection: features of sixteen hand-made types and of a pretrained network are extracted (and kept in --cache).
Then come the parts, each over five folds:

paper     nine hand-made types are picked by validation; all methods by mAP (table 2), with their last weights, with all
          sixteen types, and timed on growing data (figure 1)
learned   learned similarities with these nine types, with the network and with both (retrieval_variants.py)
held_out  the same for queries of classes that were never seen
large     three million training triplets (table 3), a million distractors (figure 2), recall of shortlists
live      queries arrive one by one, and methods learn from the first 50 results (figures 3 and 4)
tried     ideas that were not kept, by validation queries of the first fold (retrieval_tried.py)

--out keeps the result of every part and fold, so that a run can be resumed or done in pieces (--parts, --folds), and
gets the tables and figures. --per-class makes it a sample. The last line is one JSON object.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Mapping
from dataclasses import asdict, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from retrieval_large import draw_distractors, run_large, shortlist_recall
from retrieval_online import live_learners, simulate
from retrieval_protocol import FOLDS, Prepared, Protocol, deal_folds, pick_types, prepare, run_fold
from retrieval_results import FoldRows, Results, best_by_validation, maps, significance, table, variants
from retrieval_speed import learning, searching
from retrieval_tried import run_tried
from retrieval_types import NETWORK, TYPES, describe
from retrieval_variants import feature_sets, run_held_out, run_learned

from mediarank import store
from mediarank.evaluation.figures import Line, line_figure
from mediarank.learners.pairwise.phi_rankers import RANKERS, Chosen
from mediarank.systems.retrieval.collection import Collection

ROWS = ("best_fea", "uni_con", "ranknet", "c_ascent", "ranksvm", "lambdamart", "opr", "opar1", "opar2", "ogdr")
COLUMNS = {
    "corel5k": (0.1846, 0.2990, 0.3133, 0.3406, 0.3366, 0.3683, 0.3292, 0.3340, 0.3389, 0.3228),
    "caltech101": (0.2664, 0.2594, 0.2753, 0.3193, 0.3270, 0.3650, 0.3285, 0.3070, 0.3157, 0.3024),
    "holidays": (0.4892, 0.5175, 0.6292, 0.6373, 0.6429, 0.6230, 0.6219, 0.6329, 0.6283, 0.6368),
}
PUBLISHED = {source: dict(zip(ROWS, column, strict=True)) for source, column in COLUMNS.items()}
"""Table 2; which subset and database of Corel it is of, the paper does not name."""
BASELINES = ("best_fea", "uni_con")
PARTS = ("paper", "learned", "held_out", "large", "live", "tried")
ONE_FOLD = ("live", "tried")
"""Parts that are run on the first of the folds alone."""
PICKED_ONLY = ("best_fea", "c_ascent", "lambdamart")
"""Methods that are not fitted again with all hand-made types, since that takes long."""
SHORTLIST_DISTRACTORS = 100_000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="the folder of a collection with classes")
    parser.add_argument("--cache", type=Path, default=Path(".mediarank/cache/benchmarks"), help="for features")
    parser.add_argument("--out", type=Path, help="a folder for the results of parts and folds, tables and figures")
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--methods", nargs="+", default=list(Protocol().methods), choices=list(RANKERS))
    parser.add_argument("--types", nargs="+", default=list(TYPES), choices=list(TYPES), help="feature types")
    parser.add_argument("--per-class", type=int, help="a sample of so many items per class")
    parser.add_argument("--folds", type=int, nargs="+", default=list(range(FOLDS)), help="which of the five are run")
    parser.add_argument("--instances", type=int, default=Protocol().instances, help="triplets to learn from")
    parser.add_argument("--large-instances", type=int, default=3_000_000, help="the same in the part `large`")
    parser.add_argument("--distractors", type=int, default=1_000_000)
    parser.add_argument("--online-queries", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=Protocol().seed)
    parser.add_argument("--triplets", type=int, default=3_000_000, help="of the speed part")
    parser.add_argument("--images", type=int, default=1_000_000, help="of the speed part")
    parser.add_argument("--rounds", type=int, default=3, help="of the speed part: best of so many")
    options = parser.parse_args()
    if options.data:
        report = Experiment(options).report()
    else:
        report = {
            **learning(options.triplets, options.rounds),
            **searching(options.images, options.rounds, options.out),
        }
    print(json.dumps(report))


class Experiment:
    """The parts that were asked for, on one collection."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.options = options
        self.protocol = replace(
            Protocol(), methods=tuple(options.methods), instances=options.instances, seed=options.seed
        )
        names = sorted(options.types, key=lambda name: name in NETWORK)  # hand-made ones first
        self.described = describe(options.data, options.cache, options.seed, names, options.per_class)
        self.items = tuple(sorted(self.described.classes))
        self.classes = dict(sorted(self.described.classes.items()))
        self.network = [name for name in names if name in NETWORK]
        self.hand_made = [name for name in names if name not in NETWORK]
        self.fold_of = deal_folds(self.items, self.classes, options.seed)
        depends_on = {**asdict(self.protocol), "types": names, "per_class": options.per_class, "items": len(self.items)}
        self.results = Results(options.out, depends_on)
        self._prepared: tuple[int, Prepared] | None = None
        self._fitted: dict[int, dict[str, Chosen]] = {}
        print(f"{len(self.items)} items of {len(set(self.classes.values()))} classes; {len(names)} feature types")

    @cached_property
    def collection(self) -> Collection:
        """With the hand-made types alone."""
        rows = tuple(np.ascontiguousarray(self.described.matrices[name].rows(self.items)) for name in self.hand_made)
        return Collection(self.items, self.classes, rows)

    def prepared(self, fold: int) -> Prepared:
        """A fold with all hand-made types; the last one is kept."""
        if self._prepared is None or self._prepared[0] != fold:
            found = prepare(
                self.collection,
                self.fold_of,
                fold,
                self.protocol,
                self.described.reserved,
                self.described.clutter,
            )
            self._prepared = fold, found
        return self._prepared[1]

    def report(self) -> dict[str, Any]:
        """Run the parts, print their tables, and give the JSON object."""
        found: dict[str, list[FoldRows]] = {}
        for part in self.options.parts:
            found[part] = []
            for fold in self.options.folds[:1] if part in ONE_FOLD else self.options.folds:
                started = time.process_time()
                found[part].append(self.results.once(part, fold, lambda p=part, f=fold: getattr(self, p)(f)))
                print(f"{part}, fold {fold}: {time.process_time() - started:.0f} s of processor time", flush=True)
        for part in found:
            getattr(self, f"show_{part}")(found[part])
        return self.json(found)

    def picked(self, fold: int) -> tuple[int, ...]:
        """The types that the fold's validation queries pick."""

        def pick() -> FoldRows:
            prepared = self.prepared(fold)
            types = pick_types(prepared.validation, prepared.triplets, self.protocol.types)
            return FoldRows(fold, [], [], {"picked": types})

        return tuple(self.results.once("picked", fold, pick).facts["picked"])

    def paper(self, fold: int) -> FoldRows:
        prepared = self.prepared(fold)
        picked = self.picked(fold)
        few = prepared.narrowed(picked)
        rows, fitted = run_fold(few, self.protocol.methods, "picked")
        if len(picked) < len(prepared.types):
            rows += run_fold(prepared, [m for m in self.protocol.methods if m not in PICKED_ONLY], "all_types")[0]
        facts: dict[str, Any] = {"picked": picked, "types": [self.hand_made[k] for k in picked]}
        if fold == 0:
            facts["figure1"] = growing(few, fitted)
        return FoldRows(fold, prepared.test, rows, facts)

    def learned(self, fold: int) -> FoldRows:
        sets = feature_sets([self.hand_made[k] for k in self.picked(fold)], self.network)
        return run_learned(self.described, self.fold_of, fold, sets, self.protocol)

    def held_out(self, fold: int) -> FoldRows:
        sets = feature_sets([self.hand_made[k] for k in self.picked(fold)], self.network)
        return run_held_out(self.described, self.fold_of, fold, sets, self.protocol)

    def large(self, fold: int) -> FoldRows:
        few = self.prepared(fold).narrowed(self.picked(fold))
        found, weights = run_large(few, self.protocol, self.options.large_instances, self.options.distractors)
        if fold != self.options.folds[0]:
            return found
        code = {name: k for k, name in enumerate(sorted(set(self.classes.values())))}
        labels = np.array([code[self.classes[item]] for item in few.training], np.int32)
        count = min(SHORTLIST_DISTRACTORS, self.options.distractors)
        drawn = draw_distractors(labels, count, len(few.types), np.random.default_rng(self.options.seed))
        places = [few.collection.position[item] for item in few.training]
        with tempfile.TemporaryDirectory(dir=self.options.cache) as folder:
            shares = shortlist_recall(few.collection, weights, drawn, places, Path(folder))
        return replace(found, facts={**found.facts, "shortlist_recall": shares})

    def live(self, fold: int) -> FoldRows:
        """Live methods with the fold's types and parameters; the queries that chose these are not asked again."""
        few = self.prepared(fold).narrowed(self.picked(fold))
        chosen = self.results.once("paper", fold, lambda: self.paper(fold)).rows
        parameters = {row.method: row.chosen for row in chosen if row.variant == "picked"}
        never = {*few.validation.queries, *self.described.reserved}
        able = [item for item in self.items if item not in never]
        queries = np.random.default_rng(self.options.seed).permutation(able)[: self.options.online_queries].tolist()
        learners = live_learners(few.triplets.phi.shape[1], parameters)
        online = simulate(few.collection, few.scaler, queries, learners, seed=self.options.seed)
        if self.options.out:
            write_figure(self.options.out, "figure3", online, ("round", "cumulative"), ("queries", "mean nDCG@50"))
            write_figure(self.options.out, "figure4", online, ("round", "seconds"), ("queries", "processor seconds"))
        last = online.groupby("method", sort=False).last()
        facts = {
            str(m): {"ndcg50": round(float(r["cumulative"]), 4), "s": round(float(r["seconds"]), 3)}
            for m, r in last.iterrows()
        }
        return FoldRows(fold, queries, [], facts)

    def tried(self, fold: int) -> FoldRows:
        return run_tried(self.prepared(fold).narrowed(self.picked(fold)), self.protocol)

    def show_paper(self, folds: list[FoldRows]) -> None:
        published = {} if self.options.per_class else PUBLISHED.get(self.described.source, {})
        found = table(folds)
        for variant, group in found.groupby("variant", sort=False):
            print(f"\n{variant}: {'method':14}{'mAP':>8}{'±':>8}{'published':>11}{'validation':>12}{'train, s':>10}")
            for row in group.to_dict("records"):
                known = f"{published[row['method']]:.4f}" if row["method"] in published else "-"
                print(
                    f"{'':{len(str(variant)) + 2}}{row['method']:14}{row['map']:8.4f}{row['spread']:8.4f}{known:>11}"
                    f"{row['validation']:12.4f}{row['seconds']:10.4f}"
                )
        for result in folds:
            print(f"fold {result.fold}: {', '.join(result.facts['types'])}")
        if "uni_con" in self.protocol.methods:
            print("\nagainst uni_con (paired randomisation over queries)")
            print(significance(folds, "uni_con").to_string(index=False, float_format=lambda x: f"{x:.4f}"))
        if self.options.out:
            store.write_csv(self.options.out / "table2.csv", found)
            growth = pd.DataFrame([r for f in folds for r in f.facts.get("figure1", [])])
            if len(growth):
                labels = ("training triplets", "processor seconds")
                write_figure(self.options.out, "figure1", growth, ("instances", "seconds"), labels)

    def show_learned(self, folds: list[FoldRows], what: str = "all classes known") -> None:
        print(f"\n{what}: mAP of learned similarities and of the network")
        print(pd.DataFrame({name: maps(folds, name) for name in variants(folds)}).to_string())

    def show_held_out(self, folds: list[FoldRows]) -> None:
        self.show_learned(folds, "queries of classes that were never seen")

    def show_large(self, folds: list[FoldRows]) -> None:
        facts = folds[0].facts
        print(f"\nfigure 2: mAP with {facts['distractors']} distractors; table 3: {facts['instances']} triplets")
        print(table(folds).to_string(index=False, float_format=lambda x: f"{x:.4f}"))
        for result in folds:
            print(f"fold {result.fold}: {', '.join(f'{r.method} {r.map:.4f}' for r in result.rows)}")
        print(f"recall of shortlists: {facts.get('shortlist_recall')}")

    def show_live(self, folds: list[FoldRows]) -> None:
        print("\nlive: mean nDCG@50 and processor seconds of learning after all queries (figures 3 and 4)")
        print(pd.DataFrame(folds[0].facts).T.to_string())

    def show_tried(self, folds: list[FoldRows]) -> None:
        print(f"\ntried and not kept: mAP of the validation queries of fold {folds[0].fold}")
        print(pd.Series(folds[0].facts["validation_map"]).round(4).to_string())

    def json(self, found: Mapping[str, list[FoldRows]]) -> dict[str, Any]:
        paper, learned = found.get("paper", []), found.get("learned", [])
        report: dict[str, Any] = {"items": len(self.items), "folds": len(self.options.folds), "map": {}}
        if paper:
            report["map"] |= maps(paper, "picked")
            report["all_types"] = maps(paper, "all_types")
            rows = table(paper).query("variant == 'picked'")
            report["spread"] = dict(zip(rows["method"], rows["spread"].round(4).tolist(), strict=True))
            report["train_s"] = dict(zip(rows["method"], rows["seconds"].round(4).tolist(), strict=True))
        if learned:
            for name in variants(learned):
                report["map"][name] = best_by_validation([learned], name)
            report["learned"] = {name: maps(learned, name) for name in variants(learned)}
        if paper or learned:
            report["map"]["best"] = best_by_validation([paper, learned])
        if found.get("held_out"):
            report["held_out_classes"] = {name: maps(found["held_out"], name) for name in variants(found["held_out"])}
        if found.get("large"):
            report["large"] = {name: maps(found["large"], name) for name in ("plain", "distractors")}
            seconds = table(found["large"]).query("variant == 'plain'")
            report["train_3m_s"] = dict(zip(seconds["method"], seconds["seconds"].round(3).tolist(), strict=True))
            report["shortlist_recall"] = found["large"][0].facts.get("shortlist_recall")
        if found.get("live"):
            report["online_ndcg50"] = {m: f["ndcg50"] for m, f in found["live"][0].facts.items()}
            report["online_s"] = {m: f["s"] for m, f in found["live"][0].facts.items()}
        if found.get("tried"):
            report["tried"] = {m: round(value, 4) for m, value in found["tried"][0].facts["validation_map"].items()}
        return report


def growing(prepared: Prepared, fitted: Mapping[str, Chosen]) -> list[dict[str, Any]]:
    """Processor seconds of the chosen rankers on growing shares of a fold's triplets: figure 1."""
    data = prepared.triplets
    rows = []
    for share in (0.1, 0.3):
        part = data.first_queries(max(1, int(share * (len(data.offsets) - 1))))
        part.differences  # noqa: B018  # made outside the time
        for method, found in fitted.items():
            if method in RANKERS and method not in BASELINES:
                started = time.process_time()
                type(found.ranker)(**found.parameters).fit_triplets(part)
                rows.append((method, len(part), time.process_time() - started))
    rows += [(m, len(data), found.seconds) for m, found in fitted.items() if m in RANKERS and m not in BASELINES]
    return [dict(zip(("method", "instances", "seconds"), row, strict=True)) for row in rows]


def write_figure(
    folder: Path, name: str, values: pd.DataFrame, columns: tuple[str, str], labels: tuple[str, str]
) -> None:
    x, y = columns
    store.write_csv(folder / f"{name}.csv", values)
    lines = [Line(str(m), g[x].tolist(), g[y].tolist()) for m, g in values.groupby("method", sort=False)]
    store.write_text(folder / f"{name}.svg", line_figure(lines, *labels))


if __name__ == "__main__":
    main()
