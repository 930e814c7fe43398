"""params.yaml as frozen, checked values.

Every package defines the configuration of what it does; here they are put together, one field a section, and read.
A key that nobody knows is refused, with a hint at the nearest known one.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Annotated, Any

import yaml
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, PlainSerializer, TypeAdapter, ValidationError

from mediarank.collections.registry import CollectionConfig
from mediarank.evaluation.measured import EvaluationConfig
from mediarank.features.base import Extractor, LocalExtractor
from mediarank.features.registry import EXTRACTORS
from mediarank.media.frames import FramesConfig
from mediarank.ops.checks import FeatureCheckConfig, ManifestCheckConfig
from mediarank.stages.manifest import ManifestConfig
from mediarank.stages.report import ReportConfig
from mediarank.stages.splits import SplitsConfig
from mediarank.systems.registry import SystemsConfig
from mediarank.types import ConfigError

PARAMS = Path("params.yaml")
FORBIDDEN_KEYS = ("size", "nfiles")
"""DVC leaves keys of these names out of its run-cache key: a changed value would restore old outputs."""


Family = Extractor | LocalExtractor


def build_extractor(value: Any) -> Family:
    """An extractor from its section: `family` chooses the class, the other keys are its fields."""
    if not isinstance(value, Mapping):
        return value  # type: ignore[no-any-return]
    settings = dict(value)
    family = settings.pop("family", None)
    if family not in EXTRACTORS:
        known = ", ".join(sorted(EXTRACTORS))
        raise ValueError(f"family {family!r} is unknown{_hint(str(family), EXTRACTORS)}; known families: {known}")
    try:
        return TypeAdapter(EXTRACTORS[family]).validate_python(settings)
    except ValidationError as error:
        raise ValueError(
            "; ".join(_explain(e, [field.name for field in fields(EXTRACTORS[family])]) for e in error.errors())
        ) from None


def _describe_extractor(extractor: Family) -> dict[str, Any]:
    family = next(name for name, cls in EXTRACTORS.items() if cls is type(extractor))
    settings: dict[str, Any] = TypeAdapter(type(extractor)).dump_python(extractor, mode="json")
    return {"family": family, **settings}


FeatureType = Annotated[Any, BeforeValidator(build_extractor), PlainSerializer(_describe_extractor)]


class Params(BaseModel):
    """The whole of params.yaml; a section bears the name of the stage that reads it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    collection: CollectionConfig = Field(description="where media and labels come from (stage: collect)")
    manifest: ManifestConfig = Field(description="what counts as usable")
    check_manifest: ManifestCheckConfig = Field(description="what stops a run before anything is computed")
    frames: FramesConfig = Field(description="the working copies")
    splits: SplitsConfig = Field(description="which items fit, choose and test")
    features: dict[str, FeatureType] = Field(description="feature types by name: a family and its settings")
    check_features: FeatureCheckConfig = Field(description="what stops a run before anything is fitted")
    systems: SystemsConfig = Field(description="one section a system")
    evaluation: EvaluationConfig = Field(description="how rankings are measured")
    report: ReportConfig = Field(description="what the page shows")


def load(path: Path = PARAMS) -> Params:
    """The effective configuration: what params.yaml says, defaults for the rest."""
    try:
        values = yaml.safe_load(path.read_text())
    except FileNotFoundError:
        raise ConfigError(f"There is no {path} here; run mediarank from the project's folder.") from None
    except yaml.YAMLError as error:
        raise ConfigError(f"{path} is not valid YAML: {error}") from None
    return parse(values, path)


def parse(values: Any, path: Path = PARAMS) -> Params:
    if not isinstance(values, Mapping):
        raise ConfigError(f"{path} must hold one section a stage ({', '.join(Params.model_fields)}).")
    for location in _forbidden(values):
        raise ConfigError(
            f"{path}: {location}: DVC ignores keys named {' or '.join(FORBIDDEN_KEYS)}, so a change would go unseen; "
            "use another name."
        )
    try:
        return Params.model_validate(values)
    except ValidationError as error:
        lines = [_explain(e, _known_keys(e["loc"])) for e in error.errors()]
        raise ConfigError(f"{path} can't be used:\n" + "\n".join(f"  {line}" for line in lines)) from None


def feature_type(params: Params, name: str) -> Family:
    """The configured family behind a feature type's name."""
    if name not in params.features:
        raise ConfigError(f"params.yaml has no feature type {name!r}{_hint(name, params.features)}.")
    family: Family = params.features[name]
    return family


def system_names() -> tuple[str, ...]:
    return tuple(field.name for field in fields(SystemsConfig))


def system(params: Params, name: str) -> Any:
    """The configuration of one system."""
    known = system_names()
    if name not in known:
        raise ConfigError(f"There is no system {name!r}{_hint(name, known)}.")
    return getattr(params.systems, name)


def schema() -> dict[str, Any]:
    """The JSON schema of params.yaml, with the fields of every feature family."""
    whole = Params.model_json_schema()
    families = {name: TypeAdapter(cls).json_schema() for name, cls in EXTRACTORS.items()}
    whole["properties"]["features"]["families"] = families
    return whole


def _forbidden(values: Mapping[str, Any], prefix: str = "") -> list[str]:
    found = [f"{prefix}{key}" for key in values if key in FORBIDDEN_KEYS]
    for key, value in values.items():
        if isinstance(value, Mapping):
            found += _forbidden(value, f"{prefix}{key}.")
    return found


def _explain(error: Any, known: Sequence[str]) -> str:
    where = ".".join(str(part) for part in error["loc"])
    if error["type"] in ("extra_forbidden", "unexpected_keyword_argument"):
        return f"{where} is not a known key{_hint(str(error['loc'][-1]), known)}"
    message = error["msg"].removeprefix("Value error, ")
    return f"{where}: {message}" + (
        "" if error["type"] in ("missing", "value_error") else f" (found {error['input']!r})"
    )


def _hint(word: str, known: Sequence[str] | Mapping[str, Any]) -> str:
    nearest = difflib.get_close_matches(word, list(known), n=1)
    if nearest:
        return f"; did you mean {nearest[0]}?"
    return f"; known: {', '.join(known)}" if known and len(known) <= 12 else ""


def _known_keys(location: Sequence[int | str]) -> list[str]:
    """The keys that are allowed where an unknown one was found."""
    schema: Any = Params.model_json_schema()
    definitions = schema.get("$defs", {})
    for part in location[:-1]:
        schema = schema.get("properties", {}).get(part, {})
        for option in (schema, *schema.get("allOf", ()), *schema.get("anyOf", ())):
            if "$ref" in option:
                schema = definitions[option["$ref"].rsplit("/", 1)[-1]]
                break
    return list(schema.get("properties", {}))
