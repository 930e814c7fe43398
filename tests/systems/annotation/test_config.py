"""Settings of annotation: from params.yaml, and those that make no sense."""

from __future__ import annotations

from dataclasses import replace

import pytest
from made_annotation import QUICK
from pydantic import TypeAdapter, ValidationError

from mediarank.learners.neighbours.keyword_scores import RULES
from mediarank.systems.annotation.config import METHODS, Config
from mediarank.systems.annotation.rankers import RANKERS
from mediarank.types import ConfigError


def test_methods_are_made_of_rankers_and_rules_that_exist() -> None:
    for method in METHODS.values():
        assert method.ranker in RANKERS
        assert set(method.rules) <= set(RULES)


def test_a_section_of_params_yaml() -> None:
    given = {"features": ["lab", "sift"], "distances": {"sift": "chi2"}, "rounds": [100, 200], "methods": ["rnn"]}
    config = TypeAdapter(Config).validate_python(given)
    assert config.measures == ("l1", "chi2")
    assert config.rounds == (100, 200)
    for wrong in ({"distances": {"lab": "emd"}}, {"folds": 1}, {"pairs": [0]}, {"neighbours": 5}):
        with pytest.raises(ValidationError):
            TypeAdapter(Config).validate_python({"features": ["lab"], **wrong})


def test_queries_are_as_many_as_fit() -> None:
    config = replace(QUICK, memory_gib=1.0, queries=5000)
    assert config.queries_among(400) == 400
    assert config.queries_among(20_000) == 5000
    assert config.queries_among(1_000_000) == int(2**30 / 10_000_000)
    assert replace(config, memory_gib=1e-9).queries_among(10) == 1


def test_what_was_chosen_is_all_that_is_left() -> None:
    several = replace(QUICK, pairs=(5, 10), rounds=(1, 2, 3))
    chosen = several.with_only({"pairs": 10, "rounds": 2, "ndcg_depth": 50})
    assert (chosen.pairs, chosen.rounds) == ((10,), (2,))
    assert several.with_only({}) == several


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"methods": ("rnn", "magic")}, "magic"),
        ({"methods": ()}, "methods"),
        ({"methods": ("average",)}, "average"),
        ({"features": ()}, "features"),
        ({"distances": {"gist": "l1"}}, "gist"),
        ({"rounds": ()}, "pairs"),
    ],
)
def test_settings_that_make_no_sense(change: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        replace(QUICK, **change)
