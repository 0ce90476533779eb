"""A wrong result beside the right one: expected, yours and their difference as grids, the first wrong cell
outlined, and the numbers of the input that it is made from.
"""

from __future__ import annotations

import html
from collections.abc import Collection
from typing import Any

import numpy as np

from convlab.figures.style import ROLES
from convlab.lessons.attempt import Outcome
from convlab.lessons.difference import numbers, wrong_cells
from convlab.lessons.exercise import Exercise
from convlab.lessons.kernel_exercise import KernelExercise

_MOST = 10  # rows and columns that are shown of an array
_PLANES = (("P", "Q"), ("H", "W"), ("R", "S"))  # the axes that are best looked at, if an array has them
_OVER, _UNDER = ROLES["active"], ROLES["input"]  # signed: too large, too small


def grids(exercise: Exercise | KernelExercise, outcome: Outcome) -> str:
    """Return the arrays of a wrong case side by side, as HTML; "" where there is nothing to see.

    Shown is the plane through the first wrong number. Where `exercise.window` says which numbers of an
    argument it is made from, that argument is shown too, with these outlined.
    """
    expected, got = np.asarray(outcome.expected), numbers(outcome.got)
    if got is None or not expected.ndim or got.ndim != expected.ndim or not got.size:
        return ""
    expected = expected.astype(np.float64)
    alike = got.shape == expected.shape
    wrong = wrong_cells(expected, got) if alike else np.zeros(expected.shape, bool)
    first = tuple(int(i) for i in np.unravel_index(wrong.argmax(), wrong.shape))
    outlined = {first} if alike else set()
    letters = exercise.shapes.get("return", "")
    plane = _Plane(first, letters if len(letters) == expected.ndim else "", expected.shape)
    of = f" {plane.name}" if expected.ndim > 2 else ""
    tables = [plane.table(expected, f"expected{of}", outlined), plane.table(got, f"yours{of}", outlined)]
    if alike:
        off = np.where(wrong, got - expected, 0)
        tables.append(plane.table(off, "yours - expected", {first}, signed=True))
    if alike and exercise.window is not None:
        tables.insert(0, _read(exercise, outcome, first))
    # Titles may take a line or two: with their feet in a line, arrays of one size begin at one height.
    style = "display:flex;flex-wrap:wrap;align-items:flex-end;gap:.6em 1.6em;margin-top:.6em"
    return f'<div style="{style}">{"".join(tables)}</div>'


def _read(exercise: Exercise | KernelExercise, outcome: Outcome, index: tuple[int, ...]) -> str:
    """Return the argument that a number of the result is made from, with what is read of it outlined."""
    assert exercise.window is not None
    name, read = exercise.window(index, *outcome.arguments)
    array = np.asarray(outcome.arguments[exercise.arguments.index(name)])
    inside = [i for i in read if all(0 <= j < size for j, size in zip(i, array.shape, strict=True))]
    beside = "" if len(inside) == len(read) else f", and {len(read) - len(inside)} zeros beside it"
    letters = exercise.shapes.get(name, "")
    at = inside[0] if inside else (0,) * array.ndim
    plane = _Plane(at, letters, array.shape)
    of = plane.name if array.ndim > 2 else ""
    return plane.table(array, f"{name}{of}: what {list(index)} reads{beside}", set(inside))


class _Plane:
    """Two axes of an array, and where along the others they are cut."""

    def __init__(self, at: tuple[int, ...], letters: str | tuple[str, ...], shape: tuple[int, ...]) -> None:
        pair = next((p for p in _PLANES if letters and all(axis in letters for axis in p)), None)
        axes = [letters.index(axis) for axis in pair] if pair else list(range(len(shape)))[-2:]
        self.axes, self.at = axes, at
        self.cut = tuple(slice(None) if a in axes else i for a, i in enumerate(at))
        # A large array is seen through a window with the first wrong number in its middle.
        self.from_ = [min(max(at[a] - _MOST // 2, 0), max(shape[a] - _MOST, 0)) for a in axes]

    @property
    def name(self) -> str:
        return "[" + ", ".join(":" if isinstance(i, slice) else str(i) for i in self.cut) + "]"

    def table(
        self, array: np.ndarray, title: str, outlined: Collection[tuple[int, ...]], signed: bool = False
    ) -> str:
        """Return the plane of an array as a table with its title."""
        plane = np.atleast_2d(array[self.cut])
        row0, col0 = self.from_ if len(self.from_) == 2 else (0, *self.from_)
        part = plane[row0 : row0 + _MOST, col0 : col0 + _MOST]
        most = np.abs(part[np.isfinite(part)]).max(initial=0) or 1
        rows = []
        for r, line in enumerate(part):
            cells = [
                _cell(value, value / most, self._place(r + row0, c + col0) in outlined, signed)
                for c, value in enumerate(line)
            ]
            rows.append(f"<tr>{''.join(cells)}</tr>")
        if part.shape != plane.shape:
            title += f" (rows {row0} to {row0 + len(part) - 1}, columns {col0} to {col0 + part.shape[1] - 1})"
        # The title is no caption: that would be squeezed to the width of a narrow table.
        title = html.escape(title)
        return (
            '<div style="max-width:100%;min-width:8.5em">'
            '<div aria-hidden="true" style="max-width:18em;padding:0 0 .2em;font-size:12px;line-height:1.35;'
            f'text-align:left;white-space:normal">{title}</div><div style="overflow-x:auto">'
            f'<table aria-label="{title}" style="border-collapse:collapse;margin:0;'
            'font-variant-numeric:tabular-nums;font-size:12px">'
            f"<tbody>{''.join(rows)}</tbody></table></div></div>"
        )

    def _place(self, row: int, col: int) -> tuple[int, ...]:
        """Return the index of a cell in the whole array."""
        index = list(self.at)
        for axis, i in zip(self.axes, (row, col)[-len(self.axes) :], strict=True):
            index[axis] = i
        return tuple(index)


def _cell(value: Any, share: float, outlined: bool, signed: bool) -> str:
    colour = (_OVER if value > 0 else _UNDER) if signed else ROLES["output"]
    tint = round(abs(share) * (45 if signed else 25)) if np.isfinite(share) else 0
    edge = (
        f"2px solid {ROLES['active']}"
        if outlined
        else "1px solid color-mix(in srgb,currentColor 22%,transparent)"
    )
    sign = "+" if signed and value > 0 else ""
    text = f"{sign}{value:.4g}" if value or not signed else "·"
    return (
        f'<td style="border:{edge};padding:.15em .4em;text-align:right;'
        f'background:color-mix(in srgb,{colour} {tint}%,transparent)">{text}</td>'
    )
