"""A graph as LiteRT reads it, in memory: a flatbuffer, written with the schema that the library brings.

Axes are in our order, NHWC. Filters are KRSC; those of a depthwise layer are (1, R, S, K), k running over the
channels and, within one, over its filters: our order of k.

Its windows know two paddings. "VALID" adds nothing; "SAME" adds as much as makes ceil(H / stride) rows, the
larger half at the end. Any other padding is an operation of its own, which XNNPACK takes into the convolution
behind it.
"""

from __future__ import annotations

from collections.abc import Sequence

import flatbuffers
import numpy as np
from ai_edge_litert import schema_py_generated as schema

from convlab.benchmark.rivals.graph import Graph
from convlab.networks.graph import Node
from convlab.networks.ops import MEAN, SPREAD

FORMAT, MARK = 3, b"TFL3"  # version of the schema, and the bytes by which a file is known
Ops, Options = schema.BuiltinOperator, schema.BuiltinOptions


def litert_model(graph: Graph) -> bytes:
    """Return a graph in float32 as the bytes of a LiteRT file."""
    writer = _Writer(graph)
    return _packed(writer.parts, writer.buffers, writer.kinds)


def _packed(parts: schema.SubGraphT, buffers: list, kinds: list[int]) -> bytes:
    model = schema.ModelT()
    model.version, model.subgraphs, model.buffers, model.operatorCodes = FORMAT, [parts], buffers, []
    for kind in kinds:
        code = schema.OperatorCodeT()
        code.builtinCode = code.deprecatedBuiltinCode = kind  # none of ours is too new for the old field
        code.version = 1
        model.operatorCodes.append(code)
    builder = flatbuffers.Builder()
    builder.Finish(model.Pack(builder), MARK)
    return bytes(builder.Output())


class _Writer:
    def __init__(self, graph: Graph):
        self._graph, self._nodes = graph, {node.name: node for node in graph.nodes}
        self.buffers, self.kinds = [schema.BufferT()], []  # the first stays empty: of all that is computed
        self.parts = schema.SubGraphT()
        self.parts.tensors, self.parts.operators = [], []
        self._made: dict[str, int] = {}  # node to tensor
        first, *rest = graph.nodes
        source = self._made[first.name] = self._tensor(first.shape)
        if first.op == "normalise":
            self._made[first.name] = self._normalise(first, source)
        for node in rest:
            self._made[node.name] = self._tensor(node.shape)
            getattr(self, f"_{node.op}")(node, *(self._made[name] for name in node.inputs))
        self.parts.inputs, self.parts.outputs = [source], [self._made[rest[-1].name]]

    # -- one operation each --------------------------------------------------------------------------------

    def _normalise(self, node: Node, x: int) -> int:
        steps = (Ops.SUB, np.array(MEAN, np.float32)), (Ops.DIV, np.array(SPREAD, np.float32))
        for kind, numbers in steps:
            y = self._tensor(node.shape)
            self._operation(kind, [x, self._constant(numbers)], y)
            x = y
        return x

    def _conv(self, node: Node, x: int) -> None:
        p, (w, bias) = node.convolution, self._graph.weights[node.name]
        each_alone = p.groups == p.C > 1
        kind = "DepthwiseConv2D" if each_alone else "Conv2D"
        code = Ops.DEPTHWISE_CONV_2D if each_alone else Ops.CONV_2D
        options = self._options(kind, node)
        options.strideH, options.strideW = p.stride
        options.dilationHFactor, options.dilationWFactor = p.dilation
        if each_alone:
            options.depthMultiplier = p.K // p.groups
            w = w.transpose(3, 1, 2, 0)
        x, options.padding = self._padded(x, p.x_shape, p.padding, p.extent, p.stride)
        bias = np.zeros(p.K, np.float32) if bias is None else bias  # it always has one
        self._operation(code, [x, self._constant(w), self._constant(bias)], self._made[node.name], options)

    def _max_pool(self, node: Node, x: int) -> None:
        before, options = self._nodes[node.inputs[0]], self._options("Pool2D", node)
        options.filterHeight = options.filterWidth = node.window
        options.strideH = options.strideW = node.stride
        needed = (node.stride * (size - 1) + node.window for size in node.shape[1:3])
        pads = tuple(
            (node.padding, max(0, size - node.padding - had))
            for size, had in zip(needed, before.shape[1:3], strict=True)
        )
        # Zeros, where minus infinity is meant: the same for numbers that have been through ReLU.
        window, steps = (node.window,) * 2, (node.stride,) * 2
        x, options.padding = self._padded(x, before.shape, pads, window, steps)
        self._operation(Ops.MAX_POOL_2D, [x], self._made[node.name], options)

    def _add(self, node: Node, y: int, x: int) -> None:
        self._operation(Ops.ADD, [y, x], self._made[node.name], self._options("Add", node))

    def _concat(self, node: Node, *parts: int) -> None:
        options = self._options("Concatenation", node)
        options.axis = 3
        self._operation(Ops.CONCATENATION, parts, self._made[node.name], options)

    def _mean(self, node: Node, x: int) -> None:
        options = schema.ReducerOptionsT()
        options.keepDims = True
        self._operation(
            Ops.MEAN, [x, self._constant(np.array([1, 2], np.int32))], self._made[node.name], options
        )

    # -- parts ---------------------------------------------------------------------------------------------

    def _padded(self, x: int, shape, pads, extent, stride) -> tuple[int, int]:
        """Return the tensor with its padding, and which of the two the window is to add to that."""
        if not any(map(any, pads)):
            return x, schema.Padding.VALID
        if all(map(_is_same, shape[1:3], pads, extent, stride)):
            return x, schema.Padding.SAME
        every = np.array([(0, 0), *pads, (0, 0)], np.int32)
        y = self._tensor([size + sum(pair) for size, pair in zip(shape, every.tolist(), strict=True)])
        self._operation(Ops.PAD, [x, self._constant(every)], y)
        return y, schema.Padding.VALID

    def _options(self, kind: str, node: Node):
        """Return the options of an operation that has ReLU in it."""
        options, after = getattr(schema, f"{kind}OptionsT")(), schema.ActivationFunctionType
        options.fusedActivationFunction = after.RELU if node.relu else after.NONE
        return options

    def _operation(self, kind: int, inputs: Sequence[int], output: int, options=None) -> None:
        if kind not in self.kinds:
            self.kinds.append(kind)
        made = schema.OperatorT()
        made.opcodeIndex, made.inputs, made.outputs = self.kinds.index(kind), list(inputs), [output]
        if options:
            made.builtinOptionsType = getattr(Options, type(options).__name__.removesuffix("T"))
            made.builtinOptions = options
        self.parts.operators.append(made)

    def _constant(self, array: np.ndarray) -> int:
        buffer = schema.BufferT()
        buffer.data = np.frombuffer(array.tobytes(), np.uint8)  # in the order of its axes, however it lies
        self.buffers.append(buffer)
        types = {"float32": schema.TensorType.FLOAT32, "int32": schema.TensorType.INT32}
        return self._tensor(array.shape, len(self.buffers) - 1, types[array.dtype.name])

    def _tensor(self, shape, buffer: int = 0, kind: int = schema.TensorType.FLOAT32) -> int:
        made = schema.TensorT()
        made.shape, made.buffer, made.type = list(shape), buffer, kind
        made.name = str(len(self.parts.tensors))
        self.parts.tensors.append(made)
        return len(self.parts.tensors) - 1


def _is_same(size: int, pads: tuple[int, int], extent: int, stride: int) -> bool:
    """Say whether "SAME" adds just these pads to an axis."""
    added = max(0, (-(-size // stride) - 1) * stride + extent - size)
    return tuple(pads) == (added // 2, added - added // 2)
