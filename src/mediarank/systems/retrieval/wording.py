"""The methods of `retrieval` in a user's words."""

from __future__ import annotations

from typing import Final

from mediarank.evaluation.wording import Wording, Words

METHODS: Final[Wording] = {
    "best_fea": Words("best single similarity", "Best-Fea: the one similarity that validated best"),
    "uni_con": Words("sum of all similarities", "Uni-Con: all similarities count alike"),
    "unlabelled": Words("without labels", "the similarities that count where there are no classes"),
    "opr": Words("learned weights, plain", "OPR, an online perceptron over pairs"),
    "opar1": Words("learned weights, cautious", "OPAR-I, online passive-aggressive ranking"),
    "opar2": Words("learned weights, tolerant", "OPAR-II, online passive-aggressive ranking with slack"),
    "ogdr": Words("learned weights, gradient", "OGDR, online gradient descent"),
    "arow": Words("learned weights, confident", "AROW, weights with a confidence each; learns from clicks"),
    "scw": Words("learned weights, soft", "SCW, soft confidence-weighted learning"),
    "ranksvm": Words("learned weights, batch", "RankSVM over all pairs at once"),
    "posteriors": Words("class probabilities", "similarity of class probabilities"),
    "learned_similarity": Words("weights and classes", "OPAR-II over similarities and class probabilities"),
    "blend": Words("blend of both", "a linear method and class probabilities, mixed so that new classes lose nothing"),
    "ranknet": Words("small neural network", "RankNet"),
    "lambdamart": Words("boosted trees", "LambdaMART"),
}
