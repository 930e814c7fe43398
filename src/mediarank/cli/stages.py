"""One command a stage, each of which reads, calls and writes. They are what `dvc.yaml` runs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mediarank import store
from mediarank.cli.app import BASELINE, CACHE, DATA, STAGES, app

if TYPE_CHECKING:
    from mediarank.ops.checks import CheckResult


@app.command(rich_help_panel=STAGES)
def collect() -> None:
    """Bring media and labels into data/raw."""
    from mediarank import config
    from mediarank.stages.collect import collect as run

    print(run(config.load().collection, DATA / "raw"))


@app.command(rich_help_panel=STAGES)
def manifest() -> None:
    """List the items, fingerprint them, quarantine what can't be used."""
    from mediarank import config
    from mediarank.stages.manifest import build_manifest

    labels = store.read_labels(DATA / "raw/labels")
    items, kept, quarantine = build_manifest(DATA / "raw/media", labels, config.load().manifest)
    store.write_manifest(DATA / "manifest/manifest.parquet", items)
    store.write_labels(DATA / "manifest/labels", kept)
    store.write_csv(DATA / "manifest/quarantine.csv", quarantine)
    print(f"{len(items.usable)} usable items; {len(quarantine)} rows in quarantine")


def _record_check(folder: Path, result: CheckResult) -> None:
    """Write the verdict, and `passed` only if it is one: what comes after waits for that, not for the details."""
    store.write_json(folder / "result.json", result.to_json())
    result.raise_if_failed()
    store.write_text(folder / "passed", "passed\n")
    print(result.explain() or "all expectations hold")


@app.command("check_manifest", rich_help_panel=STAGES)
def check_manifest() -> None:
    """Refuse a collection that can't be right, before anything is computed from it."""
    from mediarank import config
    from mediarank.stages.check_manifest import check_manifest as run

    folder = DATA / "manifest"
    items, labels = store.read_manifest(folder / "manifest.parquet"), store.read_labels(folder / "labels")
    refused, before = (
        store.read_quarantine(folder / "quarantine.csv"),
        store.read_json(BASELINE / "check_manifest.json"),
    )
    result = run(items, labels, refused, before, config.load().check_manifest)
    _record_check(DATA / "check_manifest", result)


@app.command(rich_help_panel=STAGES)
def frames() -> None:
    """Decode each original once, into working copies."""
    from mediarank import config
    from mediarank.stages.frames import build_frames

    params = config.load()
    items = store.read_manifest(DATA / "manifest/manifest.parquet")
    quarantine = store.read_quarantine(DATA / "manifest/quarantine.csv")
    with store.atomic_folder(DATA / "frames/media") as target:
        made = build_frames(items, DATA / "raw/media", target, params.frames, params.manifest.limits, CACHE / "frames")
    store.write_table(DATA / "frames/frames.parquet", made.frames)
    store.write_table(DATA / "frames/sounds.parquet", made.sounds)
    store.write_csv(DATA / "frames/quarantine.csv", made.added_to(quarantine))
    print(f"{len(made.frames)} pictures and {len(made.sounds)} sounds; {len(made.failures)} more in quarantine")


@app.command(rich_help_panel=STAGES)
def splits() -> None:
    """Decide which items fit, choose and test."""
    from mediarank import config
    from mediarank.stages.splits import assign_roles, usable_items

    folder = DATA / "frames"
    seen, heard = store.read_table(folder / "frames.parquet"), store.read_table(folder / "sounds.parquet")
    items = usable_items(store.read_manifest(DATA / "manifest/manifest.parquet"), seen, heard)
    roles, warnings = assign_roles(items, store.read_labels(DATA / "manifest/labels"), config.load().splits)
    store.write_roles(DATA / "splits/roles.parquet", roles)
    print("\n".join([*(f"warning: {w}" for w in warnings), str(roles.table["role"].value_counts().to_dict())]))


@app.command(rich_help_panel=STAGES)
def features(name: Annotated[str, typer.Argument(help="a feature type, as in params.yaml")]) -> None:
    """Extract one feature type from the working copies."""
    from mediarank import config
    from mediarank.features.cache import FeatureCache
    from mediarank.stages.features import extract

    folder = DATA / "frames"
    seen, heard = store.read_table(folder / "frames.parquet"), store.read_table(folder / "sounds.parquet")
    roles = store.read_roles(DATA / "splits/roles.parquet")
    family = config.load().feature_type(name)
    matrix = extract(family, seen, heard, folder / "media", roles, FeatureCache(CACHE / "features"))
    store.write_features(DATA / "features" / name, matrix)
    print(f"{name}: {len(matrix)} rows of {len(matrix.names)} dimensions")


@app.command("check_features", rich_help_panel=STAGES)
def check_features() -> None:
    """Refuse leaking splits and broken features, before anything is fitted to them."""
    from mediarank import config
    from mediarank.stages.check_features import check_features as run

    params = config.load()
    result = run(
        {name: store.read_features(DATA / "features" / name) for name in params.features},
        params.features,
        store.read_table(DATA / "frames/frames.parquet"),
        store.read_table(DATA / "frames/sounds.parquet"),
        store.read_roles(DATA / "splits/roles.parquet"),
        store.read_manifest(DATA / "manifest/manifest.parquet"),
        store.read_labels(DATA / "manifest/labels"),
        store.read_json(BASELINE / "check_features.json"),
        params.check_features,
    )
    _record_check(DATA / "check_features", result)


@app.command("base_models", rich_help_panel=STAGES)
def base_models(name: Annotated[str, typer.Argument(help="a feature type, as in params.yaml")]) -> None:
    """Train the concept models of one feature type, and let them score every item."""
    from mediarank import config
    from mediarank.stages.base_models import fit_base_models

    params = config.load()
    matrix = store.read_features(DATA / "features" / name)
    labels, roles = store.read_labels(DATA / "manifest/labels"), store.read_roles(DATA / "splits/roles.parquet")
    arrays, facts, scores = fit_base_models(name, matrix, labels, roles, params.base_models_of(name))
    store.write_outcome(DATA / "base_models" / name, arrays, facts, {"normalised": scores})
    print(f"{name}: {len(scores.names)} models")


@app.command(rich_help_panel=STAGES)
def systems(name: Annotated[str, typer.Argument(help="a system, as in params.yaml")]) -> None:
    """Fit one system and let it rank."""
    from mediarank import config
    from mediarank.base_models.pool import SVMPool
    from mediarank.stages.systems import run_system
    from mediarank.systems.contract import Inputs

    settings = config.load().system(name)
    wanted, built_on = getattr(settings, "features", ()), getattr(settings, "base_models", ())
    matrices = {feature: store.read_features(DATA / "features" / feature) for feature in wanted}
    labels, roles = store.read_labels(DATA / "manifest/labels"), store.read_roles(DATA / "splits/roles.parquet")
    pools, scores = {}, {}
    for feature in built_on:
        folder = DATA / "base_models" / feature
        pools[feature] = SVMPool.from_arrays(
            store.read_arrays(folder / "model.npz"), store.read_json(folder / "model.json")
        )
        scores[feature] = store.read_features(folder / "scores/normalised")
    outcome = run_system(name, Inputs(matrices, labels, roles, pools, scores), settings)
    store.write_outcome(DATA / "systems" / name, outcome.arrays, outcome.facts, outcome.scores)
    if "skipped" in outcome.facts:
        print(f"{name} has nothing to do: {outcome.facts['skipped']}")


@app.command(rich_help_panel=STAGES)
def evaluation(name: Annotated[str, typer.Argument(help="a system, as in params.yaml")]) -> None:
    """Measure how well a system's methods rank."""
    from mediarank import config
    from mediarank.stages.evaluation import evaluate

    params = config.load()
    labels = store.read_labels(DATA / "manifest/labels")
    measured = evaluate(name, store.read_scores(DATA / "systems" / name), labels, params.evaluation)
    folder = DATA / "evaluation" / name
    store.write_measured(folder, measured.metrics, measured.summary, measured.per_query, measured.curves)


@app.command(rich_help_panel=STAGES)
def report() -> None:
    """Write one page that shows it all."""
    from mediarank import config
    from mediarank.evaluation.measured import Measured
    from mediarank.stages.report import SystemResult, build_report, thumbnails

    params = config.load()
    seen = store.read_table(DATA / "frames/frames.parquet")
    page = build_report(
        store.read_manifest(DATA / "manifest/manifest.parquet"),
        store.read_labels(DATA / "manifest/labels"),
        store.read_quarantine(DATA / "frames/quarantine.csv"),
        store.read_roles(DATA / "splits/roles.parquet"),
        {stage: store.read_json(DATA / stage / "result.json") for stage in ("check_manifest", "check_features")},
        {
            name: SystemResult(
                store.read_scores(DATA / "systems" / name),
                Measured(*store.read_measured(DATA / "evaluation" / name)),
                store.read_json(DATA / "systems" / name / "model.json"),
            )
            for name in params.systems
        },
        thumbnails(seen, DATA / "frames/media", params.report.thumbnail_side),
        params.report,
    )
    store.write_text(DATA / "report/report.html", page)
