"""A cost as an expression in the letters of a convolution: computed, shown in tables, drawn in a browser."""

from __future__ import annotations

import ast
from fractions import Fraction
from functools import cached_property, lru_cache
from math import ceil, inf, log2
from types import CodeType

from convlab.cpu.product_tile import in_javascript, rows_and_columns, side_by_side
from convlab.cpu.tile_size import heights, tile_for, time_of
from convlab.problem import ConvProblem

LETTERS = tuple("NHWCKRSPQGb")
CONSTANTS = ("MR", "VL", "TR", "TC", "GM", "threads")  # what they are: see `Formula`
KEPT = 1024  # values that a formula remembers
_OF_ITS_TILE = ("TR", "TC", "GM")
_OF_A_TILE = ("MR", "VL", "tiled", *_OF_ITS_TILE)


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


def tiled_rows(rows) -> Fraction | int:
    """Return how long so many rows take, in rows, if the register tile has the height that fits best.

    That is the height of `tile_for(rows=...)`. `rows` is any number, a `Fraction` too.
    """
    return min(time_of(rows, height) for height in heights())


_FAST_IN_JAVASCRIPT = (  # the same, for pages without Python
    "const fast = (least) => { let best = Infinity; "
    "for (let five = 1; five < best; five *= 5) { for (let three = five; three < best; three *= 3) { "
    "let size = three; while (size < least) size *= 2; best = min(best, size); } } return best; }; "
)


def _tile_in_javascript() -> str:
    """Return what sets TR, TC and GM."""
    shape = in_javascript("ceil(K / G / lanes)", "P * Q", "R * S * C / G")
    together = "const GM = K == C && lanes % (K / G) == 0 ? 1 : G; "
    return f"const lanes = VL * 4 / b; const [TR, TV] = {shape}, TC = TV * lanes; {together}"


_ALIKE = {"max": max, "min": min, "fast": fast_size, "tiled": tiled_rows}
_QUICK = {"__builtins__": {}, "ceil": ceil, "log2": log2} | _ALIKE
_FUNCTIONS = {
    "ceil": lambda value: Fraction(ceil(value)),
    "log2": lambda value: Fraction(log2(value)),
} | _ALIKE


class Formula:
    """A cost in the letters of `ConvProblem`, written once and read thrice: computed, shown, drawn.

    Parameters
    ----------
    text : str
        An expression in N H W C K R S P Q, G (groups) and b (bytes of one number), with
        ``+ - * /``, ``ceil``, ``max`` and ``min``, ``log2``, ``fast`` (`fast_size`) and ``tiled``
        (`tiled_rows`); MR is the rows of this processor's usual register tile, VL the float32 numbers of its
        vectors, TR and TC the rows and columns of the tile that multiplies just this layer (`product_tile`),
        GM the products that its groups are, one where they lie side by side, and `threads` the threads of a
        run. It is valid Python and valid JavaScript alike, so that a picture
        to play with computes the very number that the library computes.
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
        self._kept = lru_cache(KEPT)(self._exact)  # a network asks for the same again and again

    @cached_property
    def _code(self) -> dict[str, CodeType]:
        """The code of each part and, by the name "", of the text; compiled when it is first asked for.

        There are hundreds of formulas, and who imports the library wants none of them yet.
        """
        code, known = {}, {*LETTERS, *CONSTANTS, *_FUNCTIONS}
        for name, expression in {**self.parts, "": self.text}.items():
            code[name] = self._compile(expression, known)
            known.add(name)
        return code

    def _compile(self, text: str, known: set[str]) -> CodeType:
        """Return one expression's code, after a look at every symbol in it."""
        for node in ast.walk(tree := ast.parse(text, mode="eval")):
            if isinstance(node, ast.Name):
                if node.id not in known:
                    raise ValueError(f"{node.id!r} in formula {text!r} is no letter of ConvProblem")
            elif not isinstance(node, (*self._allowed, ast.Load)):
                raise ValueError(f"{type(node).__name__} is not allowed in formula {text!r}")
        return compile(tree, "<formula>", "eval")

    @cached_property
    def _symbols(self) -> frozenset[str]:
        """The letters and functions it asks for, and "/" if it divides."""
        names = {name for code in self._code.values() for name in code.co_names}
        divides = any("/" in text for text in (self.text, *self.parts.values()))
        return frozenset({*names, "/"} if divides else names)

    @cached_property
    def _tiled(self) -> bool:
        return not self._symbols.isdisjoint(_OF_A_TILE)

    @cached_property
    def _of_its_tile(self) -> bool:
        return not self._symbols.isdisjoint(_OF_ITS_TILE)

    def quick(self, problem: ConvProblem, threads: int = 1) -> float:
        """Return the value in floating point: a tenth of the time, for models that are rougher than that."""
        values = problem.letters | self._constants(problem, threads)
        for name, code in self._code.items():
            values[name] = eval(code, _QUICK, values)
        return values[""]

    def __call__(self, problem: ConvProblem, threads: int = 1) -> int:
        """Return the value for one problem, rounded; exact up to there, but for a `log2` (53 bits)."""
        values = problem.letters | self._constants(problem, threads)
        return self._kept(tuple(values.items()), heights() if self._tiled else ())

    def _exact(self, letters: tuple[tuple[str, int], ...], tile: tuple[int, ...]) -> int:
        """Return the value; `tile` is there to be remembered by, `tiled` looks at those heights itself."""
        values: dict = dict(letters)
        if "/" in self._symbols:  # fractions are exact but slow: only where whole numbers would become floats
            values = {letter: Fraction(size) for letter, size in values.items()}
        for name, code in self._code.items():
            values[name] = eval(code, {"__builtins__": {}} | _FUNCTIONS, values)
        return round(values[""])

    @property
    def javascript(self) -> str:
        """The body of a JavaScript function of the letters, for one thread on this processor."""
        return f"{self._javascript_parts}return Math.round({self.text});"

    @property
    def javascript_quick(self) -> str:
        """The body of another one, that rounds as little as `quick`."""
        return f"{self._javascript_parts}return {self.text};"

    @property
    def javascript_values(self) -> str:
        """The body of another one, that returns the parts by their names."""
        return f"{self._javascript_parts}return {{{', '.join(self.parts)}}};"

    @property
    def _javascript_parts(self) -> str:
        lines = [f"const {name} = {value}; " for name, value in self.parts.items()]
        constants = [f"const {name} = {value}; " for name, value in self._of_processor(threads=1).items()]
        fast = _FAST_IN_JAVASCRIPT if "fast" in self._symbols else ""
        tile = _tile_in_javascript() if self._of_its_tile else ""
        functions = "const {ceil, max, min, log2} = Math; "
        return "".join([functions, fast, self._tiled_in_javascript, *constants, tile, *lines])

    @property
    def _tiled_in_javascript(self) -> str:
        if not self._tiled:
            return ""
        rows = ", ".join(f"ceil(rows / {height}) * {float(time_of(1, height)):g}" for height in heights())
        return f"const tiled = (rows) => min({rows}); "

    def _constants(self, problem: ConvProblem, threads: int) -> dict[str, int]:
        """Return what stands in no problem's letters."""
        known = self._of_processor(threads)
        if not self._of_its_tile:
            return known
        its = *rows_and_columns(problem), 1 if side_by_side(problem) else problem.groups
        return known | dict(zip(_OF_ITS_TILE, its, strict=True))

    def _of_processor(self, threads: int) -> dict[str, int]:
        if not self._tiled:
            return {"threads": threads}
        tile = tile_for("float32")
        return {"threads": threads, "MR": tile.rows, "VL": tile.lanes}

    def __str__(self) -> str:
        return readable(self.text)

    def __repr__(self) -> str:
        return f"Formula({self.text!r})"


def readable(expression: str) -> str:
    """Return an expression with the signs of multiplication that people write."""
    return expression.replace(" * ", " × ").replace("*", "·")
