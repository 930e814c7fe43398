"""The methods of `concepts` in a user's words."""

from __future__ import annotations

from typing import Final

from mediarank.evaluation.wording import Wording, Words

METHODS: Final[Wording] = {
    "mean_fusion": Words("average of all classifiers", "mean fusion of the SVMs' scores"),
    "best_single": Words("best single classifier", "the one SVM that validated best"),
    "ridge_stacking": Words("weighted sum, ridge", "ridge regression over the SVMs' scores"),
    "logistic_stacking": Words("weighted sum, logistic", "logistic regression over the SVMs' scores"),
    "rankboost": Words("boosted ranking", "RankBoost over the SVMs' scores"),
    "imbalanced_rankboost": Words("boosted ranking, rare names", "Imbalanced RankBoost, the method of the paper"),
    "boosted_cascade": Words("boosted cascade, fast", "RankBoost that stops early on items that will rank low"),
    "forward_cascade": Words("weighted cascade, fast", "ridge regression that adds SVMs one by one and stops early"),
    "stacked_cascade": Words("refitted cascade, fast", "boosting's order, with weights refitted at every stage"),
    "distilled_cascade": Words("cascade with a teacher", "few SVMs for all items, the weighted sum for the best"),
    "budget_cascade": Words("weighted cascade, fastest", "forward_cascade with one or two SVMs per item on average"),
}
