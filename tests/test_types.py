"""Each contract refuses what would break the stages after it."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from mediarank.labels import LABEL_ITEMS, LABEL_KEYS, LABEL_TABLES, Labels
from mediarank.types import MANIFEST_COLUMNS, DataError, FeatureMatrix, Judgments, Manifest, Roles


def manifest_row(item: str, **changes: object) -> dict[str, object]:
    row = dict.fromkeys(MANIFEST_COLUMNS, "") | {"item_id": item, "path": item, "kind": "image", "status": "ok"}
    return row | {"width": 4, "height": 3, "seconds": 0.0, "fps": 0.0, "has_sound": False, "group_id": item} | changes


def manifest(*rows: dict[str, object]) -> Manifest:
    return Manifest(pd.DataFrame(list(rows), columns=list(MANIFEST_COLUMNS)))


def test_a_manifest_tells_usable_from_quarantined() -> None:
    made = manifest(manifest_row("a"), manifest_row("b", status="quarantined", reason="zero bytes"))
    assert list(made.usable["item_id"]) == ["a"]
    assert list(made.quarantined["item_id"]) == ["b"]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([manifest_row("a"), manifest_row("a")], "more than once, such as a"),
        ([manifest_row("b"), manifest_row("a")], "sorted"),
        ([manifest_row("a", kind="hologram")], "hologram"),
        ([manifest_row("a", status="odd")], "odd"),
        ([manifest_row("a", status="quarantined")], "no reason"),
    ],
)
def test_a_manifest_refuses(rows: list[dict[str, object]], message: str) -> None:
    with pytest.raises(DataError, match=message):
        manifest(*rows)


def test_a_manifest_needs_its_columns() -> None:
    with pytest.raises(DataError, match="lacks the column"):
        Manifest(pd.DataFrame({"item_id": ["a"]}))


def roles_table(**columns: list[object]) -> pd.DataFrame:
    whole: dict[str, list[object]] = {
        "item_id": ["a", "b"],
        "group_id": ["g", "g"],
        "role": ["base"] * 2,
        "fold": [0, 0],
    }
    return pd.DataFrame(whole | columns)


def test_roles_list_items() -> None:
    roles = Roles(roles_table(group_id=["g", "h"], role=["base", "test"]))
    assert roles.items("test") == ["b"]
    assert roles.items("base", "test") == ["a", "b"]


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"role": ["base", "test"]}, "1 groups straddle roles, such as g"),
        ({"fold": [0, 1]}, "straddle folds"),
        ({"role": ["train", "train"]}, "train"),
        ({"item_id": ["a", "a"]}, "more than once"),
    ],
)
def test_roles_refuse(columns: dict[str, list[object]], message: str) -> None:
    with pytest.raises(DataError, match=message):
        Roles(roles_table(**columns))


def test_rows_are_found_by_id_not_by_position() -> None:
    matrix = FeatureMatrix(np.array(["a", "b"]), ("x",), np.array([[1], [2]], dtype=np.float32))
    assert matrix.rows(["b", "a", "b"]).ravel().tolist() == [2, 1, 2]
    assert "a" in matrix
    assert "c" not in matrix
    with pytest.raises(DataError, match="1 of 2 ids have no row in this matrix, such as c"):
        matrix.rows(["a", "c"])


@pytest.mark.parametrize(
    ("ids", "names", "values", "message"),
    [
        (["a", "a"], ("x",), np.zeros((2, 1), np.float32), "more than once"),
        (["a", "b"], ("x", "x"), np.zeros((2, 2), np.float32), "more than once"),
        (["a"], ("x",), np.zeros((2, 1), np.float32), "shape"),
        (["a"], ("x",), np.zeros((1, 1), np.float64), "float32"),
    ],
)
def test_a_feature_matrix_refuses(ids: list[str], names: tuple[str, ...], values: np.ndarray, message: str) -> None:
    with pytest.raises(DataError, match=message):
        FeatureMatrix(np.array(ids), names, values)


def test_values_that_are_not_finite_are_named() -> None:
    values = np.zeros((5, 2), np.float32)
    values[3, 1] = np.nan
    matrix = FeatureMatrix(np.array(list("abcde")), ("x", "y"), values)
    with pytest.raises(DataError, match="such as d"):
        matrix.require_finite(block=2)


def test_judgments_from_classes_leave_the_query_out() -> None:
    judgments = Judgments.from_classes({"a": "coast", "b": "coast", "c": "forest"}, ["a", "c"])
    assert dict(judgments) == {"a": {"b": 1.0}, "c": {}}
    assert judgments.grades("a", ["c", "b", "a"]).tolist() == [0, 1, 0]


def test_judgments_from_pairs() -> None:
    judgments = Judgments.from_pairs([("boat", "a"), ("boat", "b"), ("tent", "b")], ["a", "b", "c"])
    assert judgments.queries == ("boat", "tent")
    assert judgments.grades("tent", ["a", "b", "c"]).tolist() == [0, 1, 0]


@pytest.mark.parametrize(
    ("relevant", "message"),
    [
        ({"tent": {"a": 1.0}}, "not among the queries"),
        ({"boat": {"z": 1.0}}, "not among the candidates"),
        ({"boat": {"a": 0.0}}, "positive"),
        ({"boat": {"a": float("nan")}}, "finite"),
    ],
)
def test_judgments_refuse(relevant: dict[str, dict[str, float]], message: str) -> None:
    with pytest.raises(DataError, match=message):
        Judgments(("boat",), ("a",), relevant)


def test_labels_have_every_table_and_refuse_unknown_ones() -> None:
    labels = Labels({"classes": pd.DataFrame({"item": ["a", "b"], "class": ["coast", "forest"]})})
    assert labels["keywords"].empty
    assert list(labels.restricted_to(["a"])["classes"]["item"]) == ["a"]
    with pytest.raises(DataError, match="moods"):
        Labels({"moods": pd.DataFrame()})
    with pytest.raises(DataError, match=r"labels/classes.csv lacks the column\(s\) class"):
        Labels({"classes": pd.DataFrame({"item": ["a"]})})


def test_orderings_of_classes_survive_a_restriction_of_items() -> None:
    labels = Labels(
        {
            "classes": pd.DataFrame({"item": ["a", "b"], "class": ["coast", "forest"]}),
            "orderings": pd.DataFrame({"attribute": "open", "target": ["coast", "b", "z"], "strength": [1, 2, 3]}),
        }
    )
    assert list(labels.restricted_to(["b"])["orderings"]["target"]) == ["coast", "b"]


def test_a_pair_survives_only_with_both_items() -> None:
    pairs = pd.DataFrame({"attribute": "open", "first": ["a", "a"], "second": ["b", "c"], "relation": [">", "="]})
    assert list(Labels({"pairs": pairs}).restricted_to(["a", "c"])["pairs"]["second"]) == ["c"]


def test_a_split_may_leave_its_fold_out() -> None:
    labels = Labels({"splits": pd.DataFrame({"item": ["a"], "role": ["base"]})})
    assert labels["splits"]["fold"].tolist() == [""]


def test_all_items_may_be_queries_unless_some_are_named() -> None:
    assert Labels({}).queries_among(["b", "a"]) == ["b", "a"]
    assert Labels({"queries": pd.DataFrame({"item": ["a", "z"]})}).queries_among(["b", "a"]) == ["a"]


def test_every_label_table_says_what_it_speaks_of() -> None:
    assert set(LABEL_KEYS) == set(LABEL_ITEMS) == set(LABEL_TABLES)
    for name, columns in LABEL_TABLES.items():
        assert set(LABEL_ITEMS[name]) <= set(LABEL_KEYS[name]) <= set(columns)
