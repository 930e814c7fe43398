"""A feature type ready to describe media: a family with its settings, and what was fitted for it.

The stage `features` stores it beside the vectors: the settings and a digest in `meta.json`, the arrays in
`fitted.npz`. So a file from outside can be described from the stage's outputs alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from pydantic import TypeAdapter, ValidationError

from mediarank.features.bag_of_words import BagOfWords
from mediarank.features.base import Extractor, LocalExtractor
from mediarank.features.codebook import Codebook
from mediarank.features.families import EXTRACTORS
from mediarank.types import DataError


@dataclass(frozen=True, eq=False)
class FeatureType:
    """A family with its settings and what was fitted for it.

    family : the family, with its settings
    codebook : of a family of local descriptors; None for other families, and if there was nothing to fit it on
    """

    family: Extractor | LocalExtractor
    codebook: Codebook | None = None

    def extractor(self) -> Extractor:
        """The extractor that turns one medium into one vector."""
        if not isinstance(self.family, LocalExtractor):
            return self.family
        if self.codebook is None:
            raise DataError(
                f"{type(self.family).__name__} has no codebook, because no item of the collection had the modality "
                f"{self.family.modality} when the stage features ran. Add such items, then run dvc repro."
            )
        return BagOfWords(self.family, self.codebook)

    def to_stored(self) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
        """Facts for a JSON file, and arrays for an npz file; no arrays if nothing was fitted."""
        name = next(name for name, kind in EXTRACTORS.items() if kind is type(self.family))
        settings = TypeAdapter(type(self.family)).dump_python(self.family, mode="json")
        facts: dict[str, Any] = {"feature": {"family": name, **settings}}
        if self.codebook is None:
            return facts, {}
        spread = np.array([self.codebook.spread], np.float32)
        arrays = {"words": self.codebook.words, "scale": self.codebook.scale, "spread": spread}
        return {**facts, "codebook": self.codebook.digest()}, arrays

    @classmethod
    def from_stored(cls, facts: Mapping[str, Any], arrays: Mapping[str, npt.NDArray[Any]]) -> FeatureType:
        """Undo `to_stored`. Arrays other than those stored with the facts are refused."""
        family = _family(facts.get("feature"))
        digest = facts.get("codebook")
        if digest is None:
            return cls(family)
        try:
            codebook = Codebook(arrays["words"], arrays["scale"], float(arrays["spread"][0]))
        except (KeyError, IndexError):
            raise DataError(f"The codebook of a feature type is incomplete. {_REMEDY}") from None
        if codebook.digest() != digest:
            raise DataError(f"The codebook of a feature type does not belong to its vectors. {_REMEDY}")
        return cls(family, codebook)


_REMEDY = "Run dvc checkout, or delete the type's folder in data/features and run dvc repro."


def _family(settings: Any) -> Extractor | LocalExtractor:
    fields = dict(settings) if isinstance(settings, Mapping) else {}
    name = fields.pop("family", None)
    if name not in EXTRACTORS:
        raise DataError(f"A feature type was stored without a known family (found {name!r}). {_REMEDY}")
    try:
        made: Extractor | LocalExtractor = TypeAdapter(EXTRACTORS[name]).validate_python(fields)
    except ValidationError as error:
        problem = error.errors()[0]
        raise DataError(
            f"This version of mediarank does not know a stored setting of {name}: {'.'.join(map(str, problem['loc']))} "
            f"({problem['msg']}). {_REMEDY}"
        ) from None
    return made
