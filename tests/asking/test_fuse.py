from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from mediarank.asking.fuse import fuse, read_score_table
from mediarank.learners.fusion.fusion_methods import fusion
from mediarank.learners.fusion.recycling import Recycling
from mediarank.types import ConfigError, DataError


def table(seed: int, rows: int, events: tuple[str, ...] = ("",)) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    parts = []
    for event in events:
        shown = np.arange(rows) % 3 == 0
        scores = np.clip(rng.normal(0.3, 0.1, (rows, 2)) + 0.2 * shown[:, None], 0, 1)
        parts.append(
            pd.DataFrame(
                {
                    "item": [f"clip{seed}_{k}" for k in range(rows)],
                    "event": event,
                    "relevant": shown,
                    "motion": scores[:, 0],
                    "sound": scores[:, 1],
                }
            )
        )
    return pd.concat(parts, ignore_index=True)


def test_it_is_the_learner_applied_event_by_event() -> None:
    source, target, clips = (table(k, n, ("dance", "race")) for k, n in ((0, 30), (1, 12), (2, 9)))
    fused = fuse(source, target, clips, "recycling")
    assert fused.scores["event"].tolist() == ["dance"] * 9 + ["race"] * 9
    assert (fused.scores.groupby("event")["score"].diff().dropna() <= 0).all(), "the best first"
    columns = ["motion", "sound"]
    learned, seen, asked = (t[t["event"] == "race"] for t in (source, target, clips))
    oracle = Recycling().fit(learned[columns], learned["relevant"], seen[columns], seen["relevant"])
    expected = dict(zip(asked["item"], oracle.predict(asked[columns]), strict=True))
    got = fused.scores[fused.scores["event"] == "race"].set_index("item")["score"].to_dict()
    assert got == pytest.approx(expected)
    weights = fused.weights.set_index("event").loc["race"]
    assert [weights["motion"], weights["sound"], weights["bias"]] == pytest.approx(
        [*oracle.weights_, float(oracle.bias_)]
    )


def test_out_of_fold_scores_come_in_a_table_of_their_own_and_are_joined_by_item() -> None:
    source, target, clips = table(0, 30), table(1, 12), table(2, 9)
    held_out = source.assign(motion=source["motion"] * 0.9, sound=source["sound"] * 0.8)
    shuffled = held_out.sample(frac=1, random_state=0)
    columns = ["motion", "sound"]
    for method, examples in (("out_of_fold", held_out[columns]), ("blended_log_odds", None)):
        found = fuse(source, target, clips, method, shuffled).weights.iloc[0]
        if examples is None:
            examples = np.concatenate([source[columns], held_out[columns]], axis=1)
        oracle = fusion(method).make().fit(examples, source["relevant"], target[columns], target["relevant"])
        assert [found["motion"], found["sound"]] == pytest.approx(oracle.weights_.tolist())
        with pytest.raises(DataError, match="give a table"):
            fuse(source, target, clips, method)
    with pytest.raises(DataError, match="out-of-fold scores"):
        fuse(source, target, clips, "log_odds", held_out.iloc[1:])


def test_columns_are_found_by_name() -> None:
    source, target, clips = table(0, 30), table(1, 12), table(2, 9)
    turned = clips[["sound", "item", "motion", "event"]]
    pd.testing.assert_frame_equal(
        fuse(source, target, turned, "naive").scores, fuse(source, target, clips, "naive").scores
    )


def test_tables_that_do_not_fit_are_explained() -> None:
    source, target, clips = table(0, 30), table(1, 12), table(2, 9)
    with pytest.raises(DataError, match="lacks the column"):
        fuse(source, target.drop(columns="sound"), clips, "naive")
    with pytest.raises(DataError, match="smell"):
        fuse(source, target.assign(smell=0.0), clips, "naive")
    with pytest.raises(DataError, match="'race'"):
        fuse(source, target, clips.assign(event="race"), "naive")
    with pytest.raises(ConfigError, match="out_of_fold"):
        fuse(source, target, clips, "stack")


def test_a_table_is_read_with_and_without_events_and_labels(tmp_path: Path) -> None:
    path = tmp_path / "scores.csv"
    path.write_text("item,relevant,motion\na,1,0.5\nb,no,1e-3\n")
    read = read_score_table(path, labelled=True)
    assert list(read.columns) == ["item", "event", "relevant", "motion"]
    assert read["relevant"].tolist() == [True, False]
    assert read["motion"].tolist() == [0.5, 0.001]
    path.write_text("item,event,motion\na,x,0.5\na,y,0.1\n")
    assert read_score_table(path, labelled=False)["event"].tolist() == ["x", "y"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("item,relevant,motion\na,1,loud\n", "line 2: motion must be a finite number, not 'loud'"),
        ("item,relevant,motion\na,1,\n", "line 2: motion"),
        ("item,relevant,motion\na,1,inf\n", "finite"),
        ("item,relevant,motion\na,1,0\nb,2,0\n", "line 3: relevant must be 1 or 0, not '2'"),
        ("item,relevant,motion\na,1,0\na,0,0\n", "more than once"),
        ("item,relevant\na,1\n", "one column of scores"),
        ("item,relevant,motion\n", "one row"),
        ("clip,relevant,motion\na,1,0\n", "item"),
        ("", "can't be read"),
    ],
)
def test_what_is_wrong_with_a_file_is_reported(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "scores.csv"
    path.write_text(text)
    with pytest.raises(DataError, match=said):
        read_score_table(path, labelled=True)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="nowhere"):
        read_score_table(tmp_path / "nowhere.csv", labelled=True)


def test_validated_chooses_among_what_the_tables_allow() -> None:
    source, target, clips = (table(k, n, ("dance", "race")) for k, n in ((0, 30), (1, 24), (2, 9)))
    fused = fuse(source, target, clips, "validated")
    assert fused.method == max(fused.validation, key=lambda name: fused.validation[name])
    assert "recycling" in fused.validation
    assert "out_of_fold" not in fused.validation, "there is no table for it"
    pd.testing.assert_frame_equal(fused.scores, fuse(source, target, clips, fused.method).scores)
    assert "out_of_fold" in fuse(source, target, clips, "validated", source).validation
    with pytest.raises(DataError, match="name a method"):
        fuse(source, target.assign(relevant=False), clips, "validated")
