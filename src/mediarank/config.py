"""params.yaml as frozen, checked values.

Every package defines its own configuration as a frozen dataclass; here they are put together, one property per
section. A section is checked when it is first read, so that a stage imports and validates only what it uses;
`Params.check` reads all of them. Unknown keys are refused, with the nearest known key as a hint. Pretrained
networks are left out of all sections unless the file says `pretrained: true`.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import yaml
from pydantic import TypeAdapter, ValidationError

from mediarank import pretrained
from mediarank.types import ConfigError

if TYPE_CHECKING:
    from mediarank.base_models.svm import SVMConfig
    from mediarank.collections.sources import CollectionConfig
    from mediarank.evaluation.measured import EvaluationConfig
    from mediarank.features.base import Extractor, LocalExtractor
    from mediarank.media.frames import FramesConfig
    from mediarank.ops.checks import FeatureCheckConfig, ManifestCheckConfig
    from mediarank.ops.models.promotion_config import PromotionConfig
    from mediarank.stages.manifest import ManifestConfig
    from mediarank.stages.report import ReportConfig
    from mediarank.stages.splits import SplitsConfig
    from mediarank.stages.wire import Wanted
    from mediarank.systems.model import Needs

PARAMS: Final = Path("params.yaml")
SECTIONS: Final = (
    "collection", "manifest", "check_manifest", "frames", "splits", "features", "check_features",
    "base_models", "systems", "evaluation", "report", "promotion",
)  # fmt: skip
STAGE_SECTIONS: Final = frozenset(SECTIONS) - {"promotion"}
FORBIDDEN_KEYS: Final = ("size", "nfiles")
"""DVC leaves keys of these names out of its run-cache key: a changed value would restore old outputs."""

Settings = TypeVar("Settings")


@dataclass(frozen=True)
class Params:
    """The sections of params.yaml, each under the name of the stage that reads it."""

    values: Mapping[str, Any]
    path: Path = PARAMS

    def __post_init__(self) -> None:
        if not isinstance(self.values, Mapping):
            raise ConfigError(f"{self.path} must hold one section per stage ({', '.join(SECTIONS)}).")
        object.__setattr__(self, "values", pretrained.effective(self.values))
        for key in self.values:
            if key not in (*SECTIONS, pretrained.KEY):
                raise ConfigError(f"{self.path}: {key} is not a known section{_hint(key, SECTIONS)}")
        for location in _forbidden(self.values):
            raise ConfigError(
                f"{self.path}: {location}: DVC ignores keys named {' or '.join(FORBIDDEN_KEYS)}, so it would not "
                "notice a change; use another name."
            )

    @cached_property
    def collection(self) -> CollectionConfig:
        from mediarank.collections.sources import CollectionConfig

        return self._section("collection", CollectionConfig)

    @cached_property
    def manifest(self) -> ManifestConfig:
        from mediarank.stages.manifest import ManifestConfig

        return self._section("manifest", ManifestConfig)

    @cached_property
    def check_manifest(self) -> ManifestCheckConfig:
        from mediarank.ops.checks import ManifestCheckConfig

        return self._section("check_manifest", ManifestCheckConfig)

    @cached_property
    def frames(self) -> FramesConfig:
        from mediarank.media.frames import FramesConfig

        return self._section("frames", FramesConfig)

    @cached_property
    def splits(self) -> SplitsConfig:
        from mediarank.stages.splits import SplitsConfig

        return self._section("splits", SplitsConfig)

    @cached_property
    def features(self) -> dict[str, Extractor | LocalExtractor]:
        """Feature types by name; `family` chooses the class, the other keys are its fields."""
        from mediarank.features.families import EXTRACTORS

        made = {}
        for name, values in dict(self.values.get("features") or {}).items():
            settings = dict(values) if isinstance(values, Mapping) else {}
            family = settings.pop("family", None)
            if family not in EXTRACTORS:
                known = f"{_hint(str(family), EXTRACTORS)} Known families: {', '.join(sorted(EXTRACTORS))}"
                raise ConfigError(f"{self.path}: features.{name}: family {family!r} is unknown{known}")
            made[name] = self._checked(f"features.{name}", EXTRACTORS[family], settings)
        return made

    @property
    def families(self) -> dict[str, str]:
        """Feature type -> the name of its family."""
        given = dict(self.values.get("features") or {})
        return {name: str(values.get("family")) for name, values in given.items() if isinstance(values, Mapping)}

    @cached_property
    def check_features(self) -> FeatureCheckConfig:
        from mediarank.ops.checks import FeatureCheckConfig

        return self._section("check_features", FeatureCheckConfig)

    @cached_property
    def base_models(self) -> dict[str, SVMConfig]:
        """How the concept models of each feature type are trained."""
        from mediarank.base_models.svm import SVMConfig

        given = dict(self.values.get("base_models") or {})
        return {name: self._checked(f"base_models.{name}", SVMConfig, values or {}) for name, values in given.items()}

    @property
    def settings(self) -> dict[str, Any]:
        """All sections that stages read, as they are in the file."""
        return {section: self.values[section] for section in SECTIONS if section in STAGE_SECTIONS & self.values.keys()}

    @property
    def systems(self) -> tuple[str, ...]:
        """The names of the systems to run, in the order of the file."""
        return tuple(self.values.get("systems") or {})

    def system(self, name: str) -> Any:
        """The configuration of one system."""
        from mediarank.systems.registry import SYSTEMS, config_of

        if name not in self.systems or name not in SYSTEMS:
            raise ConfigError(f"{self.path}: there is no system {name!r}{_hint(name, [*SYSTEMS])}")
        return self._checked(f"systems.{name}", config_of(name), self.values["systems"][name] or {})

    def reads(self, name: str) -> Needs:
        """The feature types and base models that a system's stage opens; each must be in this file."""
        from mediarank.systems.registry import reads

        known = {section: tuple(self.values.get(section) or {}) for section in ("features", "base_models")}
        needs = reads(self.system(name), known["features"], known["base_models"])
        for section, wanted in (("features", needs.features), ("base_models", needs.base_models)):
            for missing in (entry for entry in wanted if entry not in known[section]):
                raise ConfigError(
                    f"{self.path}: systems.{name} reads {section}.{missing}, which is not in the file"
                    f"{_hint(missing, known[section])}"
                )
        return needs

    @property
    def wanted(self) -> Wanted:
        """What decides which stages dvc.yaml has and what they read."""
        from mediarank.stages.wire import Wanted

        families = {name: type(family).__module__ for name, family in self.features.items()}
        systems = {name: self.reads(name) for name in self.systems}
        axes = {name: found for name in systems if (found := getattr(self.system(name), "curve_axes", None))}
        return Wanted(families, tuple(self.base_models), systems, tuple(self.settings), axes)

    @cached_property
    def evaluation(self) -> EvaluationConfig:
        from mediarank.evaluation.measured import EvaluationConfig

        return self._section("evaluation", EvaluationConfig)

    @cached_property
    def report(self) -> ReportConfig:
        from mediarank.stages.report import ReportConfig

        return self._section("report", ReportConfig)

    @cached_property
    def promotion(self) -> PromotionConfig:
        from mediarank.ops.models.promotion_config import PromotionConfig

        return self._section("promotion", PromotionConfig)

    def base_models_of(self, feature: str) -> SVMConfig:
        """How the concept models of a feature type are trained."""
        if feature not in self.base_models:
            raise ConfigError(f"{self.path} has no base_models.{feature}{_hint(feature, self.base_models)}")
        return self.base_models[feature]

    def feature_type(self, name: str) -> Extractor | LocalExtractor:
        """The configured family behind a feature type's name."""
        if name not in self.features:
            raise ConfigError(f"{self.path} has no feature type {name!r}{_hint(name, self.features)}")
        return self.features[name]

    def check(self) -> dict[str, Any]:
        """All sections, checked, as plain values with defaults, in the order of SECTIONS."""
        from mediarank.features.families import EXTRACTORS

        family_of = {cls: family for family, cls in EXTRACTORS.items()}
        whole: dict[str, Any] = {pretrained.KEY: bool(self.values.get(pretrained.KEY))}
        for section in SECTIONS:
            if section == "features":
                whole[section] = {n: {"family": family_of[type(f)], **_plain(f)} for n, f in self.features.items()}
            elif section == "base_models":
                whole[section] = {name: _plain(settings) for name, settings in self.base_models.items()}
            elif section == "systems":
                whole[section] = {name: _plain(self.system(name)) for name in self.systems}
            else:
                whole[section] = _plain(getattr(self, section))
        return whole

    def _section(self, name: str, kind: type[Settings]) -> Settings:
        return self._checked(name, kind, self.values.get(name) or {})

    def _checked(self, name: str, kind: type[Settings], values: Any) -> Settings:
        try:
            return TypeAdapter(kind).validate_python(values)
        except ValidationError as error:
            lines = "\n".join(f"  {name}.{_explain(e, kind)}" for e in error.errors())
            raise ConfigError(f"{self.path} can't be used:\n{lines}") from None


def load(path: Path = PARAMS) -> Params:
    try:
        return Params(yaml.safe_load(path.read_text()), path)
    except FileNotFoundError:
        raise ConfigError(f"There is no {path} here. Run mediarank in the project's folder.") from None
    except yaml.YAMLError as error:
        raise ConfigError(f"{path} is not valid YAML: {error}") from None


def schema() -> dict[str, Any]:
    """What params.yaml may hold: the JSON schema of each section, feature family and system."""
    from mediarank.base_models.svm import SVMConfig
    from mediarank.features.families import EXTRACTORS
    from mediarank.systems.registry import SYSTEMS, config_of

    whole: dict[str, Any] = {pretrained.KEY: {"type": "boolean", "default": False}}
    for section in SECTIONS:
        if section == "features":
            whole[section] = {family: TypeAdapter(cls).json_schema() for family, cls in EXTRACTORS.items()}
        elif section == "base_models":
            whole[section] = TypeAdapter(SVMConfig).json_schema()
        elif section == "systems":
            whole[section] = {name: TypeAdapter(config_of(name)).json_schema() for name in SYSTEMS}
        else:
            whole[section] = TypeAdapter(type(getattr(Params({}), section))).json_schema()
    return whole


def _plain(settings: Any) -> dict[str, Any]:
    plain: dict[str, Any] = TypeAdapter(type(settings)).dump_python(settings, mode="json")
    return plain


def _forbidden(values: Mapping[str, Any], prefix: str = "") -> list[str]:
    found = [f"{prefix}{key}" for key in values if key in FORBIDDEN_KEYS]
    for key, value in values.items():
        if isinstance(value, Mapping):
            found += _forbidden(value, f"{prefix}{key}.")
    return found


def _explain(error: Any, kind: type[Any]) -> str:
    where = ".".join(str(part) for part in error["loc"]) or "settings"
    if error["type"] in ("extra_forbidden", "unexpected_keyword_argument"):
        return f"{where} is not a known key{_hint(str(error['loc'][-1]), _known_keys(kind, error['loc']))}"
    found = "" if error["type"] in ("missing", "value_error") else f" (found {error['input']!r})"
    return f"{where}: {error['msg'].removeprefix('Value error, ')}{found}"


def _hint(word: str, known: Iterable[str]) -> str:
    nearest = difflib.get_close_matches(word, list(known), n=1)
    return f"; did you mean {nearest[0]}?" if nearest else "."


def _known_keys(kind: type[Any], location: Iterable[int | str]) -> list[str]:
    """The keys that are allowed where an unknown one was found."""
    *parents, _ = location
    for part in parents:
        kind = type(getattr(TypeAdapter(kind).validate_python({}), str(part)))
    return [field.name for field in fields(kind)]
