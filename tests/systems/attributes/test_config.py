"""Settings of attributes: from params.yaml, and those that make no sense."""

from __future__ import annotations

import pytest
from pydantic import TypeAdapter, ValidationError

from mediarank.systems.attributes.config import Config, KernelChoice
from mediarank.types import ConfigError


def test_features_and_names_follow_from_the_kernels() -> None:
    config = Config(kernels=(KernelChoice("shape"), KernelChoice("shape", "linear"), KernelChoice("colour", "rbf")))
    assert config.features == ("shape", "colour")
    assert config.kernel_names == ("shape_exponential_chi2", "shape_linear", "colour")


def test_settings_that_make_no_sense() -> None:
    with pytest.raises(ConfigError, match="kernels"):
        Config(kernels=(KernelChoice("shape"), KernelChoice("shape")))
    for methods in ((), ("rankmkl", "rankmkl")):
        with pytest.raises(ConfigError, match="methods"):
            Config(methods=methods)


@pytest.mark.parametrize(
    "wrong",
    [
        {"folds": 1},
        {"cost": [0.0]},
        {"costs": [1.0]},
        {"methods": ["magic"]},
        {"kernels": [{"feature": "hog", "kernel": "poly"}]},
    ],
)
def test_unknown_keys_and_values_are_refused(wrong: dict[str, object]) -> None:
    validate = TypeAdapter(Config).validate_python
    assert validate({"kernels": [{"feature": "hog", "kernel": "linear"}]}).kernels == (KernelChoice("hog", "linear"),)
    with pytest.raises(ValidationError):
        validate(wrong)
