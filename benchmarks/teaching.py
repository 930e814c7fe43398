"""Teaching: how much labels are worth when they are asked for well, and how quickly they are learned.

    python benchmarks/teaching.py --data FOLDER      # a collection with keywords and classes, such as Corel 5K
    python benchmarks/teaching.py                    # a smaller run on the drawn demo collection

Labels are given by an oracle: the collection's own. Parts:
- next: from 5 positives and 5 negatives of a rare word, how many labels asked for by `pick_next` reach the average
  precision, on held-out pictures, that 200 labels in random order reach; mean over words and repeats.
- errors: five per cent of the classes flipped; precision of the first 100 of the queue, cleanlab's default ranking on
  the same held-out probabilities, cleanlab on its own default classifier (logistic regression), and random order.
- learn: one name on 10,000 items (pictures repeated with noise if there are fewer), before and after.
- restore: 50,000 feedback events from the journal, with a snapshot.
- calibration: probabilities of words fitted on one part, calibrated on a second, measured on a third.
- feedback: P@10 of a query after 1, 3 and 10 clicks, and of other queries after all of them.

Words and classes are of one half of the names; `teaching_settings.py` chooses settings on the other half. The last line
is one JSON object.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
from teaching_data import REPORTING, Described, describe, half
from threadpoolctl import threadpool_limits

from mediarank.evaluation.calibration import calibration_error, fit_calibration
from mediarank.evaluation.metrics import average_precision
from mediarank.labels import Labels
from mediarank.learners.pairwise.phi_rankers import fixed_uniform
from mediarank.similarity.phi import SIMILARITIES
from mediarank.similarity.scaling import fit_scaler
from mediarank.systems.retrieval.live import LiveRanker
from mediarank.systems.retrieval.model import Model
from mediarank.teaching.feedback import Event, FeedbackLog, passed_over
from mediarank.teaching.journal import Journal, statements_of_call
from mediarank.teaching.learning import teach
from mediarank.teaching.many_names import held_out_scores, probabilities_of
from mediarank.teaching.merging import Merged
from mediarank.teaching.one_name import Space, _costs, _FoldedRidge
from mediarank.teaching.review import class_doubts, directions, pick_next
from mediarank.teaching.taught_ranker import Teacher

SEED = 7
PARTS = ("next", "errors", "learn", "restore", "calibration", "feedback")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="the folder of a collection with keywords and classes")
    parser.add_argument("--cache", type=Path, default=Path(".mediarank/cache/benchmarks"), help="for features")
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS)
    parser.add_argument("--words", type=int, default=30)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--hand-made", action="store_true", help="without the network's features")
    options = parser.parse_args()
    data = describe(options.data, options.cache, options.hand_made)
    space = Space.of(data.matrices)
    print(f"{len(space.ids)} pictures, {', '.join(f'{n} {p.shape[1]}' for n, p in space.parts.items())}")
    found: dict[str, Any] = {"items": len(space.ids), "features": sorted(space.parts)}
    runs = {
        "next": lambda: label_saving(space, data.labels, options.words, options.repeats),
        "errors": lambda: errors(space, data.labels),
        "learn": lambda: learn_speed(data),
        "restore": lambda: restore_speed(data),
        "calibration": lambda: calibration(space, data.labels),
        "feedback": lambda: feedback(data),
    }
    with threadpool_limits(1):
        for part in options.parts:
            began = time.perf_counter()
            result = runs[part]()
            print(f"{part:<12} {time.perf_counter() - began:6.0f} s  {result}", flush=True)
            found |= result
    print(json.dumps(found))


def words_of(labels: Labels) -> dict[str, set[str]]:
    """Words, or else concepts, and the items that have them."""
    table = labels["keywords"]
    shown: dict[str, set[str]] = {}
    pairs = zip(table["keyword"], table["item"], strict=True) if len(table) else labels.shown
    for word, item in pairs:
        shown.setdefault(word, set()).add(item)
    return shown


def label_saving(
    space: Space, labels: Labels, count: int, repeats: int, budget: int = 200, batch: int = 10, which: int = REPORTING
) -> dict[str, Any]:
    shown = words_of(labels)
    sizes = Counter({word: len(space.rows(items)) for word, items in shown.items()})
    rare = half((word for word, n in sizes.items() if 25 <= n <= max(100, len(space.ids) // 40)), which)
    words = [rare[k] for k in np.random.default_rng(SEED).permutation(len(rare))[:count]]
    looks, x = directions(space), np.hstack(list(space.parts.values()))
    needed, gained, reached = [], [], 0
    for number, word in enumerate(words):
        relevant = np.zeros(len(space.ids), bool)
        relevant[space.rows(shown[word])] = True
        for repeat in range(repeats):
            rng = np.random.default_rng([SEED, number, repeat])
            test = rng.random(len(relevant)) < 0.3
            pool = np.flatnonzero(~test)
            y, start = relevant[pool], set()
            for value in (True, False):
                start |= set(rng.choice(np.flatnonzero(y == value), 5, replace=False).tolist())

            def fit(known: set[int], y=y, pool=pool, test=test, relevant=relevant) -> tuple[np.ndarray, float]:
                rows = np.array(sorted(known))
                scores = _scores(x[pool], rows[y[rows]], rows[~y[rows]], x)
                return scores[pool], average_precision(relevant[test], scores[test])

            others = np.setdiff1d(np.arange(len(pool)), sorted(start))
            goal = fit(start | set(rng.choice(others, budget, replace=False).tolist()))[1]
            known, ap = set(start), -1.0
            while True:
                scores, ap = fit(known)
                if len(known) == len(start):
                    gained.append((ap, goal))
                asked = len(known) - len(start)
                if (asked and ap >= goal) or asked >= budget:
                    break
                open_rows = np.setdiff1d(np.arange(len(pool)), sorted(known))
                said = np.zeros((len(pool), 1))
                said[[k for k in known if y[k]]] = 1
                p = fit_calibration(scores[:, None], said, [word]).probabilities(scores[:, None])[:, 0]
                known |= set(pick_next(looks[pool], scores, p, open_rows, batch).tolist())
            reached += ap >= goal
            needed.append(asked)
    return {
        "label_saving": round(1 - float(np.mean(needed)) / budget, 3),
        "labels_needed_mean": round(float(np.mean(needed)), 1),
        "labels_random": budget,
        "reached_share": round(reached / len(needed), 3),
        "start_ap": round(float(np.mean([a for a, _ in gained])), 4),
        "random_ap": round(float(np.mean([b for _, b in gained])), 4),
        "words": len(words),
    }


def _scores(pool: np.ndarray, yes: np.ndarray, no: np.ndarray, everything: np.ndarray) -> np.ndarray:
    goal = np.full(len(pool), -1, np.float32)
    goal[yes] = 1
    costs = _costs(len(pool), yes, no, SEED)
    w = _FoldedRidge(pool, goal, costs, np.zeros(len(pool), np.intp)).weights(0.001)
    return np.asarray(everything @ w[:-1] + w[-1], np.float64)


def errors(space: Space, labels: Labels, repeats: int = 3, share: float = 0.05) -> dict[str, Any]:
    from cleanlab.filter import find_label_issues

    rows, truth, count = classes_of(space, labels, REPORTING)
    ours, same, default = [], [], []
    for repeat in range(repeats):
        wrong, given = flipped(truth, count, repeat, share)
        suspicion = class_doubts(space, rows, given, count, SEED)[2]
        depth = min(100, int(wrong.sum()))  # a small collection has fewer than 100 wrong labels
        ours.append(wrong[np.argsort(-suspicion, kind="stable")[:depth]].sum() / depth)
        marks = np.eye(count, dtype=bool)[given]
        p = probabilities_of(held_out_scores(space, rows, marks.astype(np.float32), SEED), marks)
        found = _cleanlab(find_label_issues, given, p / p.sum(axis=1, keepdims=True))
        same.append(wrong[found[:depth]].sum() / depth)
        if repeat == 0:
            found = _cleanlab(find_label_issues, given, _logistic(space, rows, given))
            default.append(wrong[found[:depth]].sum() / depth)
    return {
        "errors_p100": round(float(np.mean(ours)), 3),
        "errors_p100_cleanlab": round(float(np.mean(same)), 3),
        "errors_p100_cleanlab_logistic": round(float(np.mean(default)), 3),
        "errors_p100_random": share,
    }


def classes_of(space: Space, labels: Labels, which: int) -> tuple[np.ndarray, np.ndarray, int]:
    """Rows of the items of one half of the classes, their classes as numbers, and how many there are."""
    names = half(set(labels.class_of.values()), which)
    class_of = {item: name for item, name in labels.class_of.items() if item in space.place and name in names}
    items = [item for item in space.ids if item in class_of]
    return space.rows(items), np.array([names.index(class_of[item]) for item in items]), len(names)


def flipped(truth: np.ndarray, classes: int, repeat: int, share: float = 0.05) -> tuple[np.ndarray, np.ndarray]:
    """Which labels are wrong, and all labels with these changed to another class."""
    rng = np.random.default_rng([SEED, repeat])
    wrong = np.zeros(len(truth), bool)
    wrong[rng.choice(len(truth), int(share * len(truth)), replace=False)] = True
    return wrong, np.where(wrong, (truth + rng.integers(1, classes, len(truth))) % classes, truth)


def _cleanlab(find: Any, given: np.ndarray, p: np.ndarray) -> np.ndarray:
    return np.asarray(find(given, p, return_indices_ranked_by="self_confidence", n_jobs=1))


def _logistic(space: Space, rows: np.ndarray, given: np.ndarray) -> np.ndarray:
    """Held-out probabilities of cleanlab's own default, scikit-learn's logistic regression, five folds."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import cross_val_predict

    x = np.hstack(list(space.parts.values()))[rows] * np.sqrt(sum(p.shape[1] for p in space.parts.values()))
    return np.asarray(cross_val_predict(LogisticRegression(max_iter=100), x, given, cv=5, method="predict_proba"))


def learn_speed(data: Described, items: int = 10_000) -> dict[str, Any]:
    """Before and after, on a space that is open already (`learn_s`), and opening it (`open_s`)."""
    from mediarank.types import FeatureMatrix

    rng = np.random.default_rng(SEED)
    matrices, kept = {}, np.arange(items) % len(data.items)
    ids = np.array([f"{k:06d}" for k in range(items)])
    for name, matrix in data.matrices.items():
        values = matrix.values[kept] + 0.01 * rng.normal(size=(items, len(matrix.names))).astype(np.float32)
        matrices[name] = FeatureMatrix(ids, matrix.names, values)
    shown = words_of(data.labels)
    word = max((w for w in shown if len(shown[w]) <= 100), key=lambda w: len(shown[w]))
    bearing = {k for k in range(items) if data.items[kept[k]] in shown[word]}
    now = _keywords([(str(ids[k]), word) for k in sorted(bearing)])
    before = _keywords([(str(ids[k]), word) for k in sorted(bearing)[::2]])
    began = time.perf_counter()
    space = Space.of(matrices)
    opened = time.perf_counter() - began
    timed = []
    for _ in range(3):
        began, cpu = time.perf_counter(), time.process_time()
        taught = teach(space, word, before, Merged(now, None, None))  # type: ignore[arg-type]
        timed.append((time.perf_counter() - began, time.process_time() - cpu))
    best = min(timed)
    return {
        "learn_s": round(best[0], 2),
        "learn_cpu_s": round(best[1], 2),
        "open_s": round(opened, 2),
        "learn_ap_before": round(taught.ap_before, 3),
        "learn_ap": round(taught.learned.ap, 3),
    }


def _keywords(rows: list[tuple[str, str]]) -> Labels:
    import pandas as pd

    return Labels({"keywords": pd.DataFrame(rows, columns=["item", "keyword"])})


def _live(data: Described, most: int | None = None) -> LiveRanker:
    ids = data.items[:most]
    rows = tuple(np.ascontiguousarray(np.sqrt(np.maximum(m.rows(ids), 0))) for m in data.matrices.values())
    scaler = fit_scaler(rows, 10_000, np.random.default_rng(SEED))
    ranker = fixed_uniform(len(SIMILARITIES) * len(rows))
    model = Model(tuple(data.matrices), tuple(ids), rows, scaler, {"uni_con": ranker}, {}, "uni_con", {})
    return LiveRanker(model)


def restore_speed(data: Described, count: int = 50_000) -> dict[str, Any]:
    rng = np.random.default_rng(SEED)
    live = _live(data, 500)
    with tempfile.TemporaryDirectory() as name:
        log, snapshot = FeedbackLog(Path(name) / "feedback"), Path(name) / "snapshot.npz"
        drawn = [rng.choice(len(live.ids), 3, replace=False).tolist() for _ in range(count)]
        rows = [Event(live.ids[a], (live.ids[b],), (live.ids[c],)).row() for a, b, c in drawn]
        Journal(log.folder).append(statements_of_call("ada", "import", rows))
        began = time.perf_counter()
        Teacher(live, log.read()[0], None, snapshot)
        first = time.perf_counter() - began
        timed = []
        for _ in range(3):
            began, cpu = time.perf_counter(), time.process_time()
            Teacher(live, log.read()[0], None, snapshot)
            timed.append((time.perf_counter() - began, time.process_time() - cpu))
    wall, cpu = min(timed)
    return {"restore_s": round(wall, 2), "restore_cpu_s": round(cpu, 2), "relearn_s": round(first, 1)}


def calibration(space: Space, labels: Labels) -> dict[str, Any]:
    """60 % fit, 10 % calibrate, 30 % test; words with 10 items or more in the first part."""
    shown = words_of(labels)
    part = np.random.default_rng(SEED).choice(3, len(space.ids), p=[0.6, 0.1, 0.3])
    rows = [np.flatnonzero(part == k) for k in range(3)]
    marks = {word: np.isin(np.arange(len(space.ids)), space.rows(items)) for word, items in shown.items()}
    words = half((word for word, shows in marks.items() if shows[rows[0]].sum() >= 10), REPORTING)
    y = np.column_stack([marks[word] for word in words])
    x = np.hstack(list(space.parts.values()))
    fitted = x[rows[0]] - x[rows[0]].mean(axis=0)
    gram = fitted.T @ fitted / len(fitted)
    gram[np.diag_indices_from(gram)] += 0.005 * np.trace(gram)
    w = np.linalg.solve(gram, fitted.T @ (y[rows[0]] - y[rows[0]].mean(axis=0)) / len(fitted))
    scores = x @ w
    found = fit_calibration(scores[rows[1]], y[rows[1]], words)
    p, truth = found.probabilities(scores[rows[2]]), y[rows[2]]
    sure = p > 0.1
    ratios = p.sum(axis=0) / np.maximum(truth.sum(axis=0), 1)
    return {
        "ece": round(calibration_error(truth, p), 4),
        "ece_above_10_percent": round(calibration_error(truth[sure], p[sure]), 4),
        "count_ratio_median": round(float(np.median(ratios)), 3),
        "calibrated_words": len(words),
    }


def feedback(data: Described, queries: int = 60, which: int = REPORTING, shown: int = 20) -> dict[str, Any]:
    """P@10 after clicks, each on the first relevant result that is shown and was not clicked before.

    `p10_clicks` is of what the user sees, `p10_not_clicked` leaves out what was clicked, and `_untaught` is the same of
    a search that learns nothing: what is left gets harder with every click.
    """
    live, class_of = _live(data), data.labels.class_of
    rng = np.random.default_rng(SEED)
    classes = set(half(set(class_of.values()), which))
    asked = [
        str(q) for q in rng.choice([i for i in live.ids if class_of.get(i) in classes], 2 * queries, replace=False)
    ]
    taught, others = asked[:queries], asked[queries:]
    steps = (0, 1, 3, 10)
    seen, fresh, still = ({k: [] for k in steps} for _ in range(3))
    events: list[Event] = []
    plain = Teacher(live, [])
    for query in taught:
        own: list[Event] = []
        clicked: list[str] = []
        untaught = [hit.item for hit in plain.search(query, live.vectors(query), shown + 20)]
        for clicks in range(max(steps) + 1):
            hits = [h.item for h in Teacher(live, own).search(query, live.vectors(query), shown + len(clicked) + 10)]
            left = [item for item in hits if item not in clicked]
            if clicks in steps:
                seen[clicks].append(_p10(hits, query, class_of))
                fresh[clicks].append(_p10(left, query, class_of))
                still[clicks].append(_p10([i for i in untaught if i not in clicked], query, class_of))
            fits = [item for item in left[:shown] if class_of.get(item) == class_of[query]]
            if fits:
                clicked.append(fits[0])
                own.append(
                    Event(query, (fits[0],), implied=passed_over(left[:shown], fits[:1]), id=f"{query} {clicks}")
                )
        events += own
    all_of_them = Teacher(live, events)
    before, after = (
        np.array([_p10([h.item for h in t.search(q, live.vectors(q), 10)], q, class_of) for q in others])
        for t in (plain, all_of_them)
    )
    change = after - before
    return {
        "p10_clicks": {str(k): round(float(np.mean(v)), 3) for k, v in seen.items()},
        "p10_not_clicked": {str(k): round(float(np.mean(v)), 3) for k, v in fresh.items()},
        "p10_not_clicked_untaught": {str(k): round(float(np.mean(v)), 3) for k, v in still.items()},
        "other_p10": round(float(before.mean()), 4),
        "other_p10_change": round(float(change.mean()), 4),
        "other_p10_change_se": round(float(change.std() / np.sqrt(len(change))), 4),
        "events": len(events),
    }


def _p10(items: list[str], query: str, class_of: dict[str, str]) -> float:
    return float(np.mean([class_of.get(item) == class_of[query] for item in items[:10]]))


if __name__ == "__main__":
    main()
