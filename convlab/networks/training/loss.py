"""Softmax and cross-entropy: scores become probabilities, and what is far from the truth costs much.

    p[n, k] = exp(score[n, k]) / sum over j of exp(score[n, j])
    loss    = mean over n of -log p[n, label of n]
    dscore  = (p - truth) / N         truth: 1 at the label, else 0

Bridle 1990, doi:10.1007/978-3-642-76153-9_28.
"""

from __future__ import annotations

import numpy as np

from convlab.errors import ArrayError, ParameterError
from convlab.support.checks import check_array, check_axes

INTEGERS = tuple(f"{sign}int{bits}" for sign in ("", "u") for bits in (64, 32, 16, 8))


class SoftmaxCrossEntropy:
    """How wrong the scores of a batch are, and which way is better."""

    def __init__(self) -> None:
        self._probabilities: np.ndarray | None = None
        self._labels, self._shape = np.empty(0, int), (0, 1, 1, 0)

    def forward(self, scores: np.ndarray, labels: np.ndarray) -> float:
        """Return the mean loss of a batch: 0 for one who is sure and right, log(K) for one who has no idea.

        Parameters
        ----------
        scores : ndarray, (N, 1, 1, K)
        labels : ndarray of int, (N,)
        """
        check_array("scores", scores)
        check_axes("scores", scores, "N, 1, 1, K")
        check_array("scores", scores, (max(1, len(scores)), 1, 1, scores.shape[3]), "(N, 1, 1, K)")
        rows = scores.reshape(len(scores), -1)  # (N, K)
        check_labels("labels", labels, *rows.shape)
        rows = rows - rows.max(axis=1, keepdims=True)  # the same p, and no exp that overflows
        logs = rows - np.log(np.exp(rows).sum(axis=1, keepdims=True))
        self._probabilities, self._labels, self._shape = np.exp(logs), labels, scores.shape
        return float(-logs[np.arange(len(rows)), labels].mean(dtype=np.float64))

    def backward(self) -> np.ndarray:
        """Return the gradient with respect to the scores, (N, 1, 1, K)."""
        if self._probabilities is None:
            raise ParameterError("SoftmaxCrossEntropy.backward has nothing kept; expected forward before")
        dscores = self._probabilities.copy()
        dscores[np.arange(len(dscores)), self._labels] -= 1
        dscores /= len(dscores)
        return dscores.reshape(self._shape)


def check_labels(name: str, labels: np.ndarray, N: int, classes: int) -> None:
    """Refuse what is not a label from 0 to classes - 1 for each of N pictures.

    Raises
    ------
    ConvError
    """
    check_array(name, labels, (N,), "(N,)", INTEGERS)
    wrong = np.flatnonzero((labels < 0) | (labels >= classes))
    if wrong.size:
        first = wrong[0]
        raise ArrayError(f"{name}[{first}] is {labels[first]}; expected 0 to {classes - 1}")
