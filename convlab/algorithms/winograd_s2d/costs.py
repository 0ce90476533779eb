"""What folding costs, and then Winograd's tiles: their formulas, in the letters of the problem itself.

The folded problem has other rows, columns, channels and taps. Each letter of a formula of `winograd.costs` is
replaced by what it is there.
"""

from __future__ import annotations

import re
from dataclasses import replace

from convlab.algorithms.winograd import costs as winograd
from convlab.algorithms.winograd.tiles import tile_texts
from convlab.algorithms.winograd_s2d.space_to_depth import TAPS, M
from convlab.cost.formula import Formula
from convlab.cost.phases import Phase, Stream, stream

_R = "ceil(max(R, S)/2)"
_LETTERS = {"H": f"(P+{_R}-1)", "W": f"(Q+{_R}-1)", "C": "(4*C)", "G": "1", "R": _R, "S": _R}
_Z = f"N*(P+{_R}-1)*(Q+{_R}-1)*4*C"  # numbers of the folded picture


def flops() -> Formula:
    """Return the operations of a run."""
    return _in_letters(winograd.flops(tile_texts(M, TAPS)))


def form_costs() -> dict[str, dict]:
    """Return what the forms cost, by the backend: what a `Form` is told."""
    return {
        backend: _after_folding(given)
        for backend, given in winograd.form_costs(M, tile_texts(M, TAPS)).items()
    }


def _after_folding(given: dict) -> dict:
    """Return the costs of a form that folds first: x is read, z is written and held; the rest is as usual."""
    costs = given | {
        "bytes_moved": Formula(f"(N*H*W*C + {_Z}) * b + {_in_letters(given['bytes_moved']).text}"),
        "workspace_bytes": Formula(f"{_Z}*b + {_in_letters(given['workspace_bytes']).text}"),
        "packed_bytes": _in_letters(given["packed_bytes"]),
    }
    if "largest" in given:
        costs["largest"] = Formula(f"max({_Z}, {_in_letters(given['largest']).text})")
    if "phases" in given:
        costs["phases"] = lambda: (_fold(), *map(_phase_in_letters, given["phases"]()))
        costs["setup"] = lambda: tuple(map(_phase_in_letters, given["setup"]()))
    return costs


def _fold() -> Phase:
    return Phase(
        "fold",
        streams=(stream("N*H*W*C*b"), stream(f"{_Z}*b")),
        begins={"run": Formula(f"2*N*(P+{_R}-1)*(Q+{_R}-1)")},
    )


def _phase_in_letters(one: Phase) -> Phase:
    return replace(
        one,
        flops=_in_letters(one.flops),
        streams=tuple(Stream(_in_letters(each.size), _in_letters(each.holds)) for each in one.streams),
        begins={name: _in_letters(count) for name, count in one.begins.items()},
    )


def _in_letters(formula: Formula) -> Formula:
    """Return a formula of the folded problem in the letters of the problem itself."""

    def put(text: str) -> str:
        return re.sub(r"\b[HWCGRS]\b", lambda letter: _LETTERS[letter[0]], text)

    return Formula(put(formula.text), {name: put(text) for name, text in formula.parts.items()})
