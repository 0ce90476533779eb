"""How many bytes go over the wire when a layer is split over several devices."""

from __future__ import annotations

from random import Random

from convlab.interview.kind import Asked, Kind, Slip
from convlab.interview.shapes import layer, said
from convlab.interview.slips import NUMBERS
from convlab.interview.units import BYTE
from convlab.problem import ConvProblem
from convlab.support.units import bytes_text

DEVICES = (2, 4, 8, 16)


def _numbers(p: ConvProblem, answer: float) -> Slip:
    return Slip("counts numbers, not bytes", answer / p.itemsize, NUMBERS)


def _by_batch(p: ConvProblem, devices: int) -> Asked:
    """Every device has its pictures, and all add up their gradients of the weights in a ring."""
    answer = 2 * p.w_bytes * (devices - 1) / devices
    return Asked(
        f"{said(p)} In training, {devices} devices share the batch. After each step they add up their "
        "gradients of the weights by a ring all-reduce: reduce-scatter, then all-gather. How many bytes does "
        "each device send, for this layer and one step?",
        answer,
        (
            f"gradients: {bytes_text(p.w_bytes)}, {p.w_bytes // p.itemsize:,} numbers of {p.itemsize} bytes",
            f"each way round, {devices - 1} of {devices} parts: {bytes_text(answer / 2)}",
            f"both ways: 2 · {devices - 1}/{devices} · {bytes_text(p.w_bytes)} = {bytes_text(answer)}",
        ),
        (
            Slip("goes round once", answer / 2, "One round adds up the parts, another hands out the sums."),
            _numbers(p, answer),
            Slip("counts all devices together", answer * devices, "Asked is what one device sends."),
            Slip(
                "sends all gradients to every other device",
                p.w_bytes * (devices - 1),
                "In a ring each device passes on one part at a time.",
            ),
            Slip(
                "sends the output", p.y_bytes / devices, "The pictures stay where they are; gradients travel."
            ),
        ),
    )


def _by_filters(p: ConvProblem, devices: int) -> Asked:
    """Every device has its filters, and all need the whole output."""
    part = p.y_bytes / devices
    answer = part * (devices - 1)
    return Asked(
        f"{said(p)} {devices} devices share the filters: each computes its part of the output channels, for "
        "all pictures. Then each needs the whole output, by a ring all-gather. How many bytes does each "
        "device send?",
        answer,
        (
            f"output: N·P·Q·K = {p.N} · {p.P} · {p.Q} · {p.K} numbers of {p.itemsize} bytes = "
            f"{bytes_text(p.y_bytes)}",
            f"part of a device: {bytes_text(p.y_bytes)} / {devices} = {bytes_text(part)}",
            f"it passes on {devices - 1} such parts: {bytes_text(answer)}",
        ),
        (
            _numbers(p, answer),
            Slip("counts all devices together", answer * devices, "Asked is what one device sends."),
            Slip("sends its own part once", part, "A ring passes on the parts of the others as well."),
            Slip("sends the weights", p.w_bytes, "The weights stay where they are; the output travels."),
            Slip(
                "goes round twice",
                2 * answer,
                "Nothing is added up here: parts are handed out, in one round.",
            ),
            Slip("forgets the batch", answer / p.N, "Every picture of the batch has an output."),
            Slip(
                "sends the input", p.x_bytes * (devices - 1) / devices, "All devices have the input already."
            ),
        ),
    )


def _by_rows(p: ConvProblem, devices: int) -> Asked:
    """Every device has a strip of each picture, and needs rows of its neighbours."""
    rows = (p.R - 1) // 2
    line = p.N * p.W * p.C * p.itemsize
    answer = 2 * rows * line
    return Asked(
        f"{said(p)} {devices} devices share the rows of every picture: each has a strip of them and computes "
        "as many rows of the output. Before that, each device that has two neighbours sends each of them the "
        "rows of the input that this one needs. How many bytes does it send, in all?",
        answer,
        (
            f"rows that a window reaches beyond its middle: ({p.R} - 1) / 2 = {rows}",
            f"a row of the batch: N·W·C = {p.N} · {p.W} · {p.C} numbers of {p.itemsize} bytes = "
            f"{bytes_text(line)}",
            f"to two neighbours: 2 · {rows} · {bytes_text(line)} = {bytes_text(answer)}",
        ),
        (
            Slip("serves one neighbour only", answer / 2, "There is one above and one below."),
            _numbers(p, answer),
            Slip(
                "sends all rows of the filter",
                2 * p.R * line,
                "The row in the middle the neighbour has itself.",
            ),
            Slip(
                "sends its whole strip", p.x_bytes / devices, "A neighbour needs the rows at the edge alone."
            ),
            Slip("forgets the batch", answer / p.N, "Every picture of the batch has such rows."),
            Slip("leaves out the channels", answer / p.C, "A row of pixels has all their channels."),
            Slip("counts all devices together", answer * devices, "Asked is what one device sends."),
        ),
    )


def _is_plain(p: ConvProblem) -> bool:
    return p.groups == 1 and p.N % DEVICES[-1] == 0 and p.K % DEVICES[-1] == 0


def _keeps_rows(p: ConvProblem) -> bool:
    return _is_plain(p) and p.R > 1 and p.stride == (1, 1) and p.P == p.H and 4 * DEVICES[1] <= p.H


def _ask(random: Random) -> Asked:
    way = random.choice((_by_batch, _by_filters, _by_rows))
    p = layer(random, _keeps_rows if way is _by_rows else _is_plain, batches=(16, 32, 64, 128, 256))
    return way(p, random.choice([each for each in DEVICES if way is not _by_rows or p.H >= 4 * each > 8]))


KIND = Kind(
    name="wire_bytes",
    title="bytes on the wire when a layer is split",
    unit=BYTE,
    ask=_ask,
    read=(("09", "wgrad_parts"), ("11", "fetches of a tiled pixel")),
)
