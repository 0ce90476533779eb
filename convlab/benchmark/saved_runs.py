"""All measurements of a folder. What else lies there, or is broken, is named in a warning, and skipped.

A folder is open to everybody: there may be a table of another program, a file that was cut off on its way
here, or one of a version of this course that had other algorithms. None of them stops those who look on.
"""

from __future__ import annotations

import re
import reprlib
import warnings
from collections.abc import Collection, Iterable
from dataclasses import replace
from datetime import datetime
from pathlib import Path

from convlab import networks
from convlab.benchmark.passes import AUTO, PASSES
from convlab.benchmark.saved import CPU, GPU, Measurement, Row, read
from convlab.benchmark.summary import disturbed
from convlab.cost.phases import OVERHEADS
from convlab.errors import ConvError
from convlab.problem import ConvProblem
from convlab.support.checked import checked
from convlab.support.checks import check_choice
from convlab.support.files import data_path

_OF_LAYERS = ("layers", "depthwise", "networks", "autotune", "threads")  # ours are all in `ALGORITHMS`
_ALONE = ("layers", "depthwise", "networks", "paper")  # parts whose layers run by themselves
_LONGEST = 200  # letters of a name
MOST_SCATTERED = 0.25  # of the times of a run: where more of them scatter, it shows what else was at work
# What a strange header may lead to.
_WRONG = ValueError, LookupError, TypeError, AttributeError, ArithmeticError


@checked
def runs(folder: Path, what: str) -> dict[str, Measurement]:
    """Return the measurements of a folder by the names of their files, in order.

    Parameters
    ----------
    folder : Path
    what : str
        `CPU` or `GPU`: which benchmark. Those of the other are passed over in silence.

    Raises
    ------
    ConvError
        If an argument is wrong; not for what lies in the folder.
    """
    check_choice("what", what, (CPU, GPU))
    found = {}
    for path in sorted(folder.glob("*.csv")):
        try:
            run = read(path)
            check(run.header)
        except _WRONG as error:
            what_is = f"{error} is missing" if isinstance(error, KeyError) else str(error)
            told = what_is if isinstance(error, ConvError) else f"{str(path)!r}: in its header {what_is}"
            warnings.warn(f"a file is skipped: {told}", stacklevel=2)
            continue
        if run.header["what"] == what:
            found[path.name] = _known(run, path)
    return found


def newest(found: Iterable[Measurement]) -> Measurement | None:
    """Return the newest of some runs, a calm one if there is one; None of none."""
    return max(found, key=lambda run: (calm(run), run.header["date"]), default=None)


def calm(run: Measurement) -> bool:
    """Return whether few of a run's times scatter."""
    return disturbed(run.rows) <= MOST_SCATTERED


def undisturbed(problem: ConvProblem, names: Collection[str]) -> tuple[str, dict[str, float]]:
    """Return the times of a layer on one thread, from the run that came with the course.

    Parameters
    ----------
    problem : ConvProblem
    names : collection of str
        Candidates; ours may be called "convlab: im2row" as well.

    Returns
    -------
    str, dict of str to float
        The processor and the date; and the seconds, by name, of those that the run has.
    """
    rows = [
        (run, row)
        for run in runs(data_path("measurements"), CPU).values()
        for row in run.rows
        if row.problem == problem and row.threads == 1 and row.cache == "warm" and row.part in _ALONE
    ]
    if not rows:
        return "", {}
    run = rows[-1][0]
    found = {row.candidate: row.seconds for one, row in rows if one is run}
    whose = f"{run.header['machine']['processor']}, {run.header['date'][:10]}"
    short = {name: name.removeprefix("convlab: ") for name in names}
    return whose, {name: found[word] for name, word in short.items() if word in found}


def check(header: dict) -> None:
    """Refuse a header that does not hold what every reader of it needs.

    Raises
    ------
    LookupError, TypeError, ValueError, AttributeError, ArithmeticError
        If something is missing, or is not what it should be.
    """
    datetime.fromisoformat(header["date"])
    if header["what"] == GPU:
        _check_names(header["device"], header["device"].keys() & {"name"})
    elif header["what"] == CPU:
        machine, roofs, overheads = header["machine"], header["roofs"], header.get("overheads")
        _check_names(machine, ["processor", "instruction_set"])
        _check_names(machine.get("libraries", {}), machine.get("libraries", {}))
        if not isinstance(header["complete"], bool):
            raise TypeError(f"complete is {header['complete']!r}")
        copies = [number for size, speed in roofs["copies"].values() for number in (size, speed)]
        rates = [roofs[name] for name in ("flops", "flops_all", "threads")]
        caches = [machine.get(name) or 1 for name in ("l1d", "l2", "l3")]
        begins = (
            [] if overheads is None else [overheads[name] for name in OVERHEADS[:5]]
        )  # older runs have no more
        if not all(1e-18 < number < 1e24 for number in (*copies, *rates, *caches, *begins)):
            raise ValueError(
                "a roof, an overhead or the size of a cache is no number that a machine can have"
            )
        if not re.fullmatch(r"(L\d )*memory", " ".join(roofs["copies"])):
            raise ValueError(f"copies are of {reprlib.repr(list(roofs['copies']))}")
        if not isinstance(header.get("blas", {}), dict):
            raise TypeError(f"blas is {header['blas']!r}")
    else:
        raise ValueError(f"what={header['what']!r} is no benchmark of convlab")


def _check_names(facts: dict, keys: Iterable[str]) -> None:
    """Refuse what cannot be the name or the version of anything."""
    for key in keys:
        if not isinstance(facts[key], str | None) or len(facts[key] or "") > _LONGEST:
            raise ValueError(f"{key} is {reprlib.repr(facts[key])}")


def _known(run: Measurement, path: Path) -> Measurement:
    """Return a run without the rows that name a network or an algorithm of ours that there is not."""
    strange = {row: name for row in run.rows if (name := _unknown(row))}
    if strange:
        names = ", ".join(map(repr, sorted(set(strange.values()))))
        warnings.warn(
            f"{len(strange)} rows of {path.name} are skipped: convlab knows no {names}", stacklevel=3
        )
    return replace(run, rows=[row for row in run.rows if row not in strange])


def _unknown(row: Row) -> str | None:
    """Return what a row names that there is not."""
    if row.part in (*_OF_LAYERS, "passes", "stacks") and row.network not in networks.names():
        return row.network
    if row.pass_ not in PASSES:
        return row.pass_
    ours = row.part in (*_OF_LAYERS, "passes") and row.ours
    chosen = row.part == "passes" and row.candidate == AUTO
    if ours and not chosen and row.candidate not in PASSES[row.pass_].algorithms:
        return row.candidate
    return None
