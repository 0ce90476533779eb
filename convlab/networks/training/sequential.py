"""Layers one after the other, forward and backward; and the network for the digits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from convlab.errors import ParameterError, ShapeError
from convlab.networks.graph import Node
from convlab.networks.training.layers import Conv, Dense, Layer, MaxPool, ReLU, check_pictures
from convlab.networks.training.loss import check_labels
from convlab.problem import ConvProblem
from convlab.support.checked import Computed, Count, checked
from convlab.support.checks import check_array, check_instance


class Sequential:
    """Layers, each of which reads what the one before it wrote.

    Parameters
    ----------
    layers : Layer
        By their names, in order; the first is a convolution.

    Attributes
    ----------
    layers : dict of str to Layer

    Examples
    --------
    >>> first = Conv(ConvProblem(1, 8, 8, 1, 16, 3, 3, padding=1))
    >>> network = Sequential(conv1=first, relu1=ReLU(), pool1=MaxPool(2), dense=Dense((4, 4, 16), 10))
    >>> network.forward(np.zeros((32, 8, 8, 1), np.float32)).shape
    (32, 1, 1, 10)
    """

    def __init__(self, **layers: Layer) -> None:
        for name, layer in layers.items():
            check_instance(name, layer, Layer)
        first = next(iter(layers.values()), None)
        if not isinstance(first, Conv):
            raise ParameterError(
                "layers begin with no convolution; expected a Conv, which knows what it reads"
            )
        self.layers, self.dtype = layers, first.problem.dtype
        self.input_shape = (first.problem.H, first.problem.W, first.problem.C)
        met: dict[int, str] = {}
        for name, layer in layers.items():
            if (other := met.setdefault(id(layer), name)) != name:
                raise ParameterError(f"{name} is the layer {other}; expected one that keeps its own array")
        self.nodes(1)  # each reads what the one before it writes, or is refused

    def forward(self, x: np.ndarray) -> np.ndarray:
        """Return what the last layer makes of x (N, H, W, C)."""
        for layer in self.layers.values():
            x = layer.forward(x)
        return x

    def backward(self, dy: np.ndarray) -> np.ndarray:
        """Return the gradient with respect to x; those of the parameters lie in the layers then."""
        for layer in reversed(self.layers.values()):
            dy = layer.backward(dy)
        return dy

    @property
    def parameters(self) -> list[np.ndarray]:
        """All that is learned, layer by layer: filters, bias, filters, bias, ..."""
        return [array for layer in self.layers.values() for array in layer.parameters.values()]

    @property
    def gradients(self) -> list[np.ndarray]:
        """The gradients of the last `backward`, in the order of `parameters`."""
        return [array for layer in self.layers.values() for array in layer.gradients.values()]

    @checked
    def load(self, parameters: Sequence[np.ndarray]) -> None:
        """Take these parameters, in the order of `parameters`; the arrays themselves, not copies.

        Raises
        ------
        ConvError
            If they do not fit; the network is as before.
        """
        mine = self.parameters
        if len(parameters) != len(mine):
            raise ParameterError(f"parameters are {len(parameters)} arrays; expected {len(mine)}")
        for place, (new, old) in enumerate(zip(parameters, mine, strict=True)):
            check_array(f"parameters[{place}]", new, old.shape, "those before", (self.dtype,))
        given = iter(parameters)
        for layer in self.layers.values():
            layer.parameters = {name: next(given) for name in layer.parameters}

    @property
    def kept_bytes(self) -> int:
        """Bytes that the layers keep for the way back; what two of them keep counts once."""
        return sum({id(one.kept): one.kept_bytes for one in self.layers.values()}.values())

    def predict(self, pictures: np.ndarray) -> np.ndarray:
        """Return for each picture the place of its largest score, (N,)."""
        check_pictures("pictures", pictures, self.input_shape, (self.dtype,))
        scores = self.forward(pictures)
        return scores.reshape(len(pictures), -1).argmax(axis=1)

    def accuracy(self, pictures: np.ndarray, labels: np.ndarray) -> float:
        """Return the share of pictures (N, H, W, C) whose largest score is that of their label (N,)."""
        self.check(pictures, labels)
        return float((self.predict(pictures) == labels).mean())

    def check(self, pictures: np.ndarray, labels: np.ndarray) -> None:
        """Refuse pictures and labels that the network cannot learn from.

        Raises
        ------
        ConvError
        """
        check_pictures("pictures", pictures, self.input_shape, (self.dtype,))
        check_labels("labels", labels, len(pictures), self.classes)

    @property
    def classes(self) -> int:
        """Scores that come out for each picture."""
        _, P, Q, classes = self.nodes(1)[-1].shape
        if (P, Q) != (1, 1):
            raise ShapeError(f"the last layer writes {P}x{Q} pixels; expected one: end with a Dense")
        return classes

    @checked
    def nodes(self, N: Count) -> list[Node]:
        """Return what `forward` does with N pictures, as the nodes of a graph; the first is its input."""
        nodes = [Node("x", "input", (), (N, *self.input_shape), self.dtype)]
        for name, layer in self.layers.items():
            nodes.append(layer.node(name, nodes[-1]))
        return nodes


@checked
def digits_network(seed: int = 0, *, dtype: Computed = "float32", **options: Any) -> Sequential:
    """Return a network of three convolutions for the digits, with random weights.

    Parameters
    ----------
    seed : int
    dtype : str
    options
        `backend` and `threads`, as `Conv` has them.
    """

    def conv(place: int, H: int, C: int, K: int) -> Conv:
        problem = ConvProblem(1, H, H, C, K, 3, 3, padding=1, dtype=dtype)
        return Conv(problem, seed=(seed, place), **options)

    return Sequential(
        conv1=conv(1, 8, 1, 16),
        relu1=ReLU(),
        conv2=conv(2, 8, 16, 32),
        relu2=ReLU(),
        pool2=MaxPool(2),  # 8x8 -> 4x4 pixels
        conv3=conv(3, 4, 32, 32),
        relu3=ReLU(),
        pool3=MaxPool(2),  # 4x4 -> 2x2 pixels
        dense=Dense((2, 2, 32), 10, dtype=dtype, seed=(seed, 4), **options),
    )
