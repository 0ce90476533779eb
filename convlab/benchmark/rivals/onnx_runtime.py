"""ONNX Runtime: arrays in its own order, NCHW, in and out; inside they lie in blocks of channels."""

from __future__ import annotations

import numpy as np
import onnxruntime

from convlab.benchmark.baselines import Call
from convlab.benchmark.rivals.graph import Graph
from convlab.benchmark.rivals.onnx_model import onnx_model

_ERRORS = 3  # what it reports: no warnings


def prepare(graph: Graph, x: np.ndarray, threads: int) -> Call:
    """Prepare a session; its input and its output stay where they are from call to call."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL
    options.log_severity_level = _ERRORS
    session = onnxruntime.InferenceSession(onnx_model(graph), options, providers=["CPUExecutionProvider"])
    (source,), (target,) = session.get_inputs(), session.get_outputs()
    photo = onnxruntime.OrtValue.ortvalue_from_numpy(np.ascontiguousarray(x.transpose(0, 3, 1, 2)))
    y = onnxruntime.OrtValue.ortvalue_from_shape_and_type(target.shape, np.float32, "cpu")
    binding = session.io_binding()
    binding.bind_ortvalue_input(source.name, photo)
    binding.bind_ortvalue_output(target.name, y)

    def run():
        session.run_with_iobinding(binding)
        return y

    return Call(run, lambda y: y.numpy().transpose(0, 2, 3, 1))


def needs() -> object:
    """Return what starts a session; importing this file has loaded both libraries."""
    return onnxruntime.InferenceSession
