"""The front door: a network's nodes, and weights for them.

    model = load_model("resnet18")
    features = model.prepare("auto").run(photograph(224))

The weights are random. Trained ones are 5 to 45 MB and belong to others, so none are shipped: what comes out
is no class of anything. But it depends on every number on the way, so two algorithms that agree on it agree
on every layer.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import sqrt

import numpy as np

from convlab.algorithms.spec import Algorithm
from convlab.errors import ArrayError
from convlab.networks.architectures import ARCHITECTURES
from convlab.networks.executor import Executor
from convlab.networks.graph import GraphBuilder, Node
from convlab.networks.layers import Network, load
from convlab.support.checked import Positive, Threads, checked
from convlab.support.checks import COMPUTES, LARGEST, check_array, check_choice, check_whole

SEED = 18


def model_names() -> tuple[str, ...]:
    """Return the networks that can be run as a whole."""
    return tuple(ARCHITECTURES)


def load_model(
    name: str, *, size: int | tuple[int, int] = 224, batch: int = 1, dtype: str = "float32"
) -> Model:
    """Return a whole network, from the photograph to the mean of its last feature maps.

    Parameters
    ----------
    name : str
        One of `model_names()`.
    size : int or two of them
        Rows and columns of the photos, in pixels.
    batch : int
        Photos at once.
    dtype : str
        "float32" or "float64".

    Raises
    ------
    ConvError
        If there is no such network, or the photos are too small for it.

    Examples
    --------
    >>> model = load_model("resnet18")
    >>> [node.name for node in model.nodes[:5]]
    ['photo', 'conv1', 'maxpool', 'layer1.0.conv1', 'layer1.0.conv2']
    >>> model.features
    512
    """
    check_choice("network", name, ARCHITECTURES)
    check_choice("dtype", dtype, COMPUTES)
    pair = size if isinstance(size, tuple | list) and len(size) == 2 else (size, size)
    H, W = (check_whole("size", one, 1, LARGEST) for one in pair)
    network = load(name, batch=batch, dtype=dtype)
    builder = GraphBuilder(network, H, W)
    ARCHITECTURES[name](builder, builder.photo)
    return Model(network, tuple(builder.nodes))


@dataclass(frozen=True, repr=False)
class Model:
    """A network that can be run.

    Attributes
    ----------
    network : Network
        Its convolutions, for photos of 224 x 224 pixels.
    nodes : tuple of Node
        What it does, in order, for photos of the size that was asked for.
    """

    network: Network
    nodes: tuple[Node, ...]

    def __repr__(self) -> str:
        return f"<{self.title}: {len(self.layers)} convolutions, photos {self.photo_shape}>"

    @property
    def title(self) -> str:
        """The name people use."""
        return self.network.title

    @property
    def dtype(self) -> str:
        """Type of every array."""
        return self.nodes[0].dtype

    @property
    def photo_shape(self) -> tuple[int, int, int, int]:
        """Shape of the photos, (N, H, W, 3)."""
        return self.nodes[0].shape

    @property
    def features(self) -> int:
        """Numbers that come out for each photo."""
        return self.nodes[-1].shape[3]

    @property
    def layers(self) -> tuple[Node, ...]:
        """The convolutions among the nodes."""
        return tuple(node for node in self.nodes if node.op == "conv")

    @cached_property
    def weights(self) -> dict[str, tuple[np.ndarray, np.ndarray]]:
        """Filters (K, R, S, C) and bias (K,) of every layer; random, and the same each time.

        He et al. 2015 (arXiv:1502.01852): with a variance of 2 / (R*S*C) a layer followed by ReLU hands on
        numbers as large as it got. Where two layers are added up, half the variance does that.
        """
        found = {}
        for place, node in enumerate(self.layers):
            rng, n = np.random.default_rng((SEED, place)), node.convolution.gemm[2]
            w = rng.standard_normal(node.convolution.w_shape, np.float32)
            w *= np.float32(sqrt((2 if node.relu else 1) / n))
            bias = np.float32(0.1) * rng.standard_normal(node.convolution.K, np.float32)
            found[node.name] = w.astype(node.dtype, copy=False), bias.astype(node.dtype, copy=False)
        return found

    @checked
    def prepare(
        self,
        algorithm: str | Algorithm | dict[str, str | Algorithm] = "auto",
        *,
        backend: str = "auto",
        threads: Threads = 1,
        fused: bool = True,
        progress: bool = True,
    ) -> Executor:
        """Plan every layer: choose its algorithm, pack its weights, find memory for all arrays.

        Parameters
        ----------
        algorithm : str, Algorithm, or dict of str to one of them
            As `convlab.plan` takes it, for all layers or by the name of the layer; "auto" serves those that
            are not named, and those that the algorithm cannot serve (see `Executor.replaced`).
        backend : str
            "cpu", "numpy" or "auto".
        threads : int
            For the convolutions, the photo and max pooling; the other passes are short, and run on one.
        fused : bool
            Let the convolutions do bias, ReLU, sums and concatenations on their way, see `fuse.py`; else
            each is a pass of its own over memory, but for bias and ReLU, which are one.
        progress : bool
            Show a bar while it takes its time: in a notebook, or on a terminal.

        Raises
        ------
        ConvError
            If an argument is wrong, or the memory does not suffice.
        """
        return Executor(self, algorithm, backend, threads, fused, progress)

    def check_photo(self, photo: np.ndarray) -> None:
        """Refuse what is no batch of photos of the right size, with numbers from 0 to 1.

        Raises
        ------
        ConvError
        """
        check_array("photo", photo, self.photo_shape, "(N, H, W, 3)", (self.dtype,))
        low, high = photo.min(), photo.max()
        if not (low >= 0 and high <= 1):
            raise ArrayError(f"photo has numbers from {low:g} to {high:g}; expected 0 to 1 (bytes / 255)")

    @checked
    def reference(self, photo: np.ndarray) -> np.ndarray:
        """Return the features (N, features) as NumPy computes them in float64."""
        self.check_photo(photo)
        H, W = self.photo_shape[1:3]
        exact = load_model(self.network.name, size=(H, W), batch=self.photo_shape[0], dtype="float64")
        return exact.prepare("im2row", backend="numpy", progress=False).run(photo.astype(np.float64))

    @checked
    def tolerance(self, reference: np.ndarray, rounding: Positive = 1.0) -> float:
        """Return how far rounding alone may lead from the reference.

        A sum of n rounded products is off by eps * sqrt(n) of its size (see `convlab.oracle.tolerance`).
        These weights hand on numbers as large as they got, and errors with them. So the errors of all
        layers arrive; being independent, their squares add up.

        Parameters
        ----------
        reference : ndarray, (N, features)
        rounding : float
            The largest `Algorithm.rounding` of those in use.
        """
        products = sum(node.convolution.gemm[2] for node in self.layers)
        size = sqrt(np.mean(np.square(reference)))
        # Twice, for the worst of many numbers; little, for each is the mean over many pixels.
        return float(2 * rounding * np.finfo(self.dtype).eps * sqrt(products) * size)
