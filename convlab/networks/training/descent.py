"""Steepest descent on small batches, with momentum; it can be stopped at any moment, and goes on.

    v = momentum * v + gradient + decay * w          w = w - rate * v          as torch.optim.SGD has it

A step makes new arrays of all parameters, and when all are there, they become the state, in one assignment.
So who stops it, by Ctrl-C or the stop button, finds it before a step or after it. Which pictures a step
takes follows from the seed and from its number. So a training that goes on ends as one that was never
stopped, to the last bit.

Robbins & Monro 1951, doi:10.1214/aoms/1177729586; Polyak 1964, doi:10.1016/0041-5553(64)90137-5.
"""

from __future__ import annotations

from contextlib import closing
from functools import partial
from typing import Annotated, NamedTuple

import numpy as np

from convlab.errors import ArrayError, ParameterError
from convlab.networks.training.loss import SoftmaxCrossEntropy
from convlab.networks.training.sequential import Sequential
from convlab.support.checked import Count, NotNegative, Positive, checked
from convlab.support.checks import check_number
from convlab.support.progress import shown


class State(NamedTuple):
    """What one step hands to the next."""

    step: int
    parameters: list[np.ndarray]
    velocity: list[np.ndarray]


@checked
class Training:
    """A network that is being trained.

    Parameters
    ----------
    network : Sequential
        Its parameters are where the way begins.
    pictures : ndarray, (N, H, W, C)
    labels : ndarray of int, (N,)
    epochs : int
        How often each picture is seen.
    batch : int
        Pictures in a step; the last of an epoch may have fewer.
    rate : float
        How far the first step goes; from there it falls to 0 in a straight line.
    momentum : float
        The share of the last step that is added to the next, from 0 to 1.
    decay : float
        How much of themselves the parameters lose: what the loss has no use for fades. torch's weight_decay.
    seed : int
        Of the order of the pictures, which is another one in each epoch.

    Attributes
    ----------
    losses : list of float
        Of each step so far.

    Raises
    ------
    ConvError
        If pictures, labels and network do not fit, or a picture holds a number that is not finite.
    """

    def __init__(
        self,
        network: Sequential,
        pictures: np.ndarray,
        labels: np.ndarray,
        *,
        epochs: Count = 15,
        batch: Count = 32,
        rate: Positive = 0.05,
        momentum: Annotated[float, partial(check_number, least=0, most=1)] = 0.9,
        decay: NotNegative = 0.01,
        seed: int = 0,
    ) -> None:
        network.check(pictures, labels)
        if not np.isfinite(pictures).all():
            raise ArrayError("pictures holds NaN or infinity; expected finite numbers")
        self.network, self.pictures, self.labels = network, pictures, labels
        self.epochs, self.batch, self.seed = epochs, batch, seed
        self.rate, self.momentum, self.decay = float(rate), float(momentum), float(decay)
        parameters = network.parameters
        self._state = State(0, parameters, [np.zeros_like(one) for one in parameters])
        self.losses: list[float] = []

    @property
    def steps_per_epoch(self) -> int:
        """Steps after which every picture has been seen once more."""
        return -(-len(self.pictures) // self.batch)

    @property
    def steps(self) -> int:
        """Steps of the whole training."""
        return self.epochs * self.steps_per_epoch

    @property
    def step(self) -> int:
        """Steps that are done."""
        return self._state.step

    @checked
    def run(self, progress: bool = True) -> None:
        """Take all steps that are left; after a stop, call it again.

        Parameters
        ----------
        progress : bool
            Show a bar, which counts epochs.

        Raises
        ------
        ConvError
            If a loss is not finite; the network is as it was before that step.
        """
        self.network.load(self._state.parameters)  # a stop may have come before the last of them
        first = self.step // self.steps_per_epoch
        with closing(shown(range(first, self.epochs), "training: epochs", progress)) as epochs:
            for epoch in epochs:
                while self.step < (epoch + 1) * self.steps_per_epoch:
                    self.take_step()

    def take_step(self) -> None:
        """Take one step.

        Raises
        ------
        ConvError
            As `run`, or if all steps are done.
        """
        step, parameters, velocity = self._state
        if step >= self.steps:  # from here on the rate would be below 0, and the way lead uphill
            raise ParameterError(f"all {step} steps are done; expected a new Training to go on")
        self.network.load(parameters)
        with np.errstate(over="ignore", invalid="ignore"):  # what is not finite is told below
            gradients, rate = self._gradients(step), self.rate * (1 - step / self.steps)
            three = zip(parameters, velocity, gradients, strict=True)
            velocity = [self.momentum * v + g + self.decay * w for w, v, g in three]
            parameters = [w - rate * v for w, v in zip(parameters, velocity, strict=True)]
        self._check_finite(step, "largest parameter after", max(np.abs(one).max() for one in parameters))
        self._state = State(step + 1, parameters, velocity)
        self.network.load(parameters)

    def _gradients(self, step: int) -> list[np.ndarray]:
        """Return the gradients of the loss on a step's pictures, and note the loss."""
        epoch, place = divmod(step, self.steps_per_epoch)
        order = np.random.default_rng((self.seed, epoch)).permutation(len(self.pictures))
        these = order[place * self.batch : (place + 1) * self.batch]
        loss = SoftmaxCrossEntropy()
        value = loss.forward(self.network.forward(self.pictures[these]), self.labels[these])
        self._check_finite(step, "loss of", value)
        del self.losses[step:]  # of a step that was stopped on its way
        self.losses.append(value)
        self.network.backward(loss.backward())
        return self.network.gradients

    def _check_finite(self, step: int, what: str, value: float) -> None:
        if not np.isfinite(value):
            raise ParameterError(
                f"rate={self.rate:g}: the {what} step {step} is {value}; expected a finite number. "
                f"The steps are too long: try rate={self.rate / 10:g} with a new network"
            )
