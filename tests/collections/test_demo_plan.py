"""The plan of the demo: shares, recipes, names. The default configuration, in milliseconds."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from mediarank.collections.demo.actions import ACTIONS
from mediarank.collections.demo.events import BACKGROUND, EVENTS
from mediarank.collections.demo.plan import MOST_PROPS, DemoConfig, plan_clips, plan_images
from mediarank.collections.demo.props import LOOKALIKES, PROPS
from mediarank.collections.demo.scenes import SCENES
from mediarank.collections.demo.sounds import AMBIENCE, SOUNDS
from mediarank.collections.demo.vocabulary import (
    ATTRIBUTES,
    CLASSES,
    CONCEPTS,
    HOUR_SHARES,
    HOURS,
    WEATHER_SHARES,
    WEATHERS,
    strengths,
)

DEFAULT = DemoConfig()


def test_the_default_is_as_large_as_promised() -> None:
    assert DEFAULT.images >= 600
    assert DEFAULT.clips >= 200
    assert len(CLASSES) == 8
    assert len(CONCEPTS) >= 12
    assert len(EVENTS) == 5


@pytest.mark.parametrize("seed", [7, 8, 2026])
def test_concepts_are_between_one_in_ten_and_one_in_a_hundred(seed: int) -> None:
    plans = plan_images(DemoConfig(seed=seed))
    shown = Counter(concept for plan in plans for concept in plan.concepts * (2 if plan.copied else 1))
    total = len(plans) + sum(plan.copied for plan in plans)
    for concept in CONCEPTS:
        assert 1 / 100 <= shown[concept] / total <= 1 / 10, concept


def test_classes_are_balanced_and_names_unique() -> None:
    plans = plan_images(DEFAULT)
    assert set(Counter(plan.scene for plan in plans).values()) == {DEFAULT.images // len(CLASSES)}
    names = [plan.item_id for plan in plans] + [plan.copy_id for plan in plans if plan.copied]
    assert len(set(names)) == len(names)


def test_what_a_concept_demands_is_met() -> None:
    for plan in plan_images(DEFAULT):
        for name in plan.concepts:
            concept = CONCEPTS[name]
            assert plan.scene in concept.scenes
            assert not concept.hours or plan.hour in concept.hours
            assert not concept.weathers or plan.weather in concept.weathers


def test_decoys_stand_where_the_real_thing_might() -> None:
    scenes: dict[str, set[str]] = {}
    for concept in CONCEPTS.values():
        for decoy in concept.decoys:
            scenes.setdefault(decoy, set()).update(concept.scenes)
    plans = plan_images(DEFAULT)
    assert {decoy for plan in plans for decoy in plan.decoys} == set(scenes) == set(LOOKALIKES)
    for plan in plans:
        assert all(plan.scene in scenes[decoy] for decoy in plan.decoys)
        assert len(plan.concepts) + len(plan.decoys) <= MOST_PROPS


def test_some_pictures_are_grey_or_transparent_and_most_are_not() -> None:
    tones = Counter(plan.tones for plan in plan_images(DEFAULT))
    assert tones["grey"] >= 5
    assert tones["alpha"] >= 5
    assert tones["colour"] > 0.85 * DEFAULT.images


def test_every_event_is_as_frequent_as_the_others_and_background_is_the_largest_group() -> None:
    plans = plan_clips(DEFAULT)
    events = Counter(plan.event for plan in plans)
    assert len({events[event] for event in EVENTS}) == 1
    assert events[""] > 2 * events["ambulance"]
    assert all(2 <= plan.seconds <= 4 for plan in plans)
    assert 4 <= sum(plan.sound is None for plan in plans) <= 20


def test_no_background_clip_is_an_event_in_disguise() -> None:
    signatures = {(a, s) for recipe in EVENTS.values() for a in recipe.actions for s in recipe.sounds}
    for recipe in BACKGROUND:
        for action in recipe.actions:
            for sound in recipe.sounds:
                assert (action, sound) not in signatures, (action, sound)


def test_events_overlap_as_documented() -> None:
    ambulance, van = EVENTS["ambulance"], EVENTS["ice_cream_van"]
    assert (ambulance.scenes, ambulance.actions) == (van.scenes, van.actions)
    assert set(ambulance.sounds).isdisjoint(van.sounds)
    ball, kite = EVENTS["ball_game"], EVENTS["kite_flying"]
    assert {"field", "coast"} <= set(ball.scenes) & set(kite.scenes)
    assert set(ball.actions).isdisjoint(kite.actions)
    heard = {sound for recipe in BACKGROUND for sound in recipe.sounds}
    assert {"siren", "jingle", "thuds", "gusts", "bangs"} <= heard


def test_tables_name_only_what_exists() -> None:
    assert set(PROPS) == set(CONCEPTS)
    assert set(SCENES) == set(CLASSES) == set(HOUR_SHARES)
    assert set(PROPS).isdisjoint(LOOKALIKES)
    for recipe in (*EVENTS.values(), *BACKGROUND):
        assert set(recipe.scenes) <= set(AMBIENCE) <= set(SCENES)
        assert set(recipe.actions) <= set(ACTIONS)
        assert set(recipe.sounds) <= set(SOUNDS)
    for shares, names in [(s, HOURS) for s in HOUR_SHARES.values()] + [(WEATHER_SHARES, WEATHERS)]:
        assert len(shares) == len(names)
        assert sum(shares) == pytest.approx(1)


def test_strengths_read_the_ladder() -> None:
    openness, warmth = strengths("openness"), strengths("warmth")
    assert (openness["interior"], openness["coast"]) == (1, 8)
    assert warmth["coast"] == warmth["skyline"] == 1
    for attribute in ATTRIBUTES:
        assert set(strengths(attribute)) == set(CLASSES)


@settings(max_examples=15, deadline=None)
@given(images=st.integers(8, 60), clips=st.integers(8, 40), copies=st.integers(0, 70), seed=st.integers(0, 2**40))
def test_any_size_can_be_planned(images: int, clips: int, copies: int, seed: int) -> None:
    config = DemoConfig(images=images, clips=clips, copies=copies, seed=seed)
    plans, films = plan_images(config), plan_clips(config)
    assert len(plans) == images
    assert len(films) == clips
    assert sum(plan.copied for plan in plans) == min(copies, images)
    assert {plan.scene for plan in plans} == set(CLASSES)
    assert {plan.event for plan in films} >= set(EVENTS)
    assert plans == plan_images(config)
    assert films == plan_clips(config)


@pytest.mark.parametrize("wrong", [{"images": 7}, {"clips": 0}, {"seed": -1}, {"pictures": 9}])
def test_configuration_refuses_nonsense(wrong: dict[str, int]) -> None:
    with pytest.raises(ValidationError):
        TypeAdapter(DemoConfig).validate_python(wrong)
