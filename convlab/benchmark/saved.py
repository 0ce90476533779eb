"""Measurements as they are stored: a file of comma-separated rows, below a header that says where and how.

    # {"what": "convlab bench cpu", "date": ..., "machine": {...}, "roofs": {...}, ...}
    part,network,layer,...,candidate,...,median,low,high
    layers,resnet18,conv1,...,indirect,...,0.00121,0.00120,0.00123

The header is one JSON object, on lines that begin with ``#``. Every column is described in
`data/measurements/README.md`. pandas reads the rows with ``pandas.read_csv(path, comment="#")``.
"""

from __future__ import annotations

import csv
import io
import itertools
import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from pathlib import Path

from convlab.auto.timing import Timing
from convlab.benchmark.layers import kind
from convlab.errors import ConvError, ParameterError
from convlab.problem import ConvProblem
from convlab.support.checked import checked
from convlab.support.files import read_text, replacing, why_kept

SCHEMA = 1
OURS = "a measurement of `convlab bench`"
CPU, GPU = "convlab bench cpu", "convlab bench gpu"  # what a header says it holds

_WORDS = ("part", "network", "layer", "candidate", "cache")
FPROP = "fprop"  # the pass of files that are older than the column
_COUNTS = ("count", "threads", "rounds")
_TIMES = ("median", "low", "high")
_SIZES = ("N", "H", "W", "C", "K", "R", "S")
_PAIRS = {"stride": ("stride_h", "stride_w"), "dilation": ("dilation_h", "dilation_w")}
_SIDES = ("top", "bottom", "left", "right")
_SHAPE = ("dtype", *_SIZES, "groups", *_SIDES, *_PAIRS["stride"], *_PAIRS["dilation"])
COLUMNS = (
    *("part", "network", "layer", "count", "kind", "pass"),
    *(*_SIZES, *_PAIRS["stride"], *_SIDES, *_PAIRS["dilation"], "groups", "dtype"),
    *("candidate", "ours", "threads", "cache", "rounds", *_TIMES),
)


@dataclass(frozen=True)
class Row:
    """The timing of one candidate on one layer.

    Attributes
    ----------
    part : str
        Which question the row belongs to, such as "layers": `data/measurements/README.md` lists them all.
    network, layer : str
    count : int
        Layers of the network with this shape.
    problem : ConvProblem
    candidate : str
        An algorithm of ours, or a baseline.
    ours : bool
    threads, rounds : int
    cache : str
        "warm": two calls before each timed one; "cold": weights, output and indirection buffer were in no
        cache, the input was.
    timing : Timing
        Median and quartiles of the rounds, in seconds.
    pass_ : str
        "fprop", or one of the passes backwards, "dgrad" and "wgrad".
    """

    part: str
    network: str
    layer: str
    count: int
    problem: ConvProblem
    candidate: str
    ours: bool
    threads: int
    rounds: int
    timing: Timing
    cache: str = "warm"
    pass_: str = FPROP

    @property
    def seconds(self) -> float:
        """The median of the rounds."""
        return self.timing.median

    @property
    def kind(self) -> str:
        """The class of the layer, see `layers.kind`."""
        return kind(self.problem)

    def as_dict(self) -> dict[str, str]:
        """Return the row as text, by column."""
        p = self.problem
        values = {name: getattr(self, name) for name in (*_WORDS, "kind", *_COUNTS)}
        values |= {name: getattr(p, name) for name in (*_SIZES, "groups", "dtype")}
        for name, columns in _PAIRS.items():
            values |= dict(zip(columns, getattr(p, name), strict=True))
        values |= dict(zip(_SIDES, (side for axis in p.padding for side in axis), strict=True))
        values |= {"ours": int(self.ours), "pass": self.pass_}
        values |= {name: f"{float(getattr(self.timing, name)):.4e}" for name in _TIMES}
        return {column: str(values[column]) for column in COLUMNS}

    @cached_property
    def line(self) -> str:
        """The row as it stands in a file; made once, for a file is written again and again while it grows."""
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerow(self.as_dict().values())
        return text.getvalue()

    @classmethod
    def from_dict(cls, text: dict[str, str]) -> Row:
        """Return the row that `as_dict` wrote."""
        return cls(
            **{name: text[name] for name in _WORDS},
            **{name: int(text[name]) for name in _COUNTS},
            problem=_problem(*(text[column] for column in _SHAPE)),
            ours=text["ours"] == "1",
            timing=Timing(*(float(text[name]) for name in _TIMES)),
            pass_=text.get("pass", FPROP),
        )


@lru_cache(maxsize=1024)
def _problem(dtype: str, *numbers: str) -> ConvProblem:
    """Return the problem whose letters stand in `_SHAPE`; most rows of a file share theirs with others."""
    *sizes, top, bottom, left, right, stride_h, stride_w, dilation_h, dilation_w = map(int, numbers)
    return ConvProblem(
        **dict(zip((*_SIZES, "groups"), sizes, strict=True)),
        padding=((top, bottom), (left, right)),
        stride=(stride_h, stride_w),
        dilation=(dilation_h, dilation_w),
        dtype=dtype,
    )


@dataclass
class Measurement:
    """What one run measured: where and how (`header`), and what (`rows`).

    `states` tell the files that it was read from or written to from any other that may take their place.
    """

    header: dict
    rows: list[Row] = field(default_factory=list)
    states: set[tuple[int, ...] | None] = field(default_factory=set, compare=False, repr=False)

    def part(self, name: str, **equal) -> list[Row]:
        """Return the rows of one part; other attributes may be asked for too, e.g. ``cache="cold"``."""
        wanted = {"part": name} | equal
        return [row for row in self.rows if all(getattr(row, what) == v for what, v in wanted.items())]


def write(path: Path, measurement: Measurement) -> None:
    """Write a measurement. A file that is there is replaced at once, so it is whole at any moment.

    Raises
    ------
    UnwritableError
        If the disk is full, the folder cannot be written to, or somebody else's file is there: one that is
        no measurement, or that was written by another run while this one went on. It is left as it was.
    """
    now = _state(path)
    if measurement.states and now and now not in measurement.states:
        raise UnwritableError(
            f"{str(path)!r} was written by another program while this one measured; save to another file"
        )
    if reason := why_kept(path, is_ours):
        raise UnwritableError(f"{str(path)!r} {reason}; save to another file")
    header = json.dumps({"schema": SCHEMA} | measurement.header, indent=1).splitlines()
    lines = [*(f"# {line}\n" for line in header), ",".join(COLUMNS) + "\n"]
    try:
        with replacing(path) as draft:
            draft.write_text("".join([*lines, *(row.line for row in measurement.rows)]), "utf-8", newline="")
            measurement.states.add(_state(draft))  # before it takes its place: Ctrl-C may follow at once
    except OSError as error:
        raise UnwritableError(
            f"{str(path)!r} cannot be written: {error.strerror}; make room there, or save to another folder"
        ) from None


def _state(path: Path) -> tuple[int, ...] | None:
    """Return what is different for every file that was written; None if none is there."""
    try:
        now = path.stat()
    except OSError:
        return None
    return now.st_ino, now.st_size, now.st_mtime_ns


class UnwritableError(ConvError):
    """A measurement cannot be saved."""


@checked
def read(path: Path) -> Measurement:
    """Read a measurement.

    Raises
    ------
    ParameterError
        If the file is not one, or is of a schema that this version does not know.
    """
    state = _state(Path(path))
    try:
        text = read_text(Path(path))
        header = _header(text.splitlines())
        if (schema := header.pop("schema")) != SCHEMA:
            raise ValueError(f"another schema, {schema!r}")
        return Measurement(header, list(_rows(text, bool(header.get("simulated", False)))), {state})
    except OSError as error:
        raise ParameterError(f"{str(path)!r}: {error.strerror}; expected a file of measurements") from None
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, csv.Error) as error:
        raise ParameterError(
            f"{str(path)!r} is no file of measurements ({type(error).__name__}: {error}); "
            f"expected one that `convlab bench` wrote, of schema {SCHEMA}"
        ) from None


def what_is_kept(measurement: Measurement, path: Path) -> str:
    """Say what of a measurement is on the disk: less than was measured where that became full."""
    try:
        found = read(path)
    except ConvError:
        return f"nothing could be saved in {path}"
    if not found.states & measurement.states:
        return f"what is in {path} now is not of this run"
    if (count := len(found.rows)) < len(measurement.rows):
        return f"{count} of {len(measurement.rows)} timings could be saved in {path}"
    return f"saved in {path}"


def is_ours(text: str) -> bool:
    """Say if a file that begins with this text was written by `convlab bench`, whatever the schema."""
    try:
        what = _header(itertools.takewhile(lambda line: line.startswith("#"), text.splitlines()))["what"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return False
    return isinstance(what, str) and what in (CPU, GPU)


def _header(lines: Iterable[str]) -> dict:
    return json.loads("".join(line[1:] for line in lines if line.startswith("#")))


@lru_cache(maxsize=16)  # figures and widgets ask for the same files again and again; a row is never changed
def _rows(text: str, simulated: bool) -> tuple[Row, ...]:
    """Return the rows of a file."""
    rows = []
    lines = (line for line in text.splitlines() if not line.startswith("#"))
    for number, cells in enumerate(csv.DictReader(lines), 1):
        row = Row.from_dict(cells)
        times = row.timing
        if not simulated and not 1e-12 < times.low <= times.median <= times.high < 1e9:
            raise ValueError(f"row {number} has no times, but {times.low}, {times.median}, {times.high}")
        if None in cells or row.count < 1:
            raise ValueError(f"row {number} has too many cells, or counts no layer")
        rows.append(row)
    return tuple(rows)
