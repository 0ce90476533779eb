"""What the notebooks use again and again: random arrays, a function's source, a table, a checked trace.

What they need of other rooms all the time stands here, too, so that a notebook imports from few places.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Iterable
from textwrap import dedent
from typing import TYPE_CHECKING

import numpy as np

from convlab.algorithms.spec import Algorithm
from convlab.api import plan
from convlab.auto.timing import compare, material
from convlab.errors import ConvError
from convlab.oracle import reference, tolerance
from convlab.problem import ConvProblem
from convlab.support.aligned import aligned_empty
from convlab.support.checked import checked
from convlab.support.files import data_path
from convlab.support.measured import fastest
from convlab.support.tables import as_text
from convlab.support.units import bytes_text, count_text, ratio_text, time_text

if TYPE_CHECKING:
    from IPython.display import Code, Markdown

__all__ = [
    "aligned_empty",
    "as_text",
    "bytes_text",
    "compare",
    "count_text",
    "data_path",
    "fastest",
    "material",
    "random_arrays",
    "ratio_text",
    "reference",
    "show",
    "table",
    "time_text",
    "tolerance",
    "trace",
]


@checked
def random_arrays(problem: ConvProblem) -> tuple[np.ndarray, np.ndarray]:
    """Return x and w for a problem, of normally distributed numbers; the same ones at every call.

    Parameters
    ----------
    problem : ConvProblem

    Returns
    -------
    x : ndarray, (N, H, W, C)
    w : ndarray, (K, R, S, C/groups)
    """
    rng = np.random.default_rng(0)
    x, w = (rng.standard_normal(shape) for shape in (problem.x_shape, problem.w_shape))
    return x.astype(problem.dtype), w.astype(problem.dtype)


def show(*functions: Callable, begin: str = "", end: str = "") -> Code:
    """Return the source of functions and kernels, without their decorators and their descriptions.

    Parameters
    ----------
    *functions : callable
        Compiled ones and kernels are shown as they were written.
    begin, end : str
        Only the lines from the first that begins like `begin` to the next that begins like `end`.

    Raises
    ------
    ValueError
        If no line begins so.
    """
    from IPython.display import Code

    class Source(Code):
        """Code whose long lines break between words: JupyterLab breaks what is shown anywhere."""

        def _repr_html_(self):
            return super()._repr_html_().replace("<pre>", '<pre style="word-break: normal">', 1)

    return Source("\n\n".join(_source(function, begin, end) for function in functions), language="python")


def _source(function: Callable, begin: str, end: str) -> str:
    lines = dedent(inspect.getsource(inspect.unwrap(getattr(function, "py_func", function)))).splitlines()
    (tree,) = ast.parse("\n".join(lines)).body
    first = tree.body[0]
    if ast.get_docstring(tree) is not None:
        del lines[first.lineno - 1 : first.end_lineno]
    lines = lines[tree.lineno - 1 :]
    if not begin:
        return "\n".join(lines)
    at = _find(lines, begin, 0)
    return dedent("\n".join(lines[at : _find(lines, end, at) + 1]))


def _find(lines: list[str], words: str, start: int) -> int:
    for number, line in enumerate(lines[start:], start):
        if line.strip().startswith(words):
            return number
    raise ValueError(f"no line of this source begins like {words!r}")


def table(head: Iterable, rows: Iterable[Iterable]) -> Markdown:
    """Return a table: its head, and rows of anything that has a text."""
    from IPython.display import Markdown

    head = list(head)
    lines = [head, ["---"] * len(head), *rows]
    return Markdown("\n".join(f"| {' | '.join(map(str, line))} |" for line in lines))


@checked
def trace(algorithm: Algorithm | str, problem: ConvProblem, device: Callable | None = None) -> list:
    """Run an algorithm lane by lane, hold what it wrote against the definition, and return its traces.

    Parameters
    ----------
    algorithm : Algorithm or str
    problem : ConvProblem
    device : callable, optional
        Makes the device; by default the simulator. One that runs a part of the blocks leaves the rest of y
        unwritten, and that is not looked at.

    Returns
    -------
    list of convlab.gpu.simulator.Trace
        One a launch.

    Raises
    ------
    ConvError
        If an output is wrong.
    """
    from convlab.gpu.device import using
    from convlab.gpu.simulated_gpu import Simulator

    x, w = random_arrays(problem)
    there = (device or Simulator)()
    with using(there):
        y = plan(problem, w, algorithm=algorithm, backend="gpu")(x)
    right = np.abs(y - reference(x, w, problem)) <= tolerance(x, w, problem)
    wrong = ~right if device is None else ~right & ~np.isnan(y)  # NaN: not written
    if wrong.any():
        raise ConvError(f"{wrong.sum()} of {wrong.size} outputs are wrong")
    return there.traces
