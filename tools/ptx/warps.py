"""What the threads of a warp do together: shuffles, votes, and waiting for one another.

PTX ISA, "shfl.sync", "vote.sync", "match.sync", "activemask", "bar.warp.sync". The lanes that a mask names
must all be here: where the kernel sent some of them elsewhere, that is a fault.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from convlab.gpu.simulator.errors import DIVERGENT_WARP
from tools.ptx.lanes import WARP, Mask, Step, chosen
from tools.ptx.memory import Fault
from tools.ptx.text import Instruction

if TYPE_CHECKING:
    from tools.ptx.wave import Wave


def whole_warps(mask: Mask, wave: Wave, instruction: Instruction) -> np.ndarray:
    """Return the lanes that take part as (warps, 32); they must be whole warps."""
    lanes = chosen(mask, wave.lanes.count)
    first = wave.lanes.warp_start[lanes]
    if len(lanes) % WARP or (first.reshape(-1, WARP) != first[::WARP, None]).any():
        raise Fault(
            DIVERGENT_WARP, f"{instruction}: not all 32 threads of a warp, {wave.lanes.who(lanes[0])}"
        )
    return lanes.reshape(-1, WARP)


def gathered(mask: Mask, wave: Wave, members) -> np.ndarray:
    """Return the lanes that take part; all that the masks of their warps name must be among them."""
    count = wave.lanes.count
    lanes = chosen(mask, count)
    bit = np.uint32(1) << (lanes - wave.lanes.warp_start[lanes]).astype(np.uint32)
    here = np.zeros(count, np.uint32)  # for each warp, at its first lane
    np.bitwise_or.at(here, wave.lanes.warp_start[lanes], bit)
    named = np.broadcast_to(members, count)[lanes]
    missing = (named & wave.present[wave.lanes.warp_start[lanes]] & ~here[wave.lanes.warp_start[lanes]]) != 0
    if missing.any() or ((named & bit) == 0).any():
        lane = int(lanes[np.flatnonzero(missing | ((named & bit) == 0))[0]])
        raise Fault(DIVERGENT_WARP, f"not the threads that its mask names, at {wave.lanes.who(lane)}")
    return lanes


def shuffle(mode: str):
    """Return what binds ``shfl.sync``: its source lane is told by lane, b, and the clamp c."""

    def bind(instruction: Instruction, wave: Wave) -> Step:
        target, source, b, c, members = instruction.operands
        name, _, found = target.partition("|")
        lanes = wave.lanes
        to, value = lanes.write(name, "b32"), lanes.read(source, "b32")
        inside = lanes.write(found, "pred") if found else None
        b, c, members = (lanes.read(text, "u32") for text in (b, c, members))

        def step(mask: Mask) -> None:
            some = gathered(mask, wave, members)
            lane = (some - lanes.warp_start[some]).astype(np.int64)
            by = np.broadcast_to(b, lanes.count)[some].astype(np.int64) & 31
            clamp = np.broadcast_to(c, lanes.count)[some].astype(np.int64)
            segment = (clamp >> 8) & 31
            most = (lane & segment) | (clamp & 31 & ~segment)
            least = lane & segment
            j = {"up": lane - by, "down": lane + by, "bfly": lane ^ by, "idx": least | (by & ~segment)}[mode]
            valid = j >= most if mode == "up" else j <= most
            j = np.where(valid, j, lane)
            values = np.broadcast_to(value, lanes.count)
            partner = lanes.warp_start[some] + j
            if not np.isin(partner, some).all():
                raise Fault(DIVERGENT_WARP, f"{instruction}: reads from a thread that is not here")
            taken = values[partner].copy()
            to[some] = taken
            if inside is not None:
                inside[some] = valid

        return step

    return bind


def vote(kind: str):
    """Return what binds ``vote.sync``."""

    def bind(instruction: Instruction, wave: Wave) -> Step:
        target, source, members = instruction.operands
        lanes = wave.lanes
        negated, source = source.startswith("!"), source.lstrip("!")
        predicate, members = lanes.read(source, "pred"), lanes.read(members, "u32")
        to = lanes.write(target, "b32" if kind == "ballot" else "pred")

        def step(mask: Mask) -> None:
            some = gathered(mask, wave, members)
            first = lanes.warp_start[some]
            said = np.broadcast_to(predicate, lanes.count)[some] ^ negated
            bit = np.uint32(1) << (some - first).astype(np.uint32)
            yes, all_here = np.zeros(lanes.count, np.uint32), np.zeros(lanes.count, np.uint32)
            np.bitwise_or.at(yes, first[said], bit[said])
            np.bitwise_or.at(all_here, first, bit)
            answers = {
                "ballot": yes[first],
                "any": yes[first] != 0,
                "all": yes[first] == all_here[first],
                "uni": (yes[first] == all_here[first]) | (yes[first] == 0),
            }
            to[some] = answers[kind]

        return step

    return bind


def active(instruction: Instruction, wave: Wave) -> Step:
    """activemask: a bit for each lane that is here."""
    to = wave.lanes.write(instruction.operands[0], "b32")

    def step(mask: Mask) -> None:
        some = chosen(mask, wave.lanes.count)
        first = wave.lanes.warp_start[some]
        here = np.zeros(wave.lanes.count, np.uint32)
        np.bitwise_or.at(here, first, np.uint32(1) << (some - first).astype(np.uint32))
        to[some] = here[first]

    return step


def alike(instruction: Instruction, wave: Wave) -> Step:
    """match.any.sync: a bit for each lane that has the same number."""
    target, source, members = instruction.operands
    to, value, members = (
        wave.lanes.write(target, "b32"),
        wave.lanes.read(source, "b32"),
        wave.lanes.read(members, "u32"),
    )

    def step(mask: Mask) -> None:
        some = gathered(mask, wave, members)
        first = wave.lanes.warp_start[some]
        same = (first[:, None] == first) & (value[some][:, None] == value[some])  # (lanes, lanes)
        bit = np.uint32(1) << (some - first).astype(np.uint32)
        to[some] = np.bitwise_or.reduce(np.where(same, bit, np.uint32(0)), axis=1)

    return step


def warp_barrier(instruction: Instruction, wave: Wave) -> Step:
    """bar.warp.sync: all that the mask names are here; a kernel that has it is watched warp by warp."""
    members = wave.lanes.read(instruction.operands[0], "u32")
    return lambda mask: gathered(mask, wave, members) is None


def nothing(instruction: Instruction, wave: Wave) -> Step:
    """A fence orders what is in order here anyhow."""
    return lambda mask: None


TABLE: dict[str, Callable] = {
    **{f"shfl.sync.{mode}.b32": shuffle(mode) for mode in ("up", "down", "bfly", "idx")},
    **{f"vote.sync.{kind}.pred": vote(kind) for kind in ("any", "all", "uni")},
    "vote.sync.ballot.b32": vote("ballot"),
    "activemask.b32": active,
    "match.any.sync.b32": alike,
    "bar.warp.sync": warp_barrier,
    "membar.gl": nothing,
    "membar.cta": nothing,
    "membar.sys": nothing,
}
