"""For `test_drills.py`: drills answered from the words of their questions, by counting one by one.

`solve` uses nothing of the library: what a question does not say cannot be known there.
"""

import math
import re
from dataclasses import dataclass

BYTES = {"float16": 2, "float32": 4, "float64": 8}
RATES = {"": 1, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15}
LAYER = re.compile(
    r"A layer takes (?:one picture|(?P<N>\d+) pictures) of (?P<H>\d+) × (?P<W>\d+) pixels and (?P<C>\d+) "
    r"channels?; it has (?P<K>\d+) filters of (?P<R>\d+) × (?P<S>\d+), stride (?P<stride>\d+), "
    r"(?P<padding>no padding|padding \d+"
    r"(?: at the top, \d+ at the bottom, \d+ on the left, \d+ on the right)?)"
    r"(?:, dilation (?P<dilation>\d+))?(?:, (?P<groups>\d+) groups)?(?:, (?P<dtype>float\d+))?\."
)


@dataclass
class Layer:
    """What a question says of a layer."""

    def __init__(self, question):
        found = LAYER.search(question)
        assert found, question
        said = {key: int(text) for key, text in found.groupdict().items() if text and text.isdecimal()}
        self.N, self.H, self.W, self.C = said.get("N", 1), said["H"], said["W"], said["C"]
        self.K, self.R, self.S = said["K"], said["R"], said["S"]
        self.stride, self.dilation, self.groups = (
            said["stride"],
            said.get("dilation", 1),
            said.get("groups", 1),
        )
        pads = [int(each) for each in re.findall(r"\d+", found["padding"])] or [0]
        self.top, self.bottom, self.left, self.right = pads if len(pads) == 4 else pads * 4
        self.b = BYTES.get(found["dtype"])

    def _stops(self, size, taps, before, after):
        """Count the places where a window lies within the padded picture."""
        last = size + after - (taps - 1) * self.dilation - 1
        return len(range(-before, last + 1, self.stride))

    @property
    def P(self):
        return self._stops(self.H, self.R, self.top, self.bottom)

    @property
    def Q(self):
        return self._stops(self.W, self.S, self.left, self.right)

    @property
    def flops(self):
        return 2 * self.N * self.P * self.Q * self.K * self.R * self.S * self.C // self.groups

    @property
    def weights(self):
        return self.K * self.R * self.S * self.C // self.groups

    @property
    def moved(self):
        x, y = self.N * self.H * self.W * self.C, self.N * self.P * self.Q * self.K
        return (x + self.weights + y) * self.b


def solve(kind, question):
    """Return the answer to a question."""
    return SOLVERS[kind](question)


def number(pattern, question):
    return int(re.search(pattern, question)[1].replace(",", ""))


def rates(question):
    """Return the FLOP/s and bytes/s that a question tells, rounded as it tells them."""
    found = re.search(r"does ([\d.]+) (\w?)FLOP/s in \w+ and moves ([\d.]+) (\w?)B/s", question)
    flops, prefix, memory, of_bytes = found.groups()
    return float(flops) * RATES[prefix], float(memory) * RATES[of_bytes]


def parameters(question):
    layer = Layer(question)
    return layer.weights + (layer.K if "with a bias" in question else 0)


def im2col_bytes(question):
    layer = Layer(question)
    return layer.N * layer.P * layer.Q * layer.R * layer.S * layer.C * layer.b


def im2col_ratio(question):
    layer = Layer(question)
    return im2col_bytes(question) / (layer.N * layer.H * layer.W * layer.C * layer.b)


def winograd_saving(question):
    layer, m = Layer(question), number(r"tiles of (\d+) ×", question)
    tiles = len(range(0, layer.P, m)) * len(range(0, layer.Q, m))
    return 9 * layer.P * layer.Q / (tiles * (m + 2) ** 2)


def ridge_point(question):
    flops, memory = rates(question)
    share, part = re.search(
        r"reach (\d+) % of that arithmetic and (\d+) % of that bandwidth", question
    ).groups()
    return flops * int(share) / (memory * int(part))


def ridge_side(question):
    flops, memory = rates(question)
    layer = Layer(question)
    return 1 if layer.flops / flops > layer.moved / memory else -1


def roof_time(question):
    flops, memory = rates(question)
    layer = Layer(question)
    return max(layer.flops / flops, layer.moved / memory)


def sectors(question):
    size = BYTES[re.search(r"reads one (float\d+)", question)[1]]
    place = re.search(r"reads x\[(?:(\d+) · )?i(?: \+ (\d+))?\]", question)
    stride, offset = int(place[1] or 1), int(place[2] or 0)
    touched = {(i * stride + offset) * size + byte for i in range(32) for byte in range(size)}
    return len({byte // 32 for byte in touched})


def bank_passes(question):
    width = number(r"memory, (\d+) float32 to a row", question)
    if column := re.search(r"tile\[i, (\d+)\]", question):
        words = [i * width + int(column[1]) for i in range(32)]
    else:
        across = number(r"tile\[i / (\d+) rounded down", question)
        words = [i // across * width + i % across for i in range(32)]
    return max(len({word for word in words if word % 32 == bank}) for bank in range(32))


def tile_registers(question):
    rows, columns = map(int, re.search(r"computes (\d+) × (\d+) sums", question).groups())
    size = BYTES[re.search(r"sums in (float\d+)", question)[1]]
    return rows * columns * size // (4 * number(r"block of (\d+) threads", question))


def occupancy(question):
    room, most, registers, shared = map(
        lambda text: int(text.replace(",", "")),
        re.search(
            r"room for (\d+) threads, (\d+) blocks, ([\d,]+) registers and (\d+) KiB", question
        ).groups(),
    )
    threads = number(r"blocks of (\d+) threads", question)
    each, wants = (
        number(r"(\d+) registers a thread", question),
        number(r"(\d+) KiB of shared memory a", question),
    )
    held = 0
    while (  # one block more, as long as it fits
        held < most
        and (held + 1) * threads <= room
        and (held + 1) * threads * each <= registers
        and (held + 1) * (wants + 1) <= shared
    ):
        held += 1
    return 100 * held * threads / room


def halo_rows(question):
    chain = [tuple(map(int, found)) for found in re.findall(r"(\d+) × \d+ with stride (\d+)", question)]
    strip = number(r"computes (\d+) rows", question)
    wanted = set(range(1000, 1000 + strip))
    for taps, stride in reversed(chain):
        wanted = {row * stride + tap for row in wanted for tap in range(taps)}
    return len(wanted) - number(r"picture has (\d+) rows", question)


def wire_bytes(question):
    layer, devices = Layer(question), number(r"(\d+) devices", question)
    if "share the batch" in question:
        rounds = 2 * (devices - 1)  # a part in each
        return rounds * layer.weights * layer.b / devices
    if "share the filters" in question:
        channels = layer.K // devices
        return (devices - 1) * layer.N * layer.P * layer.Q * channels * layer.b
    rows = -(-layer.H // devices)  # of a strip that is somewhere in the middle
    mine = range(100 * rows, 101 * rows)
    of_neighbours = {
        row + tap - layer.top
        for row in range(99 * rows, 102 * rows)
        if row not in mine
        for tap in range(layer.R)
    }
    return len([row for row in mine if row in of_neighbours]) * layer.N * layer.W * layer.C * layer.b


SOLVERS = {
    "output_size": lambda question: Layer(question).P,
    "flops": lambda question: Layer(question).flops,
    "parameters": parameters,
    "im2col_bytes": im2col_bytes,
    "im2col_ratio": im2col_ratio,
    "table_bytes": lambda question: math.prod(getattr(Layer(question), letter) for letter in "PQRS") * 4,
    "winograd_saving": winograd_saving,
    "intensity": lambda question: Layer(question).flops / Layer(question).moved,
    "ridge_point": ridge_point,
    "ridge_side": ridge_side,
    "roof_time": roof_time,
    "sectors": sectors,
    "bank_passes": bank_passes,
    "tile_registers": tile_registers,
    "occupancy": occupancy,
    "halo_rows": halo_rows,
    "wire_bytes": wire_bytes,
}


def plainly(value, one):
    """Return a value as plain text in the drill's unit."""
    unit = one.about.unit
    return unit.text(value) if unit.choices else f"{value!r} %" if unit.name == "percent" else f"{value!r}"
