"""The command line. First one command a stage, each of which reads, calls and writes; then what people ask for.

A stage's command is what `dvc.yaml` runs. Imports are inside the commands, so that each pays for its own only.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mediarank import store
from mediarank.types import MediarankError

if TYPE_CHECKING:
    from mediarank.ops.checks import CheckResult

DATA = Path("data")
CACHE = Path(".mediarank/cache")
BASELINE = Path("baseline")

app = typer.Typer(
    no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False, help="Rank image and video collections."
)
STAGES = "Stages (dvc repro runs them in order)"


def main() -> None:
    """Run a command; what we can explain is one message, without a traceback, and exit code 1."""
    try:
        app()
    except MediarankError as error:
        print(f"mediarank: {error}", file=sys.stderr)
        raise SystemExit(1) from None
    except OSError as error:
        print(
            f"mediarank: {error.strerror}: {error.filename or ''}. Nothing was half-written; mend it and run again.",
            file=sys.stderr,
        )
        raise SystemExit(1) from None


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


@app.command(rich_help_panel=STAGES)
def systems(name: Annotated[str, typer.Argument(help="a system, as in params.yaml")]) -> None:
    """Fit one system and let it rank."""
    from mediarank import config
    from mediarank.stages.systems import run_system
    from mediarank.systems.contract import Inputs

    settings = config.load().system(name)
    matrices = {feature: store.read_features(DATA / "features" / feature) for feature in settings.features}
    labels, roles = store.read_labels(DATA / "manifest/labels"), store.read_roles(DATA / "splits/roles.parquet")
    outcome = run_system(name, Inputs(matrices, labels, roles), settings)
    store.write_outcome(DATA / "systems" / name, outcome.arrays, outcome.facts, outcome.scores)


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
                store.read_scores(DATA / "systems" / name), Measured(*store.read_measured(DATA / "evaluation" / name))
            )
            for name in params.systems
        },
        thumbnails(seen, DATA / "frames/media", params.report.thumbnail_side),
        params.report,
    )
    store.write_text(DATA / "report/report.html", page)


@app.command()
def results() -> None:
    """Print how well each system's methods do, and where the report is."""
    from rich.console import Console
    from rich.table import Table

    from mediarank import config

    for name in config.load().systems:
        summary = store.read_measured(DATA / "evaluation" / name)[1]
        view = Table("method", *summary["metric"].unique(), title=name, title_justify="left")
        for method, rows in summary.groupby("method", sort=False):
            view.add_row(str(method), *(f"{mean:.3f}" for mean in rows["mean"]))
        Console().print(view)
    print(f"Report: {DATA / 'report/report.html'}")


@app.command()
def params(schema: Annotated[bool, typer.Option(help="print what may be said instead")] = False) -> None:
    """Print the effective configuration, defaults included, or its JSON schema."""
    import json

    import yaml

    from mediarank import config

    if schema:
        print(json.dumps(config.schema(), indent=2))
    else:
        print(yaml.safe_dump(config.load().check(), sort_keys=False, allow_unicode=True), end="")


@app.command()
def collections(folder: Annotated[Path | None, typer.Argument(help="a folder to recognise")] = None) -> None:
    """List the sources that collection.source can name, or say which one a folder is."""
    from mediarank.collections import registry
    from mediarank.collections.tree import obstacles

    if folder is not None:
        print(registry.recognise(folder))
        for obstacle in obstacles(folder):
            print(f"DVC will stop at {obstacle}")
        return
    for name, line in registry.describe():
        print(f"{name:<12} {line}")


@app.command()
def show(
    file: Annotated[Path, typer.Argument(help="an image, clip or sound")],
    to: Annotated[Path | None, typer.Option(help="where to write the figure; by default beside here, as PNG")] = None,
) -> None:
    """Draw what each feature family sees in a file."""
    from mediarank import config
    from mediarank.features.pictures import explain
    from mediarank.media.frames import FramesConfig
    from mediarank.media.looking import look

    params = config.load() if config.PARAMS.exists() else None
    picture, sound = look(file, params.frames if params else FramesConfig(), params.manifest.limits if params else None)
    target = to or Path(f"{file.stem}.features.png")
    explain(picture, sound).savefig(target)
    print(target)


@app.command()
def cache(
    prune: Annotated[float | None, typer.Option(help="keep at most so many MB of what was used last")] = None,
) -> None:
    """Show what is remembered of working copies and feature vectors, or make it smaller."""
    from mediarank.features.cache import FeatureCache
    from mediarank.media import remembered

    vectors, copies = FeatureCache(CACHE / "features"), CACHE / "frames"
    if prune is not None:
        gone = vectors.prune(int(prune * 1e6)) + remembered.prune(copies, int(prune * 1e6))
        print(f"{gone} entries removed")
    for row in vectors.statistics().itertuples():
        print(f"{row.family:<20} {row.entries:>8} vectors {row.bytes / 1e6:>10.1f} MB")  # type: ignore[operator]
    entries, used = remembered.statistics(copies)
    print(f"{'working copies':<20} {entries:>8} items   {used / 1e6:>10.1f} MB")


@app.command()
def quarantine() -> None:
    """Print what can't be used, and why."""
    from rich.console import Console
    from rich.table import Table

    table = store.read_quarantine(DATA / "frames/quarantine.csv")
    view = Table("what", "item", "where", "reason", title=f"{len(table)} in quarantine")
    for row in table.itertuples(index=False):
        view.add_row(*map(str, row))
    Console().print(view)


@app.command()
def track() -> None:
    """Record this version's results in MLflow; a version is recorded once."""
    from mediarank.ops.tracking import track as run

    print(run(Path.cwd()).summary())


@app.command()
def up() -> None:
    """Start the Prefect server with its schedule and the MLflow UI, on loopback."""
    from mediarank.ops import services

    services.up(Path.cwd())


@app.command()
def down() -> None:
    """Stop what `mediarank up` started."""
    from mediarank.ops import services

    services.down(Path.cwd())
