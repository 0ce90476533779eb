"""Speeds that come with convlab, for a machine that was not measured yet: those of a processor like it.

Like it means: with the same vectors, for they decide what a register tile is, and of the same maker, whose
caches are alike: the third one of a Zen core is four to eight times as fast as that of an Intel server, and
weights that were transformed to many times their size come from there. A file in `data/speeds/` holds what
one processor of a class was measured to do, with its date and how. What can be known of this machine at once
is put in: the sizes of its caches, and how many threads it has. How fast it is cannot be known so. Who is the
fastest on a layer depends less on how fast a processor is than on how its speeds compare.
"""

from __future__ import annotations

import json
import platform

from convlab.auto.predict import Speeds
from convlab.errors import ConvError
from convlab.machine import system
from convlab.machine.facts import cores_at_hand
from convlab.support.files import data_path, read_text

WHAT = "speeds of one processor, for others of its class"

# Vector bytes to class, and class to file. No Arm processor has been measured yet: of those that were, AVX2
# is nearest, with fused multiply-adds and as many FLOPs for each byte of memory.
BY_VECTORS = {64: "AVX-512", 32: "AVX2", 16: "SSE2"}
INTEL = "Intel "  # before the name of a class; without it AMD's processors are meant, and the rest
FILES = {
    "AVX-512": "avx512.json",
    "Intel AVX-512": "avx512_intel.json",
    "AVX2": "avx2.json",
    "Intel AVX2": "avx2_intel.json",
    "SSE2": "sse2.json",
}
NEAREST = {"Arm NEON": "AVX2"}
# What LLVM calls the processors of others than Intel, as far as it knows them.
_NOT_INTEL = ("znver", "bdver", "btver", "amdfam", "k8", "athlon", "opteron", "generic", "x86-64")


def processor_class() -> str:
    """Return the class of the processor that Numba compiles for: by its vectors, and who made it."""
    from convlab.cpu.tile_size import vector_bytes

    if platform.machine().lower() in ("arm64", "aarch64"):
        return "Arm NEON"
    return of_the_maker(BY_VECTORS[vector_bytes()])


def of_the_maker(vectors: str) -> str:
    """Return the class of this processor's maker, if there is one for such vectors."""
    own = INTEL + vectors
    return own if own in FILES and _from_intel() else vectors


def _from_intel() -> bool:
    name = system.host_target()
    return name is not None and not name.startswith(_NOT_INTEL)


def shipped_speeds(name: str | None = None) -> Speeds:
    """Return the speeds of a class of processors, by default of this machine's, with `model` in words.

    Raises
    ------
    ConvError
        If the file cannot be read.
    """
    name = name or processor_class()
    measured = NEAREST.get(name, name)
    found = read(measured)
    nearest = "" if measured == name else f" (the nearest to {name} that was measured)"
    return on_this_machine(
        found["roofs"], found["overheads"], f"the model for {measured} processors{nearest}"
    )


def read(name: str) -> dict:
    """Return what the file of a class holds.

    Raises
    ------
    ConvError
        If it cannot be read, or holds no such speeds.
    """
    path = data_path("speeds", FILES[name])
    try:
        found = json.loads(read_text(path))
        Speeds.of(found["roofs"], found["overheads"]).checked()
    except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
        raise ConvError(f"{path} holds no speeds: {type(error).__name__}: {error}") from None
    return found


def on_this_machine(roofs: dict, overheads: dict, model: str) -> Speeds:
    """Return speeds measured on another machine, with this one's caches and threads put in."""
    threads, caches = cores_at_hand(), {f"L{level}": size for level, size in system.caches().items()}
    copies = {  # of an array that is a quarter of its cache, see `convlab.auto.roofs.copy_sizes`
        level: (caches[level] // 4 if level in caches else size, speed)
        for level, (size, speed) in roofs["copies"].items()
        if level in caches or level == "memory" or not caches
    }
    all_of_them = roofs["flops_all"] / roofs["threads"] * threads
    scaled = roofs | {"threads": threads, "flops_all": all_of_them, "copies": copies}
    return Speeds.of(scaled, overheads, model)
