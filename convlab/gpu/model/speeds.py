"""How fast the units of a GPU are, as the model of its time needs it.

What a multiprocessor begins in a cycle is fixed by its generation; how many there are, their clock and the
memory belong to the board. A driver or a datasheet tells all that. What a load waits for, and how much the L2
cache gives, no maker writes down: others measured it.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import NamedTuple

ISSUED = 4  # instructions a multiprocessor begins in a cycle: it is four, each with a scheduler
BEGIN = 2.5e-6  # seconds of a launch that does nothing: the driver's, on any GPU of the last years


class Generation(NamedTuple):
    """What multiprocessors of one generation have in common.

    Attributes
    ----------
    lanes : int
        Multiply-adds of float32 begun in a cycle.
    access_lanes : int
        Threads whose load or store of one word is begun in a cycle.
    l2 : float
        Bytes a cycle that the L2 cache gives each, if all ask.
    wait : float
        Cycles from a load to its answer from memory.
    matrices : int
        Multiply-adds of float16, with sums in float32, that tensor cores begin in a cycle.
    of_a_geforce : float
        The share of them that a GeForce has.
    of_a_warp : float
        The share of them that the instruction of a single warp, `mma.sync`, reaches.
    l2_copies : int
        Parts of the L2 cache that each keep what their own multiprocessors ask for.
    measured : str
        Who measured the bytes of L2 and the wait.
    """

    lanes: int
    access_lanes: int
    l2: float
    wait: float
    matrices: int
    of_a_geforce: float
    of_a_warp: float
    l2_copies: int
    measured: str


# Lanes: the "Throughput of Native Arithmetic Instructions" of the CUDA C++ Programming Guide. Lanes of an
# access, and the rate of tensor cores: NVIDIA's white papers. That of GA102 says 154.8 TFLOPS of an RTX A6000
# and 71 of a GeForce RTX 3090 ("Peak FP16 Tensor TFLOPS with FP32 Accumulate"): 512 and 256 a multiprocessor;
# there is no GeForce of the others. The rest, by others: bytes of L2 over multiprocessors and clock, and
# cycles of a chain of loads far larger than the caches. What a warp's products reach of Hopper's tensor cores
# was read off our own kernels with Nsight Compute: six cycles for one of 16 x 8 x 16, where four would do.
_BENCHES = "github.com/te42kyfo/gpu-benches, gpu-l2-cache and gpu-latency"
GENERATIONS = {
    "sm_80": Generation(64, 32, 5.4e12 / 108 / 1.41e9, 571, 1024, 1.0, 1.0, 2, f"{_BENCHES}, a100_80.txt"),
    "sm_86": Generation(
        128,
        16,
        1276e9 / 28 / 1.70e9,
        515,
        512,
        0.5,
        1.0,
        1,
        "github.com/YKTian-x2b/AmpereArchViaMicroBenchMark, an RTX 3060",
    ),
    "sm_90": Generation(
        128, 32, 6.9e12 / 114 / 1.755e9, 658, 2048, 1.0, 2 / 3, 2, f"{_BENCHES}, h100_pcie.txt"
    ),
}

H100 = "sm_90", 132, 1.98e9, 3.35e12, 50 << 20  # as in its datasheet: multiprocessors, Hz, bytes a second, L2


@dataclass(frozen=True)
class GpuSpeeds:
    """The speeds of one GPU.

    Attributes
    ----------
    name : str
        Whose they are.
    arch : str
        What its code is compiled for, e.g. "sm_90".
    multiprocessors : int
    clock : float
        Cycles a second.
    flops : float
        Floating-point operations a second, all multiprocessors together, on the ordinary cores.
    matrices : float
        The same of float16, summed in float32, on tensor cores. Hopper's own instruction, `wgmma`, is needed
        to reach its number.
    memory, l2 : float
        Bytes a second, of the memory and of the L2 cache before it.
    l2_holds : float
        Bytes of the L2 cache.
    access_lanes : int
        Threads of a warp whose load or store a multiprocessor begins in a cycle.
    wait : float
        Seconds from a load to its answer from memory.
    begin : float
        Seconds of a launch, beside its blocks.
    """

    name: str
    arch: str
    multiprocessors: int
    clock: float
    flops: float
    matrices: float
    memory: float
    l2: float
    l2_holds: float
    access_lanes: int
    wait: float
    begin: float = BEGIN

    @property
    def capability(self) -> tuple[int, int]:
        """What it can do, by NVIDIA's count: (9, 0) for "sm_90"."""
        return divmod(int(self.arch.removeprefix("sm_")), 10)

    @property
    def mma(self) -> float:
        """Floating-point operations a second of float16 that the tensor cores do for single warps."""
        return self.matrices * GENERATIONS[self.arch].of_a_warp

    @property
    def l2_keeps(self) -> float:
        """Bytes that the L2 cache keeps if all multiprocessors ask for them."""
        return self.l2_holds / GENERATIONS[self.arch].l2_copies

    @classmethod
    def of(
        cls,
        name: str,
        arch: str,
        multiprocessors: int,
        clock: float,
        memory: float,
        l2_holds: float,
        geforce: bool = False,
    ) -> GpuSpeeds:
        """Return the speeds of a board: what its datasheet or driver tells, and its generation."""
        lanes, access_lanes, l2, wait, matrices, of_a_geforce, *_ = GENERATIONS[arch]
        share = of_a_geforce if geforce else 1.0
        return cls(
            name,
            arch,
            multiprocessors,
            clock,
            flops=2 * lanes * multiprocessors * clock,
            matrices=2 * share * matrices * multiprocessors * clock,
            memory=memory,
            l2=l2 * multiprocessors * clock,
            l2_holds=l2_holds,
            access_lanes=access_lanes,
            wait=wait / clock,
        )

    @classmethod
    def of_size(cls, multiprocessors: int) -> GpuSpeeds:
        """Return the speeds of a GPU of which only its multiprocessors are known: an H100's, shared out."""
        arch, count, clock, memory, l2_holds = H100
        share = multiprocessors / count
        return cls.of("a GPU", arch, multiprocessors, clock, memory * share, l2_holds * share)

    @classmethod
    def of_facts(cls, name: str, facts: Mapping) -> GpuSpeeds | None:
        """Return the speeds of a board whose driver told `facts`, as `driver_facts` names them.

        None for a generation that nobody measured, or if the driver did not tell enough.
        """
        arch = "sm_" + str(facts.get("capability")).replace(".", "")
        if arch not in GENERATIONS or not all(facts.get(told) for told in _NEEDED):
            return None
        wires = 2 * facts["memory_bus_bits"] / 8  # bytes a cycle: both edges of the clock count
        return cls.of(
            name,
            arch,
            facts["multiprocessors"],
            clock=1e3 * facts["clock_khz"],
            memory=wires * 1e3 * facts["memory_clock_khz"],
            l2_holds=facts["l2_bytes"],
            geforce=is_geforce(facts.get("name")),
        )


def is_geforce(name: str | None) -> bool:
    """Say if a board is a GeForce, by its maker's name for it: the compute capability does not tell."""
    return "GeForce" in (name or "")


# Numba's names of what a driver tells, and ours.
ATTRIBUTES = {
    "MULTIPROCESSOR_COUNT": "multiprocessors",
    "CLOCK_RATE": "clock_khz",
    "MEMORY_CLOCK_RATE": "memory_clock_khz",
    "GLOBAL_MEMORY_BUS_WIDTH": "memory_bus_bits",
    "L2_CACHE_SIZE": "l2_bytes",
    "MAX_SHARED_MEMORY_PER_MULTIPROCESSOR": "shared_bytes",
}
_NEEDED = "multiprocessors", "clock_khz", "memory_clock_khz", "memory_bus_bits", "l2_bytes"


def driver_facts(board) -> dict:
    """Return what the driver tells of a device, as Numba describes it; None for what is not told."""
    found: dict[str, object] = dict.fromkeys(["name", "capability", *ATTRIBUTES.values()])
    for theirs, ours in ATTRIBUTES.items():
        with suppress(Exception):  # whatever a driver of tomorrow says: no fact is worth a run
            found[ours] = getattr(board, theirs)
    with suppress(Exception):
        found["name"] = board.name.decode() if isinstance(board.name, bytes) else str(board.name)
    with suppress(Exception):
        found["capability"] = ".".join(map(str, board.compute_capability))
    return found
