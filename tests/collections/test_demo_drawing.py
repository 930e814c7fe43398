"""How the demo is drawn: textures, canvas and pen against known answers; every scene, prop, action and sound works."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mediarank.collections.demo.actions import ACTIONS
from mediarank.collections.demo.paint.camera import photograph
from mediarank.collections.demo.paint.canvas import Canvas
from mediarank.collections.demo.paint.light import PALETTES, light_for, mix, vary
from mediarank.collections.demo.paint.pen import Pen
from mediarank.collections.demo.paint.textures import fractal, jagged, receding
from mediarank.collections.demo.props import LOOKALIKES, PROPS
from mediarank.collections.demo.props.cast import Cast
from mediarank.collections.demo.scenes import SCENES
from mediarank.collections.demo.sounds import AMBIENCE, RATE, SOUNDS, mixed
from mediarank.collections.demo.sprites import Sprite, Stage, sparks
from mediarank.collections.demo.vocabulary import CONCEPTS, HOURS, WEATHERS

EVERY_PROP = {**PROPS, **LOOKALIKES}


def blank(height: int = 90, width: int = 120, hour: str = "noon", weather: str = "clear", seed: int = 0) -> Canvas:
    rng = np.random.default_rng(seed)
    canvas = Canvas(rng, height, width, light_for(rng, hour, weather))
    canvas.planes[:] = 0.5
    return canvas


def stage(seed: int = 0, seconds: float = 2.0) -> Stage:
    rng = np.random.default_rng(seed)
    return Stage(rng, 72, 88, light_for(rng, "noon", "clear"), seconds)


def test_fractal_is_centred_and_has_detail_at_every_octave() -> None:
    rng = np.random.default_rng(0)
    coarse, fine = fractal(rng, 128, 160, cells=2, octaves=1), fractal(rng, 128, 160, cells=2, octaves=6)
    assert fine.dtype == np.float32
    assert abs(np.mean([fractal(rng, 64, 64).mean() for _ in range(50)])) < 0.2
    assert np.abs(np.diff(fine)).mean() > 2 * np.abs(np.diff(coarse)).mean()


def test_receding_fades_towards_the_horizon() -> None:
    plane = receding(fractal(np.random.default_rng(0), 64, 64), 60, 80)
    assert plane.shape == (60, 80)
    assert plane[0].std() < 0.2 * plane[30:].std()


@settings(max_examples=20, deadline=None)
@given(length=st.integers(2, 300), decay=st.floats(0.2, 0.8), seed=st.integers(0, 1000))
def test_jagged_stays_within_one(length: int, decay: float, seed: int) -> None:
    line = jagged(np.random.default_rng(seed), length, decay=decay)
    assert line.shape == (length,)
    assert np.abs(line).max() == pytest.approx(1, abs=1e-3)


def test_polygon_covers_its_inside_only() -> None:
    canvas = blank()
    canvas.polygon([(20, 10), (60, 10), (60, 50), (20, 50)], (1.0, 0.0, 0.0), glow=True)
    assert np.allclose(canvas.planes[:, 12:49, 22:59].reshape(3, -1).T, (1.0, 0.0, 0.0), atol=0.02)
    outside = np.ones((90, 120), bool)
    outside[8:53, 18:63] = False
    assert (canvas.planes[:, outside] == 0.5).all()


@settings(max_examples=30, deadline=None)
@given(x=st.floats(-400, 400), y=st.floats(-400, 400), size=st.floats(0.1, 80))
def test_shapes_may_lie_anywhere_and_change_only_what_they_cover(x: float, y: float, size: float) -> None:
    canvas = blank()
    canvas.ellipse(x, y, size, size, (0.0, 1.0, 0.0), glow=True)
    canvas.halo(x, y, size, (0.0, 1.0, 0.0), 0.5)
    canvas.tuft(x, y, size, size, (0.0, 1.0, 0.0))
    rows, columns = np.mgrid[0:90, 0:120]
    far = np.hypot(columns - x, rows - y) > 3 * size + 5
    assert (canvas.planes[:, far] == 0.5).all()
    assert np.isfinite(canvas.planes).all()


def test_opacity_mixes_and_haze_takes_over_with_depth() -> None:
    canvas = blank()
    canvas.polygon([(0, 0), (120, 0), (120, 90), (0, 90)], (1.0, 1.0, 1.0), glow=True, opacity=0.5)
    assert canvas.planes[:, 40, 60] == pytest.approx([0.75] * 3, abs=0.01)
    near, far = canvas.lit((0.1, 0.1, 0.1), 0.0), canvas.lit((0.1, 0.1, 0.1), 1.0)
    haze = np.asarray(canvas.light.haze).reshape(3, 1, 1)
    assert (np.abs(far - haze) < np.abs(near - haze)).all()


def test_pen_turns_scales_and_mirrors() -> None:
    canvas = blank()
    assert Pen(canvas, 10, 50, 20).at([(1, 0.5)])[0] == pytest.approx([30, 40])
    assert Pen(canvas, 10, 50, 20, mirror=True).at([(1, 0.5)])[0] == pytest.approx([-10, 40])
    assert Pen(canvas, 10, 50, 20, angle=np.pi / 2).at([(1, 0)])[0] == pytest.approx([10, 30], abs=1e-4)
    assert Pen(canvas, 10, 50, 20).resized(0.5).at([(1, 0)])[0] == pytest.approx([20, 50])


def test_colours_mix_and_vary_within_bounds() -> None:
    assert mix((0.0, 0.5, 1.0), (1.0, 0.5, 0.0), 0.25) == pytest.approx((0.25, 0.5, 0.75))
    rng = np.random.default_rng(0)
    varied = np.asarray([vary(rng, (0.02, 0.5, 0.98), 0.2) for _ in range(200)])
    assert varied.min() >= 0
    assert varied.max() <= 1
    assert len(np.unique(varied[:, 1])) > 100


def test_night_is_darker_than_noon_and_fog_hazier_than_clear_air() -> None:
    assert np.mean(PALETTES["night"].ambient) < 0.5 * np.mean(PALETTES["noon"].ambient)
    rng = np.random.default_rng(0)
    haze = {w: np.mean([light_for(rng, "noon", w).haze_strength for _ in range(20)]) for w in ("clear", "fog")}
    assert haze["fog"] > haze["clear"] + 0.2


@pytest.mark.parametrize("word", EVERY_PROP)
def test_every_prop_shows_and_is_never_the_same_twice(word: str) -> None:
    def drawn(seed: int) -> np.ndarray:
        canvas = blank(seed=seed)
        EVERY_PROP[word].draw(Pen(canvas, 60, 70, 40))
        return canvas.planes

    first, second = drawn(1), drawn(2)
    assert (np.abs(first - 0.5).max(axis=0) > 0.05).mean() > 0.005
    assert not np.array_equal(first, second)
    assert np.isfinite(first).all()


@pytest.mark.parametrize("name", CONCEPTS)
def test_every_concept_finds_its_place_in_each_of_its_scenes(name: str) -> None:
    concept = CONCEPTS[name]
    for scene in concept.scenes:
        for word in (name, *concept.decoys):
            canvas, cast = blank(seed=3), Cast([EVERY_PROP[word]])
            SCENES[scene](canvas, cast)
            assert not cast.waiting, (scene, word)
            assert word in canvas.words


@pytest.mark.parametrize("scene", SCENES)
def test_every_scene_can_be_painted_in_any_light_and_shape(scene: str) -> None:
    shapes = [(90, 120), (120, 80), (60, 130)]
    for n, (hour, weather) in enumerate((hour, weather) for hour in HOURS for weather in WEATHERS):
        if n % 4:
            continue  # a quarter of all combinations meets every hour and every weather
        canvas = blank(*shapes[n % 3], hour, weather, seed=n)
        SCENES[scene](canvas, Cast())
        assert np.isfinite(canvas.planes).all()
        assert len(canvas.words) >= 2
        picture = photograph(canvas)
        assert picture.dtype == np.uint8
        assert picture.std() > 3


def test_zones_that_a_scene_lacks_leave_the_cast_waiting() -> None:
    cast = Cast([PROPS["boat"]])
    SCENES["interior"](blank(), cast)
    assert [prop.word for prop in cast.waiting] == ["boat"]


def test_sprites_keep_what_shows_through_them() -> None:
    sprite = Sprite(stage(), lambda pen: pen.box(-0.5, 0, 0.5, 1, (1.0, 1.0, 1.0), glow=True), 20, wide=2.0)
    frame = np.full((72, 88, 3), 0.25, np.float32)
    sprite.paste(frame, 44, 60)
    assert frame[50, 44] == pytest.approx([1.0] * 3, abs=0.02)
    assert frame[50, 20] == pytest.approx([0.25] * 3, abs=1e-6)
    before = frame.copy()
    sprite.paste(frame, -500, 60)
    assert np.array_equal(frame, before)


def test_sparks_add_light_where_they_are_and_nowhere_else() -> None:
    frame = np.zeros((20, 30, 3), np.float32)
    sparks(frame, np.asarray([10.0, 99.0, -4.0]), np.asarray([5.0, 5.0, 5.0]), 0.5, (1.0, 0.5, 0.0))
    assert frame[5, 10] == pytest.approx([1.0, 0.5, 0.0])
    assert frame[5, 11] == pytest.approx(frame[4, 10], abs=1e-6)
    assert frame[:, 13:].sum() == frame[:, :8].sum() == 0


@pytest.mark.parametrize("name", ACTIONS)
def test_every_action_moves_and_has_cues_within_the_clip(name: str) -> None:
    scene = stage(seed=5)
    action = ACTIONS[name](scene)
    frames = []
    for time in np.linspace(0, 2, 25):
        frame = np.full((72, 88, 3), 0.5, np.float32)
        action.draw(frame, float(time))
        frames.append(frame)
    assert np.abs(np.diff(frames, axis=0)).max() > 0.05
    assert ((action.cues >= 0) & (action.cues <= scene.seconds)).all()


def test_a_ball_is_lowest_when_its_cue_says_that_it_lands() -> None:
    scene = stage(seed=2, seconds=3.0)
    action = ACTIONS["bouncing"](scene)

    def ball_row(time: float) -> float:
        """Lowest row that the ball reaches, found as what changes between the players."""
        frame = np.zeros((72, 88, 3), np.float32)
        action.draw(frame, time)
        lit = np.argwhere(frame[:, 30:58].sum(axis=2) > 0.05)
        return float(lit[:, 0].max()) if len(lit) else -1.0

    rows = [(ball_row(float(cue)), ball_row(float(cue) + 0.12)) for cue in action.cues]
    seen = [(at, after) for at, after in rows if at >= 0 and after >= 0]
    assert seen
    assert all(at > after for at, after in seen)


@pytest.mark.parametrize("name", SOUNDS)
def test_every_sound_has_its_length_and_is_audible(name: str) -> None:
    sound = SOUNDS[name](np.random.default_rng(1), 2.5, np.asarray([0.5, 1.5], np.float32))
    assert sound.shape == (int(2.5 * RATE),)
    assert sound.dtype == np.float32
    assert np.isfinite(sound).all()
    assert 0.05 < np.abs(sound).max() < 5


@pytest.mark.parametrize(("name", "low", "high"), [("siren", 450, 1400), ("engine", 30, 700), ("birdsong", 1500, 7000)])
def test_sounds_lie_where_they_belong(name: str, low: float, high: float) -> None:
    sound = SOUNDS[name](np.random.default_rng(4), 3.0, np.asarray([1.5], np.float32))
    power = np.abs(np.fft.rfft(sound)) ** 2
    hertz = np.fft.rfftfreq(len(sound), 1 / RATE)
    assert power[(hertz > low) & (hertz < high)].sum() > 0.7 * power.sum()


@pytest.mark.parametrize("name", ["bangs", "thuds", "thunder"])
def test_blows_follow_their_cues(name: str) -> None:
    sound = SOUNDS[name](np.random.default_rng(4), 3.0, np.asarray([1.5], np.float32))
    before, after = sound[int(1.0 * RATE) : int(1.5 * RATE)], sound[int(1.5 * RATE) : int(2.2 * RATE)]
    assert (after**2).mean() > 3 * (before**2).mean()


@pytest.mark.parametrize("scene", AMBIENCE)
def test_mixed_sound_stays_within_the_scale(scene: str) -> None:
    sound = mixed(np.random.default_rng(0), "siren", scene, 2.0, np.asarray([1.0], np.float32))
    assert 0.3 < np.abs(sound).max() <= 0.91
