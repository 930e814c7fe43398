"""One command per stage, as `dvc.yaml` calls them: pick the section of params.yaml, run the stage's module."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from mediarank.cli.app import BASELINE, CACHE, DATA, JOURNAL, STAGES, app

FeatureType = Annotated[str, typer.Argument(help="a feature type, as in params.yaml")]
System = Annotated[str, typer.Argument(help="a system, as in params.yaml")]


@app.command(rich_help_panel=STAGES)
def wire(
    check: Annotated[bool, typer.Option("--check", help="leave dvc.yaml alone; stop if it is out of date")] = False,
) -> None:
    """Write dvc.yaml from params.yaml and the imports of the code."""
    from mediarank import config
    from mediarank.stages import wire as stage

    params = config.load()
    params.check()  # every section, so that nothing runs with settings that a later stage refuses
    wanted = params.wanted
    print(stage.run(wanted, DATA) if check else stage.write(wanted))


@app.command(rich_help_panel=STAGES)
def collect() -> None:
    """Bring media and labels into data/raw."""
    from mediarank import config
    from mediarank.ops.versions.kept_shards import KeptShards
    from mediarank.stages.collect import run

    with KeptShards(Path(), f"{DATA}/raw/media") as kept:
        print(run(config.load().collection, DATA, CACHE, kept))


@app.command(rich_help_panel=STAGES)
def manifest() -> None:
    """List the items with their fingerprints and quarantine what can't be used."""
    from mediarank import config
    from mediarank.stages.manifest import run

    print(run(config.load().manifest, DATA, JOURNAL, CACHE))


@app.command("check_manifest", rich_help_panel=STAGES)
def check_manifest() -> None:
    """Stop at a collection that can't be right, before anything is computed from it."""
    from mediarank import config
    from mediarank.stages.check_manifest import run

    print(run(config.load().check_manifest, DATA, BASELINE))


@app.command(rich_help_panel=STAGES)
def frames() -> None:
    """Decode each original once, into working copies."""
    from mediarank import config
    from mediarank.ops.versions.kept_shards import KeptShards
    from mediarank.stages.frames import run

    params = config.load()
    with KeptShards(Path(), f"{DATA}/frames/media") as kept:
        print(run(params.frames, params.manifest.limits, DATA, CACHE, kept))


@app.command(rich_help_panel=STAGES)
def splits() -> None:
    """Decide which items are used for fitting, for choosing and for testing."""
    from mediarank import config
    from mediarank.stages.splits import run

    print(run(config.load().splits, DATA))


@app.command(rich_help_panel=STAGES)
def features(name: FeatureType) -> None:
    """Extract one feature type from the working copies."""
    from mediarank import config
    from mediarank.stages.features import run

    print(run(name, config.load().feature_type(name), DATA, CACHE))


@app.command("check_features", rich_help_panel=STAGES)
def check_features() -> None:
    """Stop at leaking splits and broken features, before anything is fitted to them."""
    from mediarank import config
    from mediarank.stages.check_features import run

    params = config.load()
    print(run(params.features, params.check_features, DATA, BASELINE))


@app.command("base_models", rich_help_panel=STAGES)
def base_models(name: FeatureType) -> None:
    """Train the concept models of one feature type and score every item with them."""
    from mediarank import config
    from mediarank.stages.base_models import run

    print(run(name, config.load().base_models_of(name), DATA))


@app.command(rich_help_panel=STAGES)
def systems(name: System) -> None:
    """Fit one system and rank the test items with it."""
    from mediarank import config
    from mediarank.stages.systems import run

    params = config.load()
    print(run(name, params.system(name), params.reads(name), DATA))


@app.command(rich_help_panel=STAGES)
def evaluation(name: System) -> None:
    """Measure how well a system's methods rank."""
    from mediarank import config
    from mediarank.stages.evaluation import run

    print(run(name, config.load().evaluation, DATA))


@app.command(rich_help_panel=STAGES)
def report() -> None:
    """Write one page that says what can be found, and shows the collection, the checks and every system's results."""
    from mediarank import config
    from mediarank.stages.report import run

    params = config.load()
    print(run(params.systems, params.report, DATA, BASELINE, params.settings))
