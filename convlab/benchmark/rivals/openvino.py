"""OpenVINO: arrays in NHWC order, as ours, in and out; in float32 by force.

Where a processor has instructions for bfloat16 its own choice is those: fewer digits, and another question.
"""

from __future__ import annotations

import numpy as np
import openvino
from openvino.preprocess import PrePostProcessor

from convlab.benchmark.baselines import Call
from convlab.benchmark.rivals.graph import Graph
from convlab.benchmark.rivals.onnx_model import onnx_model


def prepare(graph: Graph, x: np.ndarray, threads: int) -> Call:
    """Prepare a request; it reads x where it lies."""
    core = openvino.Core()
    layouts = PrePostProcessor(core.read_model(onnx_model(graph)))
    for end in (layouts.input(), layouts.output()):
        end.model().set_layout(openvino.Layout("NCHW"))
        end.tensor().set_layout(openvino.Layout("NHWC"))
    how = {
        "INFERENCE_PRECISION_HINT": "f32",
        "INFERENCE_NUM_THREADS": threads,
        "NUM_STREAMS": 1,
        "ENABLE_CPU_PINNING": False,  # the benchmark has chosen the core
    }
    request = core.compile_model(layouts.build(), "CPU", how).create_infer_request()
    request.set_input_tensor(openvino.Tensor(x, shared_memory=True))

    def run():
        request.infer()
        return request.get_output_tensor()

    return Call(run, lambda y: y.data)


def needs() -> object:
    """Return what it can do on this processor."""
    return openvino.Core().get_property("CPU", "OPTIMIZATION_CAPABILITIES")
