"""What is done to a picture, layer by layer: the nodes of a network, and the weights of its convolutions.

    layers = Layers.on((1, 30_000, 30_000, 3)).conv(w, bias, padding=1, relu=True).max_pool(2)

Nothing is computed, and no array of that size is made: it says what would be.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from convlab.errors import ParameterError, ShapeError
from convlab.networks.graph import Node, pooled
from convlab.networks.model import Model
from convlab.problem import ConvProblem
from convlab.support.checked import Computed, Count, checked
from convlab.support.checks import LARGEST, check_array, check_whole

Weights = dict[str, tuple[np.ndarray, np.ndarray]]


@dataclass(frozen=True, repr=False)
class Layers:
    """A picture, and what is done to it.

    Attributes
    ----------
    nodes : tuple of Node
        In the order in which they run; the first is the picture.
    weights : dict of str to (ndarray, ndarray)
        Filters (K, R, S, C/groups) and bias (K,) of each convolution.
    title : str
    """

    nodes: tuple[Node, ...]
    weights: Weights = field(default_factory=dict)
    title: str = "the layers"

    @classmethod
    @checked
    def on(cls, shape: tuple[int, int, int, int], dtype: Computed = "float32") -> Layers:
        """Return no layers yet, on a picture of a shape (N, H, W, C).

        Raises
        ------
        ConvError
            If that is no shape of a picture.
        """
        for letter, size in zip("NHWC", shape, strict=True):
            check_whole(f"{letter} of shape", size, 1, LARGEST)
        N, H, W, C = map(int, shape)
        return cls((Node("picture", "input", (), (N, H, W, C), dtype),))

    @classmethod
    @checked
    def of(cls, model: Model) -> Layers:
        """Return those of a whole network, as `load_model` makes it, on pictures with numbers from 0 to 1."""
        photo, *rest = model.nodes
        picture = Node("picture", "input", (), photo.shape, photo.dtype)
        first = Node(photo.name, photo.op, (picture.name,), photo.shape, photo.dtype)
        return cls((picture, first, *rest), model.weights, model.title)

    @checked
    def conv(
        self,
        w: np.ndarray,
        bias: np.ndarray | None = None,
        *,
        stride=1,
        padding=0,
        dilation=1,
        groups: Count = 1,
        relu: bool = False,
    ) -> Layers:
        """Return these layers and a convolution behind them; the arguments are those of `convlab.conv2d`.

        Raises
        ------
        ConvError
            If it does not fit what the layer before it makes.
        """
        last = self.nodes[-1]
        if w.ndim != 4:
            raise ShapeError(f"w has shape {w.shape}; expected (K, R, S, C/groups)")
        K, R, S, _ = w.shape
        problem = ConvProblem(*last.shape, K, R, S, stride, padding, dilation, groups, dtype=last.dtype)
        check_array("w", w, problem.w_shape, "(K, R, S, C/groups)", (last.dtype,))
        bias = np.zeros(K, last.dtype) if bias is None else bias
        check_array("bias", bias, (K,), "(K,)", (last.dtype,))
        name = f"conv{1 + len(self.weights)}"
        node = Node(name, "conv", (last.name,), problem.y_shape, last.dtype, problem=problem, relu=relu)
        return Layers((*self.nodes, node), self.weights | {name: (w, bias)}, self.title)

    @checked
    def max_pool(self, window: Count, stride: Count | None = None, padding: int = 0) -> Layers:
        """Return these layers and the largest number of every square window behind them.

        Parameters
        ----------
        window, stride : int
            Side of a window, and distance of two, in pixels; one beside the other without a stride.
        padding : int
            Added all round; at most half a window, so that each sees something.

        Raises
        ------
        ConvError
            If no window fits.
        """
        last, stride = self.nodes[-1], stride or window
        if not 0 <= padding <= window // 2:
            raise ParameterError(f"padding={padding}; expected 0 to {window // 2}, half of the window")
        N, H, W, C = last.shape
        P, Q = (pooled(size, window, stride, padding) for size in (H, W))
        if P < 1 or Q < 1:
            raise ShapeError(f"the windows of {window} pixels do not fit into {H} x {W} of {last.name}")
        name = f"pool{1 + sum(node.op == 'max_pool' for node in self.nodes)}"
        node = Node(name, "max_pool", (last.name,), (N, P, Q, C), last.dtype)
        node = replace(node, window=window, stride=stride, padding=padding)
        return replace(self, nodes=(*self.nodes, node))

    def check(self) -> None:
        """Refuse layers that are none yet: there is nothing to compute.

        Raises
        ------
        ParameterError
        """
        if len(self.nodes) < 2:
            raise ParameterError("layers has only a picture; expected a layer behind it, as `conv` adds one")

    def of_one_picture(self) -> Layers:
        """Return the same layers for one picture at a time."""
        nodes = []
        for node in self.nodes:
            problem = node.problem and replace(node.problem, N=1)
            nodes.append(replace(node, shape=(1, *node.shape[1:]), problem=problem))
        return Layers(tuple(nodes), self.weights, self.title)

    def but_for_the_mean(self) -> Layers:
        """Return the same layers without the mean over all pixels that some networks end with."""
        ends = self.nodes[-1].op == "mean"
        return replace(self, nodes=self.nodes[:-1]) if ends else self

    @property
    def convolutions(self) -> tuple[Node, ...]:
        """Those of the nodes that have weights."""
        return tuple(node for node in self.nodes if node.op == "conv")

    @property
    def shape(self) -> tuple[int, int, int, int]:
        """Shape of the result, (N, P, Q, K)."""
        return self.nodes[-1].shape

    @property
    def picture_shape(self) -> tuple[int, int, int, int]:
        """Shape of the picture, (N, H, W, C)."""
        return self.nodes[0].shape

    @property
    def dtype(self) -> str:
        """Type of all that is computed."""
        return self.nodes[0].dtype

    def __repr__(self) -> str:
        return f"<{self.title}: {len(self.weights)} convolutions, {self.picture_shape} to {self.shape}>"
