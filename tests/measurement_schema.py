"""What `data/measurements/README.md` promises of a file, asked of the file's own text."""

from __future__ import annotations

import csv
import json
import math
import re
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

from convlab.benchmark.saved import FPROP, SCHEMA, Row
from convlab.machine.facts import Machine
from convlab.support.files import data_path
from tools.bench_gpu.run import TIME_UP

ABOUT = data_path("measurements", "README.md")
# Keys and columns that came later, or that only some runs have.
_MAY_LACK = {"simulated", "overheads", "resumed", "blas", "taken"}
_NO_COLUMN = {"pass"}
_ROOFS = {
    "convlab bench cpu": {"flops", "flops_all", "threads", "copies"},
    "convlab bench gpu": {"flops", "copy", "copy_bytes", "l2", "l2_bytes", "empty"},
}


def described() -> tuple[dict[str, set[str]], list[str], dict[str, set[str]]]:
    """Return what the description names: keys of each benchmark, columns, and the words of some columns."""
    header, rows = ABOUT.read_text(encoding="utf-8").partition("## The rows")[::2]
    cpu, gpu = (
        {key for cell in _first_cells(table) for key in cell} for table in header.split("A run of")[:2]
    )
    columns = [name for (name,) in _first_cells(rows)]
    words = {
        line.split("`")[1]: set(re.findall(r"`([\w .]+)`", line.split("|", 2)[2]))
        for line in rows.splitlines()
        if line.startswith("| `")
    }
    return {"convlab bench cpu": cpu, "convlab bench gpu": cpu | gpu}, columns, words


def complaints(path: Path) -> Iterator[str]:
    """Yield what is not as the description says in a file of measurements."""
    keys, columns, words = described()
    lines = path.read_text(encoding="utf-8").splitlines()
    header = json.loads("".join(line[1:] for line in lines if line.startswith("#")))
    if header.get("schema") != SCHEMA:
        yield f"its schema is {header.get('schema')}"
    what = header.get("what")
    if what not in keys:
        yield f"nothing is said of {what!r}"
        return
    for key in header.keys() - keys[what]:
        yield f"nothing is said of the key {key!r}"
    for key in keys[what] - header.keys() - _MAY_LACK:
        yield f"it lacks the key {key!r}"
    yield from _complaints_about_header(header)
    table = csv.DictReader(line for line in lines if not line.startswith("#"))
    if table.fieldnames not in (columns, [name for name in columns if name not in _NO_COLUMN]):
        yield f"its columns are {table.fieldnames}"
        return
    parts = re.compile("|".join(part.replace("NAME", ".+") for part in words["part"]))
    for number, row in enumerate(table, 1):
        told = _complaints_about_row({"pass": FPROP} | row, parts, words)
        yield from (f"row {number}: {text}" for text in told)


def _complaints_about_header(header: dict) -> Iterator[str]:
    only_time = (
        header.get("failed") and not header.get("wrong") and set(header["failed"].values()) == {TIME_UP}
    )
    if not header.get("complete") and not only_time:
        yield "it is not complete"
    if datetime.fromisoformat(header["date"]).utcoffset() is None:
        yield f"its date has no time zone: {header['date']}"
    for name in header["machine"].keys() - Machine.__dataclass_fields__.keys():
        yield f"no Machine has {name!r}"
    for name in header["roofs"].keys() ^ _ROOFS[header["what"]]:
        yield f"roofs: {name!r} is missing, or too many"
    rates = [value for value in header["roofs"].values() if isinstance(value, float | int)]
    rates += [number for pair in header["roofs"].get("copies", {}).values() for number in pair]
    if not all(math.isfinite(rate) and rate > 0 for rate in rates):
        yield "a roof is not above 0"


def _complaints_about_row(row: dict[str, str], parts: re.Pattern, words: dict) -> Iterator[str]:
    if None in row or None in row.values():
        yield "it has not as many cells as there are columns"
        return
    if not parts.fullmatch(row["part"]):
        yield f"nothing is said of the part {row['part']!r}"
    for column in ("cache", "pass"):
        if row[column] not in words[column]:
            yield f"nothing is said of the {column} {row[column]!r}"
    read = Row.from_dict(row)
    if row["kind"] != read.kind:
        yield f"its class is {row['kind']!r}, by its sizes {read.kind!r}"
    if row["ours"] not in ("0", "1") or min(read.count, read.threads, read.rounds) < 1:
        yield "ours is 0 or 1, counts are 1 or more"
    if not 0 < read.timing.low <= read.timing.median <= read.timing.high < math.inf:
        yield f"no times: {read.timing}"


def _first_cells(text: str) -> list[list[str]]:
    """Return the words in backticks of the first cell of each row of the tables in a text."""
    cells = (line.split("|")[1] for line in text.splitlines() if line.startswith("| `"))
    return [re.findall(r"`([\w ]+)`", cell) for cell in cells]
