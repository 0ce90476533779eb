"""Libraries that run whole networks, as rivals: on one layer, and from a photo to its features.

    ONNX Runtime          arrays in NCHW order, its own; inside it reorders them into blocks of channels
    OpenVINO              arrays in NHWC order; float32 by force
    LiteRT                arrays in NHWC order, its own; XNNPACK does the work
    torch                 PyTorch's eager mode on a whole network, arrays in NCHW order
    torch channels_last   the same, arrays in NHWC order
    torch inductor        PyTorch's compiler with frozen weights, on a whole network

`pip install convlab[rivals]` installs them; PyTorch is `convlab[torch]`. A library's file writes what we have
noted (`graph`) in the library's own terms, and returns the call that is timed.

    graph                        what all are given: a whole network, or one of a single layer
    onnx_model, onnx_runtime     the graph as ONNX; who runs it
    openvino                     reads ONNX, too
    litert_model, litert         the graph as LiteRT's flatbuffer; who runs it
    torch_network                the graph in PyTorch
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from convlab.algorithms.binding import late
from convlab.benchmark.baselines import Baseline, Call, load_torch
from convlab.benchmark.rivals.graph import Graph, one_layer
from convlab.problem import ConvProblem

NETWORK = "network"  # what such a baseline computes, in place of a pass
Prepare = Callable[[Graph, np.ndarray, int], Call]  # of a graph, x (N, H, W, C), threads; y is (N, P, Q, K)


def _of_layer(prepare: Prepare):
    return lambda problem, x, w, threads: prepare(one_layer(problem, w), x, threads)


def _of_network(prepare: Prepare):
    def features(model, photo, threads):
        call = prepare(model, photo, threads)
        return replace(call, array=lambda y: call.array(y).reshape(len(photo), model.features))

    return features


def _refuses(problem: ConvProblem) -> str | None:
    return None if problem.dtype == "float32" else f"dtype is {problem.dtype}; it computes in float32"


def _both(name: str, package: str, file: str) -> tuple[Baseline, Baseline]:
    """Return a library's two: of a layer, and of a network."""
    prepare, needs = (late(f"{__name__}.{file}", function) for function in ("prepare", "needs"))
    layer = Baseline(name, name, package, _of_layer(prepare), _refuses, needs)
    return layer, replace(layer, prepare=_of_network(prepare), pass_=NETWORK)


def _torch(name: str, function: str, *bound, needs=load_torch) -> Baseline:
    prepare = _of_network(late(f"{__name__}.torch_network", function, bound))
    return Baseline(name, "PyTorch", "torch", prepare, _refuses, needs, pass_=NETWORK)


RIVALS: tuple[Baseline, ...] = (
    *_both("ONNX Runtime", "onnxruntime", "onnx_runtime"),
    *_both("OpenVINO", "openvino", "openvino"),
    *_both("LiteRT", "ai_edge_litert", "litert"),
    _torch("torch", "eager", False),
    _torch("torch channels_last", "eager", True),
    _torch("torch inductor", "inductor", needs=late(f"{__name__}.torch_network", "compiles")),
)
