"""What an algorithm is: a name, a reason when it cannot serve, and for each backend a form that runs it."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from math import ceil, inf, log2
from typing import Any

import numpy as np

from convlab.backends import choose_backend
from convlab.errors import UnsupportedError
from convlab.problem import ConvProblem

LETTERS = tuple("NHWCKRSPQGb")
CONSTANTS = ("MR", "threads")  # rows of this processor's register tile; threads of a run


def fast_size(least) -> int:
    """Return the smallest 2^a * 3^b * 5^c that is not below `least`: a size that fast transforms like.

    A transform of n numbers is built from transforms of n's prime factors, so a large prime is slow.
    """
    best, five = inf, 1
    while five < best:
        three = five
        while three < best:
            size = three
            while size < least:
                size *= 2
            best = min(best, size)
            three *= 3
        five *= 5
    return best


_FAST_IN_JAVASCRIPT = (  # the same, for pages without Python
    "const fast = (least) => { let best = Infinity; "
    "for (let five = 1; five < best; five *= 5) { for (let three = five; three < best; three *= 3) { "
    "let size = three; while (size < least) size *= 2; best = min(best, size); } } return best; }; "
)


def _ceil(value) -> Fraction:
    return Fraction(ceil(value))


def _log2(value) -> Fraction:
    return Fraction(log2(value))


_FUNCTIONS = {"ceil": _ceil, "max": max, "min": min, "log2": _log2, "fast": fast_size}


class Formula:
    """A cost in the letters of `ConvProblem`, written once and read thrice: computed, shown, drawn.

    Parameters
    ----------
    text : str
        An expression in N H W C K R S P Q, G (groups) and b (bytes of one number), with
        ``+ - * /``, ``ceil``, ``max`` and ``min``, ``log2``, and ``fast`` (`fast_size`); MR is the rows of
        this processor's register tile, `threads` the threads of a run. It is valid Python and valid
        JavaScript alike, so that an interactive figure computes the very number that the library computes.

    parts : dict of str to str, optional
        Names for what is long or comes twice, each an expression of the letters and of the names before it.

    Examples
    --------
    >>> rows = Formula("N*P*Q * R*S*C * b")
    >>> rows(ConvProblem(1, 56, 56, 64, 64, 3, 3, padding=1))
    7225344
    >>> str(rows)
    'N·P·Q × R·S·C × b'
    >>> Formula("N * tiles * b", {"tiles": "ceil(P/4)"})(ConvProblem(1, 9, 9, 1, 1, 1, 1))
    12
    """

    _allowed = (ast.Expression, ast.BinOp, ast.Add, ast.Sub, ast.Mult, ast.Div, ast.Constant, ast.Call)

    def __init__(self, text: str, parts: dict[str, str] | None = None):
        self.text, self.parts = text, parts or {}
        self._divides = self._tiled = self._fast = False
        self._code, known = {}, {*LETTERS, *CONSTANTS, *_FUNCTIONS}
        for name, expression in {**self.parts, "": text}.items():
            self._code[name] = self._compile(expression, known)
            known.add(name)

    def _compile(self, text: str, known: set[str]):
        """Return one expression's code, after a look at every symbol in it."""
        for node in ast.walk(tree := ast.parse(text, mode="eval")):
            if isinstance(node, ast.Name):
                if node.id not in known:
                    raise ValueError(f"{node.id!r} in formula {text!r} is no letter of ConvProblem")
                self._tiled |= node.id == "MR"
                self._fast |= node.id == "fast"
            elif not isinstance(node, (*self._allowed, ast.Load)):
                raise ValueError(f"{type(node).__name__} is not allowed in formula {text!r}")
            self._divides |= isinstance(node, ast.Div)
        return compile(tree, "<formula>", "eval")

    def __call__(self, problem: ConvProblem, threads: int = 1) -> int:
        """Return the value for one problem, rounded; exact up to there, but for a `log2` (53 bits)."""
        values = problem.letters | self._constants(threads)
        if self._divides:  # fractions are exact but slow: only where whole numbers would become floats
            values = {letter: Fraction(size) for letter, size in values.items()}
        for name, code in self._code.items():
            values[name] = eval(code, {"__builtins__": {}} | _FUNCTIONS, values)
        return round(values[""])

    @property
    def javascript(self) -> str:
        """The body of a JavaScript function of the letters, for one thread on this processor."""
        return f"{self._javascript_parts}return Math.round({self.text});"

    @property
    def javascript_values(self) -> str:
        """The body of another one, that returns the parts by their names."""
        return f"{self._javascript_parts}return {{{', '.join(self.parts)}}};"

    @property
    def _javascript_parts(self) -> str:
        known = self._constants(threads=1) | self.parts
        lines = "".join(f"const {name} = {value}; " for name, value in known.items())
        fast = _FAST_IN_JAVASCRIPT if self._fast else ""
        return f"const {{ceil, max, min, log2}} = Math; {fast}{lines}"

    def _constants(self, threads: int) -> dict[str, int]:
        if not self._tiled:
            return {"threads": threads}
        from convlab.tile import tile_for

        return {"threads": threads, "MR": tile_for("float32").rows}

    def __str__(self) -> str:
        return readable(self.text)

    def __repr__(self) -> str:
        return f"Formula({self.text!r})"


def readable(expression: str) -> str:
    """Return an expression with the signs of multiplication that people write."""
    return expression.replace(" * ", " × ").replace("*", "·")


NOTHING = Formula("0")
WEIGHTS = Formula("K*R*S*C/G * b")
DIRECT_FLOPS = Formula("2 * N*P*Q * K * R*S*C/G")


@dataclass(frozen=True)
class Cost:
    """What one run of an algorithm costs, by its model.

    Attributes
    ----------
    flops : int
        Floating-point operations of one run.
    bytes_moved : int
        Bytes read and written if every array is streamed once per pass over it.
    workspace_bytes : int
        Bytes allocated beside x, w, y and the packed weights.
    packed_bytes : int
        Bytes of the weights in the layout this form wants.
    """

    flops: int
    bytes_moved: int
    workspace_bytes: int
    packed_bytes: int

    @property
    def intensity(self) -> float:
        """FLOPs for each byte moved."""
        return self.flops / self.bytes_moved


def _copy(problem: ConvProblem, w: np.ndarray) -> np.ndarray:
    return w.copy()


def _nothing(problem: ConvProblem, threads: int) -> dict[str, np.ndarray]:
    return {}


@dataclass(frozen=True)
class Form:
    """One backend's way to run an algorithm.

    Attributes
    ----------
    run : callable
        ``run(problem, x, packed, workspace, y, threads)`` writes the convolution of x into y, without
        bias, on at most so many threads.
    bytes_moved, workspace_bytes : Formula
        The cost model, in the letters of `ConvProblem`.
    packed_bytes : callable
        The rest of it: ``packed_bytes(problem)``, which may depend on the processor's vectors.
    pack : callable
        ``pack(problem, w)`` returns a copy of the weights in the layout `run` wants. Done once, by `plan`.
    allocate : callable
        ``allocate(problem, threads)`` returns the named arrays of the workspace. Done once, by `plan`.
    resize : callable, optional
        ``resize(old, new, workspace)`` returns the workspace of another size of the input, and how much of
        it was made anew: "nothing", "part" or "all". Without it all of it is.
    packs_for : callable, optional
        ``packs_for(problem)`` returns what the packed weights depend on beside w: a spectrum is as large as
        a transform. A plan of such a form keeps w, to pack it anew for another size.
    """

    run: Callable[[ConvProblem, np.ndarray, Any, dict[str, np.ndarray], np.ndarray, int], None]
    bytes_moved: Formula
    workspace_bytes: Formula = NOTHING
    packed_bytes: Callable[[ConvProblem], int] = WEIGHTS
    pack: Callable[[ConvProblem, np.ndarray], Any] = _copy
    allocate: Callable[[ConvProblem, int], dict[str, np.ndarray]] = _nothing
    resize: Callable[[ConvProblem, ConvProblem, dict], tuple[dict[str, np.ndarray], str]] | None = None
    packs_for: Callable[[ConvProblem], Any] | None = None


@dataclass(frozen=True)
class Algorithm:
    """One way to compute a convolution.

    Attributes
    ----------
    name : str
        The name `conv2d` takes.
    summary : str
        One sentence for tables and figures.
    source : str
        Where the algorithm is described.
    forms : dict of str to Form
        Backend name to form.
    refuses : callable
        ``refuses(problem)`` returns the reason why this problem is not served, or None.
    flops : Formula
        Floating-point operations of one run.
    rounding : float
        Rounding error beside that of a plain sum: 1 where each output is one, more where large numbers
        cancel on the way.
    ieee : bool
        Does a NaN or an infinity in x reach just the outputs whose windows hold it? Algorithms that mix
        neighbouring windows do not claim so.
    """

    name: str
    summary: str
    source: str
    forms: dict[str, Form] = field(repr=False)
    refuses: Callable[[ConvProblem], str | None] = field(default=lambda problem: None, repr=False)
    flops: Formula = field(default=DIRECT_FLOPS, repr=False)
    rounding: float = field(default=1.0, repr=False)
    ieee: bool = field(default=True, repr=False)

    def supports(self, problem: ConvProblem) -> str | None:
        """Return None if the algorithm serves `problem`, else the reason why not."""
        return self.refuses(problem)

    def form(self, backend: str = "auto") -> Form:
        """Return the form that runs on `backend`.

        Raises
        ------
        ConvError
            If there is no such backend, or no form for it.
        """
        name = choose_backend(backend)
        if name not in self.forms:
            raise UnsupportedError(f"algorithm={self.name!r} has no form for backend={name!r}")
        return self.forms[name]

    def cost(self, problem: ConvProblem, backend: str = "auto", threads: int = 1) -> Cost:
        """Return the cost model's figures for one run on `backend`."""
        form = self.form(backend)
        return Cost(
            flops=self.flops(problem),
            bytes_moved=form.bytes_moved(problem),
            workspace_bytes=form.workspace_bytes(problem, threads),
            packed_bytes=form.packed_bytes(problem),
        )

    def workspace_bytes(self, problem: ConvProblem, backend: str = "auto", threads: int = 1) -> int:
        """Return the bytes this algorithm allocates beside x, w, y and the packed weights."""
        return self.form(backend).workspace_bytes(problem, threads)

    @cached_property
    def backends(self) -> tuple[str, ...]:
        """Names of the backends that run this algorithm."""
        return tuple(self.forms)
