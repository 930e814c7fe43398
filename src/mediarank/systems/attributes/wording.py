"""The methods of `attributes` in a user's words."""

from __future__ import annotations

from typing import Final

from mediarank.evaluation.wording import Wording, Words


class _Methods(dict[str, Words]):
    """Also knows `only_FEATURE`, of which there is one per kernel."""

    def __contains__(self, method: object) -> bool:
        return super().__contains__(method) or str(method).startswith("only_")

    def __missing__(self, method: str) -> Words:
        feature = method.removeprefix("only_").replace("_", " ")
        return Words(f"{feature} alone", f"RankSVM on the kernel of {feature}")


METHODS: Final[Wording] = _Methods(
    rankmkl=Words("learned mix of features", "RankMKL, the method of the paper"),
    equal_weights=Words("equal mix of features", "RankSVM on the mean of the kernels"),
    concatenation=Words("features side by side", "linear RankSVM on all features joined"),
    posterior=Words("class probabilities", "the expected strength by class probabilities"),
    posterior_mkl=Words("classes and learned mix", "the sum of `posterior` and RankMKL, on one scale"),
    levels=Words("levels of comparisons", "the expected standing in comparisons, without classes"),
    local=Words("nearest compared items", "the mean standing of training items, weighted by how alike they are"),
)
