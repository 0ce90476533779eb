"""A graph as ONNX writes it, in memory: ONNX Runtime and OpenVINO both read that.

Axes are in its order, NCHW and KCRS. The input's name is the first node's, the output's is the last one's.
"""

from __future__ import annotations

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from convlab.benchmark.rivals.graph import Graph
from convlab.networks.graph import Node
from convlab.networks.ops import MEAN, SPREAD

OPSET, FORMAT = 17, 9  # of 2022: old enough for every reader, and it has all that is needed


def onnx_model(graph: Graph) -> bytes:
    """Return a graph in float32 as the bytes of an ONNX file."""
    return _Writer(graph).model()


class _Writer:
    def __init__(self, graph: Graph):
        self._graph, self._nodes, self._constants = graph, [], []

    def model(self) -> bytes:
        first, *rest = self._graph.nodes
        source = f"{first.name} input" if first.op == "normalise" else first.name
        if first.op == "normalise":
            self._normalise(first, source)
        for node in rest:
            getattr(self, f"_{node.op}")(node)
        last = rest[-1]
        ends = [
            helper.make_tensor_value_info(name, TensorProto.FLOAT, _channels_first(node.shape))
            for name, node in ((source, first), (last.name, last))
        ]
        made = helper.make_graph(self._nodes, "graph", ends[:1], ends[1:], self._constants)
        version = helper.make_opsetid("", OPSET)
        model = helper.make_model(made, opset_imports=[version], ir_version=FORMAT)
        onnx.checker.check_model(model)
        return model.SerializeToString()

    # -- one operation each --------------------------------------------------------------------------------

    def _normalise(self, node: Node, source: str) -> None:
        mean, spread = (
            self._constant(name, np.array(numbers, np.float32).reshape(1, 3, 1, 1))
            for name, numbers in (("mean", MEAN), ("spread", SPREAD))
        )
        self._add_node("Sub", [source, mean], f"{node.name} centred")
        self._add_node("Div", [f"{node.name} centred", spread], node.name)

    def _conv(self, node: Node) -> None:
        p, (w, bias) = node.convolution, self._graph.weights[node.name]
        arrays = [self._constant(f"{node.name} w", w.transpose(0, 3, 1, 2))]
        arrays += [] if bias is None else [self._constant(f"{node.name} bias", bias)]
        (top, bottom), (left, right) = p.padding
        how = {"kernel_shape": [p.R, p.S], "strides": p.stride, "dilations": p.dilation, "group": p.groups}
        self._finish(node, "Conv", [*node.inputs, *arrays], pads=[top, left, bottom, right], **how)

    def _max_pool(self, node: Node) -> None:
        window, steps, pads = (
            [size] * n for size, n in ((node.window, 2), (node.stride, 2), (node.padding, 4))
        )
        how = {"kernel_shape": window, "strides": steps, "pads": pads, "ceil_mode": int(node.round_up)}
        self._finish(node, "MaxPool", node.inputs, **how)

    def _add(self, node: Node) -> None:
        self._finish(node, "Add", node.inputs)

    def _concat(self, node: Node) -> None:
        self._finish(node, "Concat", node.inputs, axis=1)

    def _mean(self, node: Node) -> None:
        self._finish(node, "GlobalAveragePool", node.inputs)

    # -- parts ---------------------------------------------------------------------------------------------

    def _finish(self, node: Node, kind: str, inputs, **how) -> None:
        """Note an operation, and ReLU after it if the node asks for that."""
        before = f"{node.name} before relu" if node.relu else node.name
        self._add_node(kind, inputs, before, **how)
        if node.relu:
            self._add_node("Relu", [before], node.name)

    def _add_node(self, kind: str, inputs, output: str, **how) -> None:
        self._nodes.append(helper.make_node(kind, inputs, [output], **how))

    def _constant(self, name: str, array: np.ndarray) -> str:
        self._constants.append(numpy_helper.from_array(np.ascontiguousarray(array), name))
        return name


def _channels_first(shape: tuple[int, ...]) -> list[int]:
    N, H, W, C = shape
    return [N, C, H, W]
