"""LiteRT, which TensorFlow Lite is called now: XNNPACK, where the indirect convolution comes from.

Arrays are in its own order, NHWC. LiteRT hands to XNNPACK what that takes and keeps the rest. Of these graphs
nothing is left; a test looks.
"""

from __future__ import annotations

import numpy as np
from ai_edge_litert.interpreter import Interpreter

from convlab.benchmark.baselines import Call
from convlab.benchmark.rivals.graph import Graph
from convlab.benchmark.rivals.litert_model import litert_model


def prepare(graph: Graph, x: np.ndarray, threads: int) -> Call:
    """Prepare an interpreter; its input and its output stay where they are from call to call."""
    interpreter = Interpreter(model_content=litert_model(graph), num_threads=threads)
    interpreter.allocate_tensors()
    (source,), (target,) = interpreter.get_input_details(), interpreter.get_output_details()
    interpreter.set_tensor(source["index"], x)

    def run():
        interpreter.invoke()
        return interpreter

    return Call(run, lambda done: done.get_tensor(target["index"]))


def needs() -> object:
    """Return what runs a graph; importing this file has loaded the library."""
    return Interpreter
