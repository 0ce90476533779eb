"""What the notebooks share: arrays, sources, tables, and traces that are held against the definition."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from convlab import ALGORITHMS, ConvError, ConvProblem
from convlab.algorithms.direct.gpu import one_thread_per_output
from convlab.algorithms.direct.reference import seven_loops
from convlab.inspect import FirstBlock
from convlab.notebook import random_arrays, show, table, trace

SMALL = ConvProblem(1, 5, 5, 4, 8, 3, 3, padding=1)


def gpu_direct(then):
    """Return "direct" on the GPU, whose output something happens to."""
    whole = ALGORITHMS["direct"]
    form = whole.forms["gpu"]

    def run(problem, x, packed, workspace, y, threads):
        form.run(problem, x, packed, workspace, y, threads)
        then(y)

    return replace(whole, forms={"gpu": replace(form, run=run)})


def test_arrays_are_the_same_every_time_and_of_the_problem():
    (x, w), (again, _) = random_arrays(SMALL), random_arrays(SMALL)
    assert (x.shape, w.shape, x.dtype) == (SMALL.x_shape, SMALL.w_shape, SMALL.dtype)
    np.testing.assert_array_equal(x, again)


def test_a_source_is_shown_without_decorators_and_description():
    text = show(seven_loops).data
    assert text.startswith("def seven_loops(")
    assert seven_loops.__doc__.splitlines()[0] not in text
    kernel = one_thread_per_output("float32")
    assert show(kernel).data.startswith("def ")
    assert '<pre style="word-break: normal">' in show(kernel)._repr_html_()
    part = show(kernel, begin="i = cuda.grid", end="y[").data.splitlines()
    assert part[0].startswith("i = cuda.grid")
    assert part[-1].strip().startswith("y[")
    with pytest.raises(ValueError, match="begins like 'nothing'"):
        show(kernel, begin="nothing")


def test_a_table_has_a_head_and_rows():
    assert table(("a", "b"), [(1, None)]).data == "| a | b |\n| --- | --- |\n| 1 | None |"


def test_a_trace_is_of_a_run_that_was_right():
    (launch,) = trace("direct", SMALL)
    assert launch.reads("x").any()
    with pytest.raises(ConvError, match="1 of 200 outputs are wrong"):
        trace(gpu_direct(lambda y: y.reshape(-1).__setitem__(7, 100)), SMALL)


def test_outputs_that_were_not_written_are_wrong_unless_only_some_blocks_ran():
    unwritten = gpu_direct(lambda y: y.reshape(-1).__setitem__(7, np.nan))
    with pytest.raises(ConvError, match="1 of 200 outputs are wrong"):
        trace(unwritten, SMALL)
    assert trace("direct", replace(SMALL, H=20, W=20), FirstBlock)
