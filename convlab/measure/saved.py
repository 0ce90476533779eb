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
import json
import os
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from convlab.checked import checked
from convlab.errors import ConvError, ParameterError
from convlab.measure.cases import kind
from convlab.measure.timing import Timing
from convlab.problem import ConvProblem

SCHEMA = 1

_WORDS = ("part", "network", "layer", "candidate", "cache")
_COUNTS = ("count", "threads", "rounds")
_TIMES = ("median", "low", "high")
_SIZES = ("N", "H", "W", "C", "K", "R", "S")
_PAIRS = {"stride": ("stride_h", "stride_w"), "dilation": ("dilation_h", "dilation_w")}
_SIDES = ("top", "bottom", "left", "right")
COLUMNS = (
    *("part", "network", "layer", "count", "kind"),
    *(*_SIZES, *_PAIRS["stride"], *_SIDES, *_PAIRS["dilation"], "groups", "dtype"),
    *("candidate", "ours", "threads", "cache", "rounds", *_TIMES),
)


@dataclass(frozen=True)
class Row:
    """The timing of one candidate on one layer.

    Attributes
    ----------
    part : str
        Which question the row belongs to: "product", "layers", "depthwise", "threads", "paper",
        "stacks", "first".
    network, layer : str
    count : int
        Layers of the network with this shape.
    problem : ConvProblem
    candidate : str
        An algorithm of ours, or a rival.
    ours : bool
    threads, rounds : int
    cache : str
        "warm": two calls before each timed one; "cold": weights, output and indirection buffer were in no
        cache, the input was.
    timing : Timing
        Median and quartiles of the rounds, in seconds.
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

    @property
    def seconds(self) -> float:
        """The median of the rounds."""
        return self.timing.median

    @property
    def kind(self) -> str:
        """The class of the layer, see `cases.kind`."""
        return kind(self.problem)

    def as_dict(self) -> dict[str, str]:
        """Return the row as text, by column."""
        p = self.problem
        values = {name: getattr(self, name) for name in (*_WORDS, "kind", *_COUNTS)}
        values |= {name: getattr(p, name) for name in (*_SIZES, "groups", "dtype")}
        for name, columns in _PAIRS.items():
            values |= dict(zip(columns, getattr(p, name), strict=True))
        values |= dict(zip(_SIDES, (side for axis in p.padding for side in axis), strict=True))
        values |= {"ours": int(self.ours)}
        values |= {name: f"{getattr(self.timing, name):.4e}" for name in _TIMES}
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
        pairs = {name: tuple(int(text[column]) for column in pair) for name, pair in _PAIRS.items()}
        top, bottom, left, right = (int(text[side]) for side in _SIDES)
        problem = ConvProblem(
            **{name: int(text[name]) for name in (*_SIZES, "groups")},
            **pairs,
            padding=((top, bottom), (left, right)),
            dtype=text["dtype"],
        )
        return cls(
            **{name: text[name] for name in _WORDS},
            **{name: int(text[name]) for name in _COUNTS},
            problem=problem,
            ours=text["ours"] == "1",
            timing=Timing(*(float(text[name]) for name in _TIMES)),
        )


@dataclass
class Measurement:
    """What one run measured: where and how (`header`), and what (`rows`)."""

    header: dict
    rows: list[Row] = field(default_factory=list)

    def part(self, name: str, **equal) -> list[Row]:
        """Return the rows of one part; other attributes may be asked for too, e.g. ``cache="cold"``."""
        wanted = {"part": name} | equal
        return [row for row in self.rows if all(getattr(row, what) == v for what, v in wanted.items())]


def write(path: Path, measurement: Measurement) -> None:
    """Write a measurement. A file that is there is replaced at once, so it is whole at any moment.

    Raises
    ------
    UnwritableError
        If the disk is full, or the folder cannot be written to. A file that is there is as it was.
    """
    aside = path.with_name(path.name + ".part")
    header = json.dumps({"schema": SCHEMA} | measurement.header, indent=1).splitlines()
    try:
        with aside.open("w", encoding="utf-8", newline="") as file:
            file.writelines(f"# {line}\n" for line in header)
            file.write(",".join(COLUMNS) + "\n")
            file.writelines(row.line for row in measurement.rows)
        os.replace(aside, path)
    except OSError as error:
        raise UnwritableError(
            f"{str(path)!r} cannot be written: {error.strerror}; make room there, or save to another folder"
        ) from None
    finally:  # whatever ends it: a full disk, or the reader's Ctrl-C
        with suppress(OSError):
            aside.unlink()


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
    try:
        lines = Path(path).read_text(encoding="utf-8").splitlines()
        header = json.loads("".join(line[1:] for line in lines if line.startswith("#")))
        if (schema := header.pop("schema")) != SCHEMA:
            raise ValueError(f"another schema, {schema!r}")
        return Measurement(header, _rows(line for line in lines if not line.startswith("#")))
    except OSError as error:
        raise ParameterError(f"{str(path)!r}: {error.strerror}; expected a file of measurements") from None
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ParameterError(
            f"{str(path)!r} is no file of measurements ({type(error).__name__}: {error}); "
            f"expected one that `convlab bench` wrote, of schema {SCHEMA}"
        ) from None


def _rows(lines: Iterable[str]) -> list[Row]:
    return [Row.from_dict(text) for text in csv.DictReader(lines)]
