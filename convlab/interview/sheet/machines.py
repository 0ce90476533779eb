"""Numbers of GPUs: what their makers promise, where the ridge is, what a warp and a multiprocessor have."""

from __future__ import annotations

from collections.abc import Callable

from convlab.benchmark import datasheets
from convlab.benchmark.datasheets import Datasheet
from convlab.benchmark.roofline import of_datasheet
from convlab.cost.layers import cost_of
from convlab.gpu.occupancy import (
    GPUS,
    MOST_REGISTERS,
    MOST_SHARED,
    MOST_THREADS,
    MULTIPROCESSORS,
    REGISTERS,
    SHARED_RESERVED,
    WARP,
    Multiprocessor,
    occupancy,
)
from convlab.gpu.simulator.bank_conflicts import BANKS, WORD
from convlab.gpu.simulator.requests import SECTOR, Request
from convlab.interview.kinds.accesses import LANES, request
from convlab.interview.sheet.block import Block, Table
from convlab.interview.sheet.layers import usual
from convlab.support.tables import NOTHING
from convlab.support.units import bytes_text, count_text, number_text, time_text

_LEVELS = {"shared": "shared memory", "l1": "L1", "l2": "L2"}
SHEETS = ("nvidia_h100", "nvidia_a100", "nvidia_t4")


def short_name(sheet: Datasheet) -> str:
    """Return what people call it: the H100 of "NVIDIA H100 SXM5"."""
    return sheet.name.split()[1]


def ridge(sheet: Datasheet, dtype: str = "float32") -> float:
    """Return from how many FLOPs a byte on the arithmetic is the limit."""
    return sheet.flops[dtype] / sheet.memory


def _ridge(dtype: str) -> Callable[[Datasheet], str]:
    return lambda sheet: f"{number_text(ridge(sheet, dtype), 3)} FLOP/B" if dtype in sheet.flops else NOTHING


def _flops(dtype: str) -> Callable[[Datasheet], str]:
    return lambda sheet: f"{count_text(sheet.flops[dtype])}FLOP/s" if dtype in sheet.flops else NOTHING


def _least_time(sheet: Datasheet) -> str:
    cost = cost_of(usual().problem)
    return time_text(cost.flops / of_datasheet(sheet).attainable(cost.intensity))


# How many multiprocessors a GPU has, and what each of them has. The T4 is older than those that the occupancy
# of kernels is worked out for: deviceQuery counts its multiprocessors, compute capability 7.5 says the rest.
BUILT = {name: (count, MULTIPROCESSORS[arch]) for name, (arch, count) in GPUS.items()} | {
    "T4": (40, Multiprocessor(threads=1024, blocks=16, shared_bytes=64 * 1024))
}


def _built(value: Callable[[int, Multiprocessor], str]) -> Callable[[Datasheet], str]:
    """Return what is told of a GPU whose multiprocessors are known."""
    return lambda sheet: value(*BUILT[short_name(sheet)]) if short_name(sheet) in BUILT else NOTHING


_ROWS: tuple[tuple[str, Callable[[Datasheet], str]], ...] = (
    ("float32", _flops("float32")),
    ("tf32, tensor cores", _flops("tf32")),
    ("float16, tensor cores", _flops("float16")),
    ("memory", lambda sheet: f"{count_text(sheet.memory)}B/s"),
    ("ridge in float32", _ridge("float32")),
    ("ridge in float16", _ridge("float16")),
    ("A, least time in float32", _least_time),
    ("multiprocessors", _built(lambda count, each: str(count))),
    ("of each: threads, blocks", _built(lambda count, each: f"{each.threads}, {each.blocks}")),
    ("of each: shared memory", _built(lambda count, each: bytes_text(each.shared_bytes))),
)


def gpus() -> Block:
    """Return what three GPUs can do, by their makers."""
    sheets = [datasheets.load(name) for name in SHEETS]
    told = ". ".join(dict.fromkeys(f"{sheet.name}: {sheet.source}" for sheet in sheets))
    return Block(
        "GPUs, as their makers tell",
        Table(
            ("", *map(short_name, sheets)),
            [(name, *map(value, sheets)) for name, value in _ROWS],
            right=(1, 2, 3),
        ),
        note=f"{told}. Without sparsity. Multiprocessors: CUDA C++ Programming Guide. {NOTHING}: not "
        "told there.",
    )


def _strided(words: int) -> Request:
    """Return the request of a warp whose lanes read so many words apart."""
    return request(LANES * words * WORD, WORD)


def warp() -> Block:
    """Return how a warp reads, and what a multiprocessor shares out."""
    threads, registers = 256, 128
    full = MULTIPROCESSORS["sm_90"]
    held = occupancy("sm_90", threads, registers, 0)
    chip = datasheets.chip_of("nvidia_h100")
    flying = datasheets.load("nvidia_h100").memory * chip.seconds["memory"]
    beside, apart, column, padded = map(_strided, (1, SECTOR // WORD, WARP, WARP + 1))
    waits = ", ".join(
        f"{_LEVELS.get(name, name)} {time_text(seconds)}" for name, seconds in chip.seconds.items()
    )
    return Block(
        "A warp and its multiprocessor",
        Table(
            (),
            (
                ("warp", f"{WARP} lanes, one instruction; a branch that parts them runs both ways"),
                (
                    "sector",
                    f"{SECTOR} bytes. Lanes that read neighbours of {WORD} bytes touch {beside.sectors} in a "
                    f"request, {SECTOR} bytes apart {apart.sectors}",
                ),
                (
                    "bank",
                    f"{BANKS} of {WORD} bytes. Different words of a bank take turns: a column of a tile "
                    f"{WARP} words wide takes {column.wavefronts} passes, {WARP + 1} wide: "
                    f"{padded.wavefronts}",
                ),
                (
                    "registers",
                    f"{REGISTERS:,} of {WORD} bytes, {MOST_REGISTERS} a thread at most; with all "
                    f"{full.threads} threads, {REGISTERS // full.threads} each",
                ),
                (
                    "block",
                    f"{MOST_THREADS} threads and {MOST_SHARED // 1024} KiB of shared memory; more when asked "
                    f"for; {SHARED_RESERVED // 1024} KiB of each block is the system's",
                ),
                (
                    "occupancy",
                    f"blocks of {threads} threads with {registers} registers: {held.blocks} at once, "
                    f"{100 * held.share:.0f} %, limited by {held.limited_by}",
                ),
                ("waiting", f"{waits}, from a load to its answer; {chip.told_by}"),
                (
                    "on its way",
                    f"to keep that memory busy, {bytes_text(flying)} at any moment: "
                    f"{bytes_text(flying / GPUS[chip.gpu][1])} a multiprocessor",
                ),
            ),
        ),
    )
