"""Where the numbers in the prose come from that no cell shows: worked out here, given, or told by others.

Each line is a passage as it stands in the text. Beside it stands the same passage, written with the library's
own numbers, or why no number has to be worked out.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import ceil, factorial
from pathlib import Path

import numpy as np

from convlab import ALGORITHMS, ConvProblem
from convlab.algorithms.tensor_core import TILES as WARP_TILES
from convlab.algorithms.winograd_s2d.space_to_depth import M, folded
from convlab.gpu.gemm.heuristics import TILES
from convlab.gpu.occupancy import MOST_SHARED, MULTIPROCESSORS, REGISTERS, SHARED_RESERVED, WARP
from convlab.gpu.simulator.bank_conflicts import BANKS, WORD
from convlab.gpu.simulator.requests import SECTOR
from convlab.networks import load
from convlab.support.units import bytes_text

WORDS = {2: "two", 3: "three", 4: "four", 8: "eight", 9: "nine", 100: "a hundred", 1000: "a thousand"}


@dataclass(frozen=True)
class Told:
    """A number that others found: who, as the text names them."""

    by: str


@dataclass(frozen=True)
class Given:
    """A number that nobody works out here: an example, a question, what another program says."""

    why: str


def word(value: float) -> str:
    """Return a whole number as a word."""
    return WORDS[int(value)] if value == int(value) else f"{value:g}"


def about(value: float) -> str:
    """Return a number with one digit as a word: 107 is about a hundred."""
    return WORDS[int(float(f"{value:.0e}"))]


def factor(value: float) -> str:
    """Return how people say so many times: twice, half."""
    return {2: "twice", 0.5: "half"}[float(f"{value:.0e}")]


def weight(lock: str) -> str:
    """Return how much a lock installs, as its first line says it."""
    first = (Path(__file__).resolve().parents[1] / lock).read_text(encoding="utf-8").splitlines()[0]
    return first.partition(": ")[2]


def dozens(value: float) -> str:
    """Return the order of a large number: hundreds, thousands, billions."""
    names = {2: "hundreds", 3: "thousands", 6: "millions", 9: "billions"}
    return names[max(power for power in names if 10**power <= value)]


FIRST = load("resnet18")["conv1"].problem
SECOND = load("resnet18")["layer1.0.conv1"].problem
STRIDED = load("resnet18")["layer2.0.conv1"].problem
LAST = load("resnet18")["layer4.1.conv2"].problem
H100 = MULTIPROCESSORS["sm_90"]
HANGING = 6 * ceil(LAST.P / 6)  # rows that tiles of 6 x 6 cover there
HYPOTHETICAL = Given("an interviewer's example")


def products(m: int) -> int:
    """Multiplications of one Winograd tile of m x m outputs, one channel."""
    return (m + SECOND.R - 1) ** 2


def folded_saving(problem: ConvProblem) -> float:
    """Products of the definition for each of Winograd's on the folded picture, tiles of M x M outputs."""
    inner = folded(problem)
    return M**2 * problem.gemm[2] / ((M + inner.R - 1) ** 2 * inner.C)


def fft_over(taps: int, fewer: int) -> float:
    """Operations of a transform with so many taps beside those with fewer: the layer of notebook 07."""
    layers = (ConvProblem(1, 56, 56, 32, 32, n, n, padding=n // 2) for n in (taps, fewer))
    more, less = (ALGORITHMS["fft"].flops(problem) for problem in layers)
    return more / less


SOURCES: dict[str, dict[str, Callable[[], str] | Told | Given]] = {
    "README": {
        "a photograph of 588 KiB.": lambda: f"a photograph of {bytes_text(FIRST.x_bytes)}.",
        "(162 MB to download, 511 MB on the disk)": lambda: f"({weight('requirements.txt')})",
        "in a few minutes": Given("what the command prints at its end"),
        "(249 MB to download, 666 MB on the disk)": lambda: f"({weight('requirements-gpu.txt')})",
        "(20 MB to download, 80 MB on the disk)": lambda: f"({weight('requirements-cluster.txt')})",
    },
    "00": {
        "billions of these multiplications": lambda: f"{dozens(load('vgg16').macs)} of these multiplications",
        "2.25 times fewer": lambda: f"{4 * SECOND.R * SECOND.S / products(2)} times fewer",
    },
    "01": {
        "5040 orders of seven loops": lambda: f"{factorial(len('nkpqrsc'))} orders of seven loops",
        "a hundred times the time": HYPOTHETICAL,
    },
    "02": {
        "The picture is there nine times": lambda: f"The picture is there {word(9)} times",
        "copied nine times comes back nine times as large": lambda: (
            "copied {0} times comes back {0} times as large".format(word(SECOND.R * SECOND.S))
        ),
        "half as much again": Given("the cell below asks for it"),
    },
    "04": {
        "up to 62 % more speed": Told("paper"),
        "half as high and half as wide": lambda: "{0} as high and {0} as wide".format(
            factor(FIRST.P / FIRST.H)
        ),
        "layers where C · K is at most 2048": Told("oneDNN"),
        "Your new kernel is 30 % faster": HYPOTHETICAL,
    },
    "05": {
        "second cache of an H100, 50 MB": Told("NVIDIA"),
        "hundreds of threads read it": lambda: (
            f"{dozens(max(tile.threads for tiles in TILES.values() for tile in tiles))} of threads read it"
        ),
    },
    "06": {
        "cost 2.25 times fewer": lambda: f"cost {4 * SECOND.R * SECOND.S / products(2)} times fewer",
        "a pixel meets a weight, and that happens four times": lambda: (
            f"a pixel meets a weight, and that happens {word(2 + 3 - 1)} times"
        ),
        "12 x 12 outputs where 7 x 7 are wanted: two thirds of the work": lambda: (
            f"{HANGING} x {HANGING} outputs where {LAST.P} x {LAST.P} are wanted: "
            f"{word(round(3 * (1 - (LAST.P / HANGING) ** 2)))} thirds of the work"
        ),
        "call a block one pixel of four times the channels": lambda: (
            f"call a block one pixel of {word(folded(FIRST).C / FIRST.C)} times the channels"
        ),
        "7 x 7 taps become 4 x 4, of four times the channels": lambda: (
            f"{FIRST.R} x {FIRST.S} taps become {folded(FIRST).R} x {folded(FIRST).S}, "
            f"of {word(folded(FIRST).C / FIRST.C)} times the channels"
        ),
        "become 2 x 2 of four times the channels: products 1.44 times fewer": lambda: (
            f"become {folded(STRIDED).R} x {folded(STRIDED).S} of "
            f"{word(folded(STRIDED).C / STRIDED.C)} times the channels: "
            f"products {folded_saving(STRIDED)} times fewer"
        ),
        "openvinotoolkit/openvino#21623": Told("OpenVINO"),
        "is used four times only": lambda: f"is used {word(ceil(LAST.P / 4) ** 2)} times only",
    },
    "07": {
        "31 x 31 takes a hundred times as many operations as one of 3 x 3": lambda: (
            f"31 x 31 takes {about(31**2 / 3**2)} times as many operations as one of 3 x 3"
        ),
        "it takes about twice as many": lambda: f"it takes about {factor(fft_over(31, 3))} as many",
        "three quarters of the gain": Given("the next sentence answers"),
    },
    "09": {
        "take 14 times as long as that of the input": Told("burn"),
        "21.8 ms against 1.49 ms (burn, pull request 5428)": Told("burn"),
        "took 6.9 times its forward pass (burn, issue 5759)": Told("burn"),
        "wgrad takes 14 times as long as dgrad": Given("the question of the notebook"),
        "CUTLASS 2.7 strided": Told("CUTLASS"),
        "(pull request 75141)": Told("Paddle"),
    },
    "10": {
        "sectors of 32 bytes: eight numbers": lambda: (
            f"sectors of {SECTOR} bytes: {word(SECTOR / WORD)} numbers"
        ),
        "32 neighbours, 128 bytes": lambda: f"{WARP} neighbours, {WARP * WORD} bytes",
        "Four times the bytes": lambda: f"{word(16 / WORD).capitalize()} times the bytes",
        "of 32 banks. Word i of 4 bytes": lambda: f"of {BANKS} banks. Word i of {WORD} bytes",
        "a thousand times in a row": Given("as often as you like"),
        "Since Volta (compute capability 7.0)": Told("NVIDIA's guide"),
    },
    "11": {"Shared memory is 48 KB": lambda: f"Shared memory is {MOST_SHARED // 1024} KB"},
    "12": {
        "is cut two times": Given("the next sentences name them"),
        "8 neighbouring columns but two times four": lambda: (
            f"8 neighbouring columns but {word(8 / (16 / WORD))} times {word(16 / WORD)}"
        ),
        "carries twice as many numbers": Given("pieces of 16 instead of 8"),
    },
    "13": {
        "im2col + GEMM by up to 62 %": Told("Dukhan 2019"),
        "by up to 62 % on a phone's processor": Told("Dukhan 2019"),
    },
    "14": {
        "2048 threads, 65536 registers, 32 blocks, and 228 KiB of shared memory": lambda: (
            f"{H100.threads} threads, {REGISTERS} registers, {H100.blocks} blocks, and "
            f"{bytes_text(H100.shared_bytes)} of shared memory"
        ),
        "two pieces of the largest tile fill a block's 48 KiB": lambda: (
            f"{word(MOST_SHARED / WARP_TILES[0].piece_bytes)} pieces of the largest tile fill a block's "
            f"{MOST_SHARED // 1024} KiB"
        ),
        "takes 1024 bytes for each block": lambda: f"takes {SHARED_RESERVED} bytes for each block",
        "reads begins on a boundary of 16 bytes, and so does a copy of 16 bytes": lambda: (
            "reads begins on a boundary of {0} bytes, and so does a copy of {0} bytes".format(4 * WORD)
        ),
        "from here to there, 16 bytes": lambda: f"from here to there, {4 * WORD} bytes",
        "copies of 16 bytes": lambda: f"copies of {4 * np.dtype(np.float32).itemsize} bytes",
        "reaches in float16 about 65 % of the peak and about 96 %": Told("arXiv:2501.12084"),
        "kernel came to 106 % of cuBLAS": Told("waynehacking8/blackwell-tensorcore-kernels"),
    },
    "16": {
        "Convolutions take 50 to 90 % of the time of such networks": Told("Dukhan 2019"),
        "a layer that ResNet-18 runs four times": lambda: (
            "a layer that ResNet-18 runs "
            f"{word(sum(one.problem == SECOND for one in load('resnet18')))} times"
        ),
        "(its pull request 1290)": Told("PyTorch"),
        "where C · K is at most 2048": Told("oneDNN"),
    },
    "walks/four_percent.py": {"4 %": Given("the interviewer's question")},
    "sheet/formulas.py": {
        "KiB = 1024 bytes, k = 1000": Given("what the prefixes mean"),
    },
}
