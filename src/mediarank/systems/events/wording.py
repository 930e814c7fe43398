"""The methods of `events` in a user's words."""

from __future__ import annotations

from typing import Final

from mediarank.evaluation.wording import Wording, Words

METHODS: Final[Wording] = {
    "average": Words("average", "mean of the classifiers' scores"),
    "meta_only": Words("weights from new clips", "meta-only: ridge on clips that the classifiers have not seen"),
    "naive": Words("weights from all clips", "naive: ridge on seen and unseen clips together"),
    "equal_weights": Words("weights, equalised", "equalised scores, every example of equal weight, no boosting"),
    "recycling": Words("recycled training clips", "training data recycling, the method of the paper"),
    "out_of_fold": Words("stacking", "ridge on cross-validated scores"),
    "average_log_odds": Words("average of odds", "mean of the classifiers' log-odds"),
    "recycling_log_odds": Words("recycled clips, odds", "training data recycling on log-odds"),
    "log_odds": Words("stacking of odds", "logistic regression on cross-validated log-odds"),
    "recycled_log_odds": Words("recycled odds", "log-odds on equalised scores, for classifiers that are frozen"),
    "blended_log_odds": Words("blended odds", "log-odds on the mean of held-in and cross-validated scores"),
    "kernel_fusion": Words("all features at once", "one classifier on the weighted sum of all kernels"),
    "consensus": Words("two together", "the weighted mean of stacked log-odds and of the sum of all kernels"),
    "motion": Words("motion alone", "the motion classifier"),
    "flow": Words("flow alone", "the classifier of optical flow"),
    "objects": Words("objects alone", "the object bank"),
    "scene": Words("scene alone", "the scene classifier"),
    "sound": Words("sound alone", "the sound classifier"),
    "network": Words("network alone", "a classifier on the pretrained network's output"),
}
