"""What makers write about their machines: the files of `data/machines/`, each with its source.

A datasheet's roof is a promise. It stands beside a measured roof as a dashed line, and never takes its place.
"""

from __future__ import annotations

import math
import tomllib
import warnings
from copy import deepcopy
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from convlab.errors import ParameterError, UnsupportedError
from convlab.gpu.model.speeds import GENERATIONS, GpuSpeeds, is_geforce
from convlab.gpu.occupancy import GPUS
from convlab.support.checks import check_choice
from convlab.support.files import data_path, read_text

KINDS = ("GPU", "processor")


LEVELS = ("shared", "l1", "l2", "memory")  # where a load finds its answer


@dataclass(frozen=True)
class Chip:
    """How a GPU is built, as far as `convlab.gpu.occupancy` does not say it.

    Attributes
    ----------
    gpu : str
        A name of `convlab.gpu.occupancy.GPUS`.
    lanes : int
        Multiply-adds of float32 that one multiprocessor begins in a cycle.
    clock : float
        Cycles a second, at most.
    l1, l2, capacity : int
        Bytes: shared memory and L1 cache of one multiprocessor, the L2 cache, the memory.
    host : float
        Bytes a second to the host and back, each way.
    seconds : dict of str to float
        One of `LEVELS` to the time from a load to its answer, while nobody else asks.
    told_by : str
        Who measured these.
    """

    gpu: str
    lanes: int
    clock: float
    l1: int
    l2: int
    capacity: int
    host: float
    seconds: dict[str, float]
    told_by: str


@dataclass(frozen=True)
class Datasheet:
    """The figures of one machine.

    Attributes
    ----------
    name : str
        The machine, as people call it.
    kind : str
        "GPU" or "processor"; a processor's figures are those of all its cores together.
    source : str
        The document and the table the figures stand in.
    read_in : tuple of str
        Where that document's figures were read.
    memory : float
        Bytes a second, of the memory.
    flops : dict of str to float
        Type of the numbers to floating-point operations a second; "float32" is always there.
    narrow : dict of str to float
        The same of types that no roofline shows: bfloat16, and the eight bits of float8 and int8.
    chip : Chip or None
        How it is built, where the file says so.
    """

    name: str
    kind: str
    source: str
    read_in: tuple[str, ...]
    memory: float
    flops: dict[str, float]
    narrow: dict[str, float]
    chip: Chip | None = None


def names() -> tuple[str, ...]:
    """Return the names of the datasheets at hand."""
    return tuple(sorted(file.stem for file in data_path("machines").glob("*.toml")))


def every() -> dict[str, Datasheet]:
    """Return all datasheets by their names; a file that is none is named in a warning, and left out."""
    found = {}
    for name in names():
        try:
            found[name] = load(name)
        except ParameterError as error:
            warnings.warn(f"a file is skipped: {error}", stacklevel=2)
    return found


def load(name: str) -> Datasheet:
    """Return one datasheet.

    Parameters
    ----------
    name : str
        One of `names()`.

    Raises
    ------
    ParameterError
        If there is no such datasheet, or its file is broken.

    Examples
    --------
    >>> load("nvidia_t4").name
    'NVIDIA T4'
    """
    check_choice("datasheet", name, names())
    return read(data_path("machines", f"{name}.toml"))


def chip_of(name: str) -> Chip:
    """Return how the GPU of a datasheet is built.

    Raises
    ------
    ParameterError
        As `load`, or if the datasheet does not say.
    """
    chip = load(name).chip
    if chip is None:
        raise ParameterError(f"datasheet={name!r} says nothing of its chip; expected one with [chip]")
    return chip


def gpu_speeds(name: str) -> GpuSpeeds:
    """Return the speeds of a datasheet's GPU, as the model of its time takes them.

    Raises
    ------
    ParameterError
        As `load`.
    UnsupportedError
        If the datasheet does not say how the GPU is built, or nobody measured its generation.
    """
    sheet = load(name)
    arch, multiprocessors = GPUS[sheet.chip.gpu] if sheet.chip else ("", 0)
    if arch not in GENERATIONS:
        raise UnsupportedError(f"datasheet={name!r} is of no GPU whose multiprocessors are known")
    return GpuSpeeds.of(
        *(sheet.name, arch, multiprocessors, sheet.chip.clock),
        memory=sheet.memory,
        l2_holds=sheet.chip.l2,
        geforce=is_geforce(sheet.name),
    )


def read(path: Path) -> Datasheet:
    """Read a file; for its form look into any of `data/machines/`.

    Raises
    ------
    ParameterError
        If it cannot be read, or if a figure or its source is missing.
    """
    try:
        return deepcopy(_sheet(read_text(path)))  # its tables are the caller's own
    except OSError as error:
        raise ParameterError(f"{str(path)!r}: {error.strerror}; expected a datasheet") from None
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, OverflowError) as error:
        what = f"{error} is missing" if isinstance(error, KeyError) else str(error)
        raise ParameterError(f"{path.name} is no datasheet: {what}") from None


@lru_cache  # sliders ask for the same files again and again
def _sheet(text: str) -> Datasheet:
    """Return the datasheet that a file holds."""
    fields = tomllib.loads(text)
    kind, flops = fields["kind"], fields["flops"]
    if kind not in KINDS:
        raise ValueError(f"kind = {kind!r} is none of {', '.join(KINDS)}")
    if "float32" not in flops:
        raise ValueError("flops has no float32")
    return Datasheet(
        name=_words(fields, "name"),
        kind=kind,
        source=_words(fields, "source"),
        read_in=tuple(map(str, fields["read_in"])),
        memory=_figure("memory", fields["memory"]),
        flops={dtype: _figure(f"flops.{dtype}", given) for dtype, given in flops.items()},
        narrow={
            dtype: _figure(f"narrow.{dtype}", given) for dtype, given in fields.get("narrow", {}).items()
        },
        chip=_chip(fields["chip"]) if "chip" in fields else None,
    )


def _chip(fields: dict) -> Chip:
    if fields["gpu"] not in GPUS:
        raise ValueError(f"chip.gpu = {fields['gpu']!r} is none of {', '.join(GPUS)}")
    cycles = fields["cycles"]
    return Chip(
        gpu=fields["gpu"],
        **{name: int(_figure(f"chip.{name}", fields[name])) for name in ("lanes", "l1", "l2", "capacity")},
        **{name: _figure(f"chip.{name}", fields[name]) for name in ("clock", "host")},
        seconds={
            level: _figure(f"chip.cycles.{level}", cycles[level]) / _figure("clock", cycles["clock"])
            for level in LEVELS
        },
        told_by=_words(cycles, "source"),
    )


def _words(fields: dict, name: str) -> str:
    if not isinstance(fields[name], str) or not fields[name].strip():
        raise ValueError(f"{name} says nothing")
    return fields[name]


def _figure(name: str, given: float | list[float]) -> float:
    """Return a figure, or the product of its factors, e.g. cores, clock and operations in a cycle."""
    factors = given if isinstance(given, list) else [given]
    if not factors or not all(type(f) in (int, float) and 0 < f < math.inf for f in factors):
        raise ValueError(f"{name} = {given!r} is no number above 0")
    if not math.isfinite(product := float(math.prod(factors))):
        raise ValueError(f"{name} = {given!r} is more than any machine has")
    return product
