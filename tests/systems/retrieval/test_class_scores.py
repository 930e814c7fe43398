"""Learned similarities inside φ: class probabilities that are fair to training items, searched with and taught."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from made_retrieval import inputs

from mediarank.labels import Labels
from mediarank.learners.pairwise.phi_rankers import FixedWeights, Validation
from mediarank.similarity.phi import phi
from mediarank.similarity.shortlist import Shortlist
from mediarank.systems.contract import Inputs
from mediarank.systems.model import Fitted, Parts
from mediarank.systems.retrieval.class_scores import fit_class_scores
from mediarank.systems.retrieval.collection import Collection
from mediarank.systems.retrieval.config import Config
from mediarank.systems.retrieval.fit import fit
from mediarank.systems.retrieval.learned_methods import LEARNED_METHODS, harmless
from mediarank.systems.retrieval.learned_types import as_items, as_queries
from mediarank.systems.retrieval.live import Feedback, LiveRanker
from mediarank.systems.retrieval.model import Model
from mediarank.types import FeatureMatrix, Roles

CONFIG = Config(
    features=("good", "noise"),
    methods=("uni_con", "opar2", "ranknet", *LEARNED_METHODS),
    scaling_pairs=2000,
    instances=2000,
    unlabelled=("good",),
)


def corners(count: int = 240, classes: int = 6) -> Inputs:
    """Classes at the two ends of a line each: similarity alone takes the ends for different things."""
    rng = np.random.default_rng(0)
    ids = np.array([f"i{k:03d}" for k in range(count)])
    member = np.arange(count) % classes
    side = rng.choice([-1.0, 1.0], size=count)
    good = rng.normal(size=(count, classes)) * 0.3
    good[np.arange(count), member] += 3 * side
    noise = rng.normal(size=(count, 4))
    role = [("base", "rank", "valid", "test")[(k // classes) % 4] for k in range(count)]
    return Inputs(
        {
            "good": FeatureMatrix(ids, tuple(f"g{k}" for k in range(classes)), good.astype(np.float32)),
            "noise": FeatureMatrix(ids, tuple("wxyz"), noise.astype(np.float32)),
        },
        Labels({"classes": pd.DataFrame({"item": ids, "class": [f"c{m}" for m in member]})}),
        Roles(pd.DataFrame({"item_id": ids, "group_id": ids, "role": role, "fold": 0})),
    )


@pytest.fixture(scope="module")
def fitted() -> Fitted:
    """Not to be changed."""
    return fit(corners(), CONFIG)


def test_class_probabilities_join_what_looks_different(fitted: Fitted) -> None:
    model = fitted.model
    assert model.validation["posteriors"] > model.validation["uni_con"] + 0.2
    assert model.validation["learned_similarity"] > model.validation["opar2"]
    assert model.validation["unlabelled"] > model.validation["uni_con"], "noise is left out"


def test_training_items_have_scores_of_a_fit_without_them() -> None:
    """With classes at random nothing can be learned, so a left-out item is not put into its own class."""
    given = inputs(count=120)
    table = given.labels["classes"].copy()
    table["class"] = np.random.default_rng(3).permutation(table["class"].to_numpy())
    collection = Collection.of(Inputs(given.features, Labels({"classes": table}), given.roles), ("noise",))
    learning, rest = list(collection.items[:80]), list(collection.items[80:])
    scores, found = fit_class_scores(collection, ("noise",), ("noise",), learning, collection.items, rest, [1e-3])
    own = np.array([scores.classes.index(collection.classes[item]) for item in learning])
    right = (found[:80].argmax(axis=1) == own).mean()
    seen = (scores.probabilities([collection.rows[0][:80]]).argmax(axis=1) == own).mean()
    assert seen > 0.9, "a fit that has seen an item remembers it"
    assert right < 0.7
    assert found.sum(axis=1) == pytest.approx(1, abs=1e-5)
    np.testing.assert_array_equal(found[80:], scores.probabilities([collection.rows[0][80:]]))
    np.testing.assert_array_equal(found[80:81], scores.probabilities([collection.rows[0][80:81]]), "on its own")


def test_the_model_opens_from_its_files_and_takes_new_items(fitted: Fitted) -> None:
    given = corners()
    arrays, facts = fitted.model.to_arrays()
    facts = json.loads(json.dumps(facts, allow_nan=False))
    assert all(array.dtype != object for array in arrays.values())
    model = Model.from_arrays(arrays, facts, Parts(given.features))
    for method, recorded in fitted.scores.items():
        found = model.rank(given.features, recorded.ids.tolist(), recorded.names, method)
        wanted = recorded.rows(recorded.ids)
        kept = ~np.isnan(wanted)
        np.testing.assert_allclose(found[kept], wanted[kept], atol=1e-4, err_msg=method)
    twin = given.roles.items("test")[0]
    grown = {
        name: FeatureMatrix(
            np.append(matrix.ids, "new"), matrix.names, np.concatenate([matrix.values, matrix.rows([twin])])
        )
        for name, matrix in given.features.items()
    }
    later = Model.from_arrays(arrays, facts, Parts(grown))
    place = later.places([twin, "new"])
    for matrix in later.learned:
        assert matrix[place[0]] == pytest.approx(matrix[place[1]], abs=1e-6)
    assert len(later.learned) == 3


@pytest.mark.parametrize("method", [*LEARNED_METHODS, "ranknet"])
def test_search_explanation_and_feedback_know_the_learned_dimensions(method: str, fitted: Fitted) -> None:
    given = corners()
    arrays, facts = fitted.model.to_arrays()
    model = Model.from_arrays(arrays, {**facts, "served": method}, Parts(given.features))
    live = LiveRanker(model)
    query = given.roles.items("test")[1]
    vectors = live.vectors(query)
    assert len(vectors) == 2, "one per feature type: what an outside file brings"
    hits = live.search(vectors, 12, leave_out=query)
    scores = model.rank(given.features, [query])[0]
    assert [hit.score for hit in hits[:3]] == pytest.approx(
        np.sort(np.delete(scores, model.places([query])))[:-4:-1], abs=1e-3
    )
    table = live.explain(vectors, hits[2].item)
    assert table["contribution"].sum() == pytest.approx(hits[2].score, abs=1e-3)
    assert "class_probabilities" in set(table["feature"])
    short = Shortlist.build(list(model.rows), dimensions=4, cells=1)
    assert [hit.item for hit in live.search(vectors, 5, shortlist=short)] == [h.item for h in live.search(vectors, 5)]
    last, first = hits[11].item, hits[0].item
    before = dict(zip(live.ids, live.scores(vectors), strict=True))
    live.learn(Feedback(query, (last,), (first,)))
    after = dict(zip(live.ids, live.scores(vectors), strict=True))
    assert after[last] - after[first] > before[last] - before[first]


def test_the_first_learned_cosine_is_the_probability_of_one_class(fitted: Fitted) -> None:
    """Up to a factor per query; an item whose class is unsure is far from all."""
    model = fitted.model
    probabilities = np.array([[0.9, 0.1, 0.0], [0.4, 0.3, 0.3], [0.1, 0.8, 0.1]], np.float32)
    items, asked = as_items(probabilities, None)[0], as_queries(probabilities, None)[0]
    cosines = np.array([phi(query, items)[:, 0] for query in asked])
    lengths = np.linalg.norm(probabilities, axis=1, keepdims=True)
    np.testing.assert_allclose(cosines * lengths, probabilities @ probabilities.T, atol=1e-6)
    kept = model.learned[0]
    np.testing.assert_allclose(np.linalg.norm(kept, axis=1), 1, atol=1e-5)
    np.testing.assert_allclose(kept[:, :-1].sum(axis=1), 1, atol=1e-5)
    assert model.phi_types == ("good", "noise", "class_probabilities", "class_probability_roots", "whitened")
    assert fit(corners(), replace(CONFIG, unlabelled=())).model.phi_types[2:] == model.phi_types[2:4]


def test_blends_that_lose_nothing_elsewhere_are_kept() -> None:
    """By a standard error; where none gains so much, without a loss; where all lose, none."""
    rng = np.random.default_rng(0)
    classes = {f"i{k:02d}": str(k % 4) for k in range(40)}
    same = np.array([[a == b for b in classes.values()] for a in classes.values()], np.float32)
    columns = [same + spread * rng.normal(size=same.shape) for spread in (1.0, 0.5, 50.0)]
    columns += [columns[0] + 0.1 * rng.normal(size=same.shape) for _ in range(20)]
    novel = Validation.of_classes(classes, list(classes), np.stack(columns, axis=2).astype(np.float32))
    own, better, worst, *similar = (FixedWeights(str(k), axis) for k, axis in enumerate(np.eye(23, dtype=np.float32)))
    gains = [novel.precisions(ranker) - novel.precisions(own) for ranker in similar]
    unsure = next(r for r, g in zip(similar, gains, strict=True) if 0 < g.mean() < g.std() / np.sqrt(len(g)))
    assert harmless([worst, unsure, better], own, novel) == [better]
    assert harmless([worst, unsure], own, novel) == [unsure]
    assert harmless([worst], own, novel) == []
    assert harmless([worst], own, None) == [worst]


def test_a_network_over_similarities_is_served_where_it_validates_best() -> None:
    """Two items are of one class where exactly one of two similarities is high: no sum of them can tell."""
    rng = np.random.default_rng(1)
    count = 160
    first, second = rng.choice([-1.0, 1.0], size=(2, count))
    given = corners(count)
    ids = np.array([f"i{k:03d}" for k in range(count)])
    features = {
        name: FeatureMatrix(ids, ("x", "y"), np.column_stack([side, 1.5 + 0 * side]).astype(np.float32))
        for name, side in (("good", first), ("noise", second))
    }
    table = pd.DataFrame({"item": ids, "class": [f"c{int(side)}" for side in first * second]})
    found = fit(
        replace(given, features=features, labels=Labels({"classes": table})),
        replace(CONFIG, methods=("uni_con", "opar2", "ranknet"), instances=4000),
    )
    assert found.model.served == "ranknet"
    hits = LiveRanker(found.model).search([features["good"].values[0], features["noise"].values[0]], 20)
    place = {item: k for k, item in enumerate(ids.tolist())}
    assert np.mean([table["class"][place[hit.item]] == table["class"][0] for hit in hits]) > 0.9


def test_what_is_served_does_not_lose_on_classes_never_seen(fitted: Fitted) -> None:
    """Left-out classes look like known ones at one end, so posteriors alone confuse them."""
    assert CONFIG.new_classes
    known, either = fit(corners(), replace(CONFIG, new_classes=False)).model, fitted.model
    assert known.served in LEARNED_METHODS
    assert known.validation[known.served] == max(known.validation.values())
    assert either.validation[either.served] <= known.validation[known.served]
    assert either.validation[either.served] >= either.validation["uni_con"]


def test_without_classes_the_named_types_count_alike() -> None:
    given = corners()
    model = fit(Inputs(given.features, Labels({}), given.roles), CONFIG).model
    assert model.served == "unlabelled"
    assert model.methods == ("uni_con", "unlabelled")
    assert model.rankers["unlabelled"].ranking_weights.tolist() == [0.25] * 4 + [0.0] * 4
    assert "good" in str(model.warning)
    assert model.learned_types is None


def test_types_that_are_not_compared_count_nowhere() -> None:
    config = Config(features=("gist",), class_scores=("hog", "gist"), unlabelled=("hog",), whitened=("hog", "gist"))
    assert config.class_scores == config.whitened == config.whitened_types == ("gist",)
    assert config.unlabelled == ()
    assert Config(features=("gist", "hog"), unlabelled=("hog",)).whitened_types == ("hog",)


def test_classes_of_test_items_are_not_looked_at(fitted: Fitted) -> None:
    given = corners()
    table = given.labels["classes"].copy()
    secret = table["item"].isin(given.roles.items("test"))
    table.loc[secret, "class"] = table.loc[secret, "class"].to_numpy()[::-1]
    other = fit(replace(given, labels=Labels({"classes": table})), CONFIG)
    for method, scores in fitted.scores.items():
        np.testing.assert_array_equal(scores.scores, other.scores[method].scores, err_msg=method)
