"""The methods of `annotation` in a user's words."""

from __future__ import annotations

from typing import Final

from mediarank.evaluation.wording import Wording, Words

METHODS: Final[Wording] = {
    "best_feature": Words("nearest by one feature", "the one feature type that validated best"),
    "jec": Words("nearest pictures", "JEC: words of the nearest images by the sum of distances"),
    "jec_vote": Words("votes of nearest pictures", "JEC's order with the rules that RNN chooses from"),
    "jec_maximum": Words("nearest pictures, by maximum", "JEC with each distance divided by its maximum"),
    "least_squares": Words("nearest, fitted distance", "distances combined by least squares"),
    "lasso": Words("nearest, sparse distance", "distances combined by LASSO"),
    "nw_rnn": Words("learned neighbours, plain", "NW-RNN: RNN with equal weights of pairs"),
    "rnn": Words("learned neighbours", "RNN, the method of the paper"),
    "drawn_rnn": Words("learned neighbours, drawn", "RNN with pairs drawn by weight"),
    "tagprop": Words("weighted neighbours", "TagProp"),
    "2pknn": Words("neighbours per word", "2PKNN"),
    "2pknn_rnn": Words("learned, per word", "2PKNN on RNN's order"),
    "2pknn_tagprop": Words("weighted, per word", "2PKNN on TagProp's distances"),
    "2pknn_aligned": Words("aligned, per word", "2PKNN on aligned kernels"),
    "ridge": Words("regression", "kernel ridge regression of all words on the sum of distances"),
    "ridge_tagprop": Words("regression, weighted", "kernel ridge regression on TagProp's distances"),
    "ridge_aligned": Words("regression, aligned", "kernel ridge regression on aligned kernels"),
    "2pknn_margin": Words("large margin, per word", "2PKNN on weights learned by a large margin"),
    "ridge_margin": Words("regression, large margin", "kernel ridge regression on weights learned by a large margin"),
    "2pknn_learned": Words("learned weights, per word", "2PKNN on weights learned by a regression's error"),
    "ridge_learned": Words("regression, learned", "kernel ridge regression on weights learned by its own error"),
    "kcca_2pknn": Words("space of words, per word", "2PKNN in the space of kernel CCA"),
    "kcca_vote": Words("space of words", "votes of the nearest images in the space of kernel CCA"),
    "kcca_2pknn_tagprop": Words("weighted space, per word", "2PKNN in the space of kernel CCA on TagProp's distances"),
    "kcca_vote_tagprop": Words("weighted space of words", "votes in the space of kernel CCA on TagProp's distances"),
    "kcca_2pknn_learned": Words("learned space, per word", "2PKNN in the space of kernel CCA on learned weights"),
    "kcca_vote_learned": Words("learned space of words", "votes in the space of kernel CCA on learned weights"),
    "ridge_images": Words("regression, for images", "kernel ridge regression, chosen for the words of single images"),
    "ridge_tagprop_images": Words("weighted, for images", "regression on TagProp's distances, for single images"),
    "average": Words("several together", "the sum of the methods that do best together on held-out images"),
}
