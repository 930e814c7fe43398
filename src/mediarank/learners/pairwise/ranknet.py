"""RankNet (Burges et al. 2005): a small neural network whose scores put the pairs of a triplet in order.

One hidden layer of tanh units; the loss of a triplet is `log(1 + exp(−(f(φ¹) − f(φ²))))`, the cross entropy of its
order. Mini-batches with Adam (Kingma & Ba 2015), seeded; BLAS is held to one thread, so results repeat exactly.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

import numpy as np
from scipy.special import expit
from threadpoolctl import threadpool_limits

from mediarank.learners.pairwise.triplets import Triplets
from mediarank.types import Floats

_FADING: Final = (0.9, 0.999)
_TINY: Final = 1e-8


@dataclass
class RankNet:
    """RankNet.

    hidden : number of units
    rate : Adam's step
    decay : of the weights, per step
    epochs : passes over the triplets
    """

    hidden: int = 10
    rate: float = 0.003
    decay: float = 1e-4
    epochs: int = 10
    batch: int = 512
    seed: int = 0
    inner_: Floats = field(init=False, repr=False)
    bias_: Floats = field(init=False, repr=False)
    outer_: Floats = field(init=False, repr=False)

    def fit_triplets(self, data: Triplets) -> RankNet:
        rng = np.random.default_rng(self.seed)
        d = data.phi.shape[1]
        start = (rng.normal(size=(d, self.hidden)) / np.sqrt(d), np.zeros(self.hidden), rng.normal(size=self.hidden))
        layers = [layer.astype(np.float32) for layer in (*start[:2], start[2] / np.sqrt(self.hidden))]
        moments = [(np.zeros_like(layer), np.zeros_like(layer)) for layer in layers]
        step = 0
        with threadpool_limits(1, user_api="blas"):
            for epoch in range(self.epochs):
                order = rng.permutation(len(data))
                for begin in range(0, len(order), self.batch):
                    chosen = order[begin : begin + self.batch]
                    step += 1
                    gradients = _gradients(layers, data.phi[data.better[chosen]], data.phi[data.worse[chosen]])
                    rate = self.rate * (1 - epoch / self.epochs)
                    for layer, moment, gradient in zip(layers, moments, gradients, strict=True):
                        _adam(layer, moment, gradient + np.float32(self.decay) * layer, rate, step)
        self.inner_, self.bias_, self.outer_ = layers
        return self

    def predict(self, phi: Floats) -> Floats:
        """Scores of items by their φ, higher is better. phi : (n, d)"""
        return np.asarray(np.tanh(phi @ self.inner_ + self.bias_) @ self.outer_, dtype=np.float32)

    def arrays(self) -> dict[str, Floats]:
        return {"inner": self.inner_, "bias": self.bias_, "outer": self.outer_}

    @classmethod
    def restored(cls, inner: Floats, bias: Floats, outer: Floats) -> RankNet:
        """The ranker whose `arrays()` these were."""
        ranker = cls(hidden=len(bias))
        ranker.inner_, ranker.bias_, ranker.outer_ = inner, bias, outer
        return ranker


def _gradients(layers: list[Floats], better: Floats, worse: Floats) -> tuple[Floats, Floats, Floats]:
    """Gradients of the mean loss by each layer: back-propagation through both items of every triplet."""
    inner, bias, outer = layers
    first, second = np.tanh(better @ inner + bias), np.tanh(worse @ inner + bias)
    slope = (-expit((second - first) @ outer) / len(better)).astype(np.float32)[:, None]  # ∂loss/∂(f¹ − f²)
    back_first, back_second = slope * outer * (1 - first**2), -slope * outer * (1 - second**2)
    return (
        better.T @ back_first + worse.T @ back_second,
        back_first.sum(axis=0) + back_second.sum(axis=0),
        (first - second).T @ slope[:, 0],
    )


def _adam(layer: Floats, moment: tuple[Floats, Floats], gradient: Floats, rate: float, step: int) -> None:
    mean, square = moment
    mean += (1 - _FADING[0]) * (gradient - mean)
    square += (1 - _FADING[1]) * (gradient**2 - square)
    corrected = np.sqrt(square / (1 - _FADING[1] ** step)) + _TINY
    layer -= (rate / (1 - _FADING[0] ** step) * mean / corrected).astype(np.float32)
