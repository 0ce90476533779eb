"""The roofs beside an independent witness: the loops of `roofs.c`, compiled here, run in turns with ours.

A roof that is measured too low flatters every kernel. So where a C compiler is found, C measures the same
roofs, and both are told. Nothing is saved.

    python -m tools.roofs_in_c
"""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from convlab.auto.roofs import copy_sizes, copy_speed, multiply_adds
from convlab.errors import ConvError
from convlab.machine.facts import cores_at_hand
from convlab.support.tables import TextTable
from convlab.support.units import bytes_text, count_text

SOURCE = Path(__file__).with_name("roofs.c")
COMPILERS = ("cc", "gcc", "clang")
# For this very processor; Arm's compilers have another word for it, and some have none.
_FLAGS = (["-march=native"], ["-mcpu=native"], [])
_TURNS = 6


class CompilerError(ConvError):
    """There is no C compiler, or it does not do what it should."""


@dataclass(frozen=True)
class Beside:
    """One roof, measured twice.

    Attributes
    ----------
    what, loop : str
        Which roof; what C does in its loop.
    ours, c : float
        FLOP/s or bytes a second, the best of all turns.
    text : callable
        Writes such a number.
    """

    what: str
    loop: str
    ours: float
    c: float
    text: Callable[[float], str]


class Loops:
    """The loops of `roofs.c`, callable from Python. They let go of Python's lock while they run.

    Parameters
    ----------
    library : Path
        What the compiler made of them.
    """

    def __init__(self, library: Path):
        c, array = ctypes.CDLL(str(library)), np.ctypeslib.ndpointer(np.float32, ndim=1, flags="C")
        c.numbers.restype = ctypes.c_long
        c.multiply_add.argtypes = [array, ctypes.c_float, ctypes.c_float, ctypes.c_long]
        c.copy.argtypes = [array, array, ctypes.c_long, ctypes.c_long]
        c.scale.argtypes = [array, array, ctypes.c_float, ctypes.c_long, ctypes.c_long]
        c.triad.argtypes = [array, array, array, ctypes.c_float, ctypes.c_long, ctypes.c_long]
        self._c, self._numbers = c, c.numbers()

    def multiply_add(self, flops: int) -> int:
        """Do about so many floating-point operations; return how many they were."""
        times = max(1, flops // (2 * self._numbers))
        self.add_half(np.zeros(self._numbers, np.float32), times)
        return 2 * self._numbers * times

    def add_half(self, numbers: np.ndarray, times: int) -> None:
        """Replace each number s by s / 2 + 1, so many times over: from 0 to 1, 1.5, 1.75, ..., 2."""
        self._c.multiply_add(numbers, 0.5, 1.0, times)

    def copy(self, target: np.ndarray, source: np.ndarray, times: int) -> None:
        """Copy an array by memcpy, so many times over."""
        self._c.copy(target, source, source.size, times)

    def scale(self, target: np.ndarray, source: np.ndarray, times: int) -> None:
        """Copy three times an array by a plain loop."""
        self._c.scale(target, source, 3.0, source.size, times)

    def triad(self, target: np.ndarray, b: np.ndarray, c: np.ndarray, times: int) -> None:
        """Store b + 3 c by a plain loop."""
        self._c.triad(target, b, c, 3.0, b.size, times)

    def check(self) -> None:
        """Run every loop once on a few numbers.

        Raises
        ------
        CompilerError
            If one of them does not do what it says.
        """
        sums, b, c = np.zeros(self._numbers, np.float32), *np.arange(1, 67, dtype=np.float32).reshape(2, 33)
        self.add_half(sums, 3)
        results = {"multiply_add": (sums, 1.75)}
        for name, arguments, expected in (
            ("copy", (b,), b),
            ("scale", (b,), 3 * b),
            ("triad", (b, c), b + 3 * c),
        ):
            target = np.zeros_like(b)
            getattr(self, name)(target, *arguments, 2)
            results[name] = (target, expected)
        for name, (got, expected) in results.items():
            if not (got == expected).all():
                raise CompilerError(f"`{name}` of {SOURCE.name} is wrong, as it was compiled here")


def find_compiler() -> str | None:
    """Return the path of a C compiler; None where there is none."""
    return next(filter(None, map(shutil.which, COMPILERS)), None)


@contextmanager
def compiled(compiler: str) -> Iterator[Loops]:
    """Compile `roofs.c` and load it, inside a ``with``.

    Raises
    ------
    CompilerError
        If the compiler fails; the message is its own.
    """
    # Windows keeps a library that is loaded: there the folder stays until the system clears it away.
    with tempfile.TemporaryDirectory(prefix="roofs-", ignore_cleanup_errors=True) as folder:
        library, complaint = Path(folder, "roofs.so"), ""
        for flags in _FLAGS:
            command = [compiler, "-O3", *flags, "-shared", "-fPIC", "-o", str(library), str(SOURCE)]
            try:
                done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=60)
            except (OSError, subprocess.SubprocessError) as error:
                raise CompilerError(f"{compiler} does not run: {error}") from None
            complaint = complaint or done.stderr.strip() or f"it ended with code {done.returncode}"
            if done.returncode == 0 and library.exists():
                break
        else:
            raise CompilerError(f"{compiler} cannot compile {SOURCE.name}: {complaint.splitlines()[0]}")
        try:
            loops = Loops(library)
        except (OSError, AttributeError) as error:
            raise CompilerError(f"what {compiler} made of {SOURCE.name} cannot be loaded: {error}") from None
        loops.check()
        yield loops


def compare(c: Loops) -> list[Beside]:
    """Measure every roof, ours and C's in turns: what disturbs meets both."""
    found = []
    for threads in sorted({1, cores_at_hand()}):
        on = "one core" if threads == 1 else f"{threads} cores"
        ours = partial(multiply_adds, threads, 60 // _TURNS)
        rates = _in_turns(ours, partial(ours, loop=c.multiply_add))
        found.append(
            Beside(f"multiply-adds, {on}", "sum * a + b", *rates, lambda n: f"{count_text(n)}FLOP/s")
        )
    for level, size in copy_sizes().items():
        ours = partial(copy_speed, size, 2)
        rates = _in_turns(ours, partial(ours, ways=(c.copy, c.scale)), partial(_triad_speed, c, size))
        loops = ("copy, scale", "triad") if level == "memory" else ("copy, scale",)
        for loop, rate in zip(loops, rates[1:], strict=False):
            found.append(Beside(f"copies, {level}", loop, rates[0], rate, lambda n: f"{bytes_text(n)}/s"))
    return found


def table(rows: list[Beside]) -> TextTable:
    """Return what `compare` found, for people."""
    return TextTable(
        "The roofs, ours and C's, measured in turns",
        ("roof", "ours", "C", "ours / C", "loop in C"),
        [
            (row.what, row.text(row.ours), row.text(row.c), f"{row.ours / row.c:.3f}", row.loop)
            for row in rows
        ],
    )


def _triad_speed(c: Loops, size: int, rounds: int = 2) -> float:
    """Measure the bytes a second of a triad, two read and one written, on arrays as large as the copy's."""
    more = np.ones(size // 4, np.float32)

    def triad(target, source, times):
        c.triad(target, source, more, times)

    return 1.5 * copy_speed(size, rounds, ways=(triad,))


def _in_turns(*measures: Callable[[], float]) -> list[float]:
    """Return the best of several turns of each: what disturbs can only slow down."""
    turns = [[measure() for measure in measures] for _ in range(_TURNS)]
    return [max(rates) for rates in zip(*turns, strict=True)]
