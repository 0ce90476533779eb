"""Where a layer lies under the roofline: the ridge of a machine, the side, and the time."""

from __future__ import annotations

from functools import cache
from random import Random

from convlab.benchmark import datasheets
from convlab.benchmark.datasheets import Datasheet
from convlab.benchmark.roofline import of_datasheet
from convlab.cost.layers import cost_of
from convlab.interview.kind import Asked, Kind, Slip
from convlab.interview.kinds.intensity import ONCE, bytes_step, flops_step, intensity
from convlab.interview.shapes import layer, outputs, said
from convlab.interview.slips import MULTIPLY_ADD, NUMBERS, of_layer
from convlab.interview.units import INTENSITY, SECOND, SIDE
from convlab.problem import ConvProblem
from convlab.support.units import count_text, number_text, time_text

FAR = 1.5  # times off the ridge: nearer, and the side is a matter of rounding


@cache
def _sheets() -> tuple[Datasheet, ...]:
    return tuple(datasheets.every().values())


def _machine(random: Random) -> tuple[str, str, float, float]:
    """Return a machine's name, a type of numbers, and its datasheet's FLOP/s and bytes/s."""
    sheet = random.choice(_sheets())
    dtype = random.choice([name for name in ("float32", "float16") if name in sheet.flops])
    roofs = of_datasheet(sheet)
    flat = {roof.name: roof.rate for roof in roofs.more} | {"float32": roofs.adds.rate}
    return sheet.name, dtype, flat[dtype], roofs.memories[-1].rate


def _promised(name: str, dtype: str, flops: float, memory: float) -> str:
    speed, bandwidth = f"{count_text(flops)}FLOP/s", f"{count_text(memory)}B/s"
    return f"By its datasheet {name} does {speed} in {dtype} and moves {bandwidth}."


def _ask_ridge(random: Random) -> Asked:
    name, dtype, flops, memory = _machine(random)
    share, part = (random.randrange(40, 101, 5) for _ in range(2))
    reached, moved = flops * share / 100, memory * part / 100
    answer = reached / moved
    return Asked(
        f"{_promised(name, dtype, flops, memory)} Programs are seen to reach {share} % of that arithmetic "
        f"and {part} % of that bandwidth. From what intensity on is the arithmetic their limit?",
        answer,
        (
            f"arithmetic: {share} % of {count_text(flops)}FLOP/s = {count_text(reached)}FLOP/s",
            f"bandwidth: {part} % of {count_text(memory)}B/s = {count_text(moved)}B/s",
            f"both take as long at {count_text(reached)} / {count_text(moved)} = {INTENSITY.text(answer)}",
        ),
        (
            Slip(
                "turns the ratio round", 1 / answer, "The ridge is FLOPs for each byte: FLOP/s over bytes/s."
            ),
            Slip("counts multiply-adds", answer / 2, MULTIPLY_ADD),
            Slip("counts FLOPs for each number", answer * (2 if dtype == "float16" else 4), NUMBERS),
            Slip("takes the datasheet at its word", flops / memory, "Programs reach less of each."),
            Slip(
                "takes the share of the arithmetic only",
                reached / memory,
                "Of the bandwidth, too, only a part is reached.",
            ),
            Slip(
                "takes the share of the bandwidth only",
                flops / moved,
                "Of the arithmetic, too, a part is lost.",
            ),
        ),
    )


RIDGE_POINT = Kind(
    name="ridge_point",
    title="ridge point of a machine",
    unit=INTENSITY,
    ask=_ask_ridge,
    read=(("15", "ridge of this core"),),
)


def _ask_side(random: Random) -> Asked:
    name, dtype, flops, memory = _machine(random)
    ridge = flops / memory
    p = layer(random, lambda p: not 1 / FAR < intensity(p) / ridge < FAR, dtypes=(dtype,))
    there = intensity(p)
    answer = 1.0 if there > ridge else -1.0
    sign, word = (">", "arithmetic") if answer > 0 else ("<", "memory")
    return Asked(
        f"{_promised(name, dtype, flops, memory)} {said(p)} {ONCE} On which side of the ridge does it lie: "
        "is the memory its limit, or the arithmetic?",
        answer,
        (
            f"ridge: {count_text(flops)} / {count_text(memory)} = {INTENSITY.text(ridge)}",
            *outputs(p),
            flops_step(p),
            bytes_step(p),
            f"intensity: {count_text(p.flops)} / {count_text(cost_of(p).bytes)} = {INTENSITY.text(there)}",
            f"{number_text(there, 3)} {sign} {number_text(ridge, 3)}: the {word} is the limit",
        ),
        (
            Slip(
                "compares the wrong way round",
                -answer,
                "Many FLOPs for each byte are right of the ridge, under the flat roof of the arithmetic.",
            ),
        ),
    )


RIDGE_SIDE = Kind(
    name="ridge_side",
    title="side of the ridge",
    unit=SIDE,
    ask=_ask_side,
    read=(("15", "smallest_batch"), ("15", "ridge of this core")),
    tolerance=0,
)


def _ask_time(random: Random) -> Asked:
    name, dtype, flops, memory = _machine(random)
    p = layer(random, dtypes=(dtype,))
    moved = cost_of(p).bytes

    def least(seen: ConvProblem) -> float:
        return seen.flops / min(flops, memory * intensity(seen))

    answer = least(p)
    computing, moving = p.flops / flops, moved / memory
    longer = "arithmetic" if computing > moving else "memory"
    return Asked(
        f"{_promised(name, dtype, flops, memory)} {said(p)} {ONCE} What is the least time that the roofline "
        "allows?",
        answer,
        (
            *outputs(p),
            flops_step(p),
            f"arithmetic: {count_text(p.flops)} / {count_text(flops)} = {time_text(computing)}",
            bytes_step(p),
            f"memory: {count_text(moved)} / {count_text(memory)} = {time_text(moving)}",
            f"both run at once, and the longer one counts: the {longer}, {time_text(answer)}",
        ),
        (
            Slip(
                "takes the shorter of two times",
                min(computing, moving),
                "One time is that of the arithmetic, one that of the memory. A run ends when both are done.",
            ),
            Slip("counts a multiply-add as one operation", max(computing / 2, moving), MULTIPLY_ADD),
            Slip("counts numbers, not bytes", max(computing, moving / p.itemsize), NUMBERS),
            Slip("adds two times", computing + moving, "A machine computes while it moves."),
            *of_layer(p, least, "forgets the batch", "forgets the groups", "forgets the stride"),
        ),
    )


ROOF_TIME = Kind(
    name="roof_time",
    title="least time under the roofs",
    unit=SECOND,
    ask=_ask_time,
    read=(("15", "roof_share"), ("16", "phase_seconds")),
)
