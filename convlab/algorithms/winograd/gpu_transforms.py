"""A small matrix applied to numbers in registers: a function for kernels, written out from the matrix.

    into = written_out(in_steps(BT), "into", "float32")
    into(cells, at, step)        # cells[at], cells[at + step], ...: n numbers become BT @ numbers

A loop over the matrix would multiply by zeros and ones, and look its numbers up. What is written here has a
line for each sum and nothing that does not count. `source` returns it, to be read::

    >>> from convlab.algorithms.winograd.transforms import transforms
    >>> print(source([transforms(2).AT], "output").rstrip())
    def output(cells, at, step):
        d0 = cells[at]
        d1 = cells[at + 1 * step]
        d2 = cells[at + 2 * step]
        d3 = cells[at + 3 * step]
        a0 = d0 + d1 + d2
        a1 = d1 + d3 - d2
        cells[at] = a0
        cells[at + 1 * step] = a1

With `at` and `step` known to the compiler, `cells` is no array in memory any more: its numbers are registers.
"""

from __future__ import annotations

import hashlib
import linecache
from functools import lru_cache

from convlab.algorithms.winograd.transforms import Matrix
from convlab.gpu.kernels import device_function
from convlab.gpu.numba_cuda import number_type


def source(steps: list[Matrix], name: str) -> str:
    """Return the function's text.

    Parameters
    ----------
    steps : list of matrices
        Applied first to last, as `transforms.in_steps` returns them.
    name : str
        Of the function.
    """
    names = [f"d{i}" for i in range(len(steps[0][0]))]
    lines = [f"{name} = {_cell(i)}" for i, name in enumerate(names)]
    for letter, matrix in zip("abcdef", steps, strict=False):
        sums = [_sum(row, names) for row in matrix]
        # A row with a single 1 only hands a number on.
        lines += [f"{letter}{i} = {text}" for i, text in enumerate(sums) if text not in names]
        names = [text if text in names else f"{letter}{i}" for i, text in enumerate(sums)]
    lines += [f"{_cell(i)} = {name}" for i, name in enumerate(names)]
    return "\n".join([f"def {name}(cells, at, step):", *(f"    {line}" for line in lines), ""])


@lru_cache
def _function(text: str, dtype: str):
    name = text.partition("(")[0].removeprefix("def ")
    file = f"<{name}, written out {hashlib.sha256((text + dtype).encode()).hexdigest()[:12]}>"
    names = {"number": number_type(dtype)}
    exec(compile(text, file, "exec"), names)
    # What reads a function's source, the lane simulator among them, looks here.
    linecache.cache[file] = len(text), None, text.splitlines(keepends=True), file
    return device_function(names[name])


def written_out(steps: list[Matrix], name: str, dtype: str):
    """Return the device function for numbers of type `dtype`."""
    return _function(source(steps, name), dtype)


def _cell(i: int) -> str:
    return f"cells[at + {i} * step]" if i else "cells[at]"


def _sum(row, names) -> str:
    """Return the sum of row[i] * names[i] as text, with as few operations as these numbers allow."""
    terms = [(number, name) for number, name in zip(row, names, strict=True) if number]
    terms.sort(key=lambda term: term[0] < 0)  # to begin with a minus would cost one more
    text = ""
    for number, name in terms:
        sign = "-" if number < 0 else "+"
        term = name if abs(number) == 1 else f"number({float(abs(number))!r}) * {name}"
        text += f" {sign} {term}" if text else term if sign == "+" else f"-{term}"
    return text
