"""Between registers and memory: ld, st, mov of parts, and cvta. PTX ISA, "Data Movement".

An address without a space is a generic one: those of shared and local memory lie in windows of their own, far
below those of global memory, as on a device.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from tools.ptx.kinds import DTYPES, number
from tools.ptx.lanes import Mask, Step, chosen
from tools.ptx.text import Instruction, PtxError

if TYPE_CHECKING:
    from tools.ptx.wave import Wave

WINDOWS = {"shared": 1 << 24, "local": 2 << 24}  # where generic addresses of these spaces begin
WINDOW = 1 << 24
KINDS = ("b8", "u8", "s8", "b16", "u16", "s16", "b32", "u32", "s32", "b64", "u64", "s64", "f32", "f64")
SPACES = ("global", "shared", "local", "const")
VECTORS = {"": 1, ".v2": 2, ".v4": 4}
_ADDRESS = re.compile(r"\[\s*(%?[\w$.]+)\s*(?:\+\s*(-?\w+))?\s*\]")
_HINTS = (".volatile", ".nc", ".relaxed.gpu", ".acquire.gpu", ".release.gpu")


def address_of(text: str, wave: Wave) -> Callable[[], np.ndarray]:
    """Return what computes the address of every lane, uint64, from ``[%rd1+16]`` or ``[array]``."""
    match = _ADDRESS.fullmatch(text)
    if not match:
        raise PtxError(f"{text!r} is no address")
    held = wave.lanes.register(match[1])
    offset = number(match[2] or "0", "b64")
    if held is None:
        place = np.full(wave.lanes.count, wave.lanes.read(match[1], "u64") + offset)
        return lambda: place
    if held.itemsize not in (4, 8):
        raise PtxError(f"{match[1]} is no register for an address")
    return lambda: held.astype(np.uint64) + offset


def parts_of(text: str, count: int) -> list[str]:
    """Return the names in ``{%r1,%r2}``, or the one of a number alone."""
    parts = [part.strip() for part in text.strip("{}").split(",")]
    if len(parts) != count:
        raise PtxError(f"{text}: expected {count} registers")
    return parts


def load(space: str, kind: str, count: int):
    """Return what binds an `ld` of so many numbers of a type."""

    def bind(instruction: Instruction, wave: Wave) -> Step:
        target, source = instruction.operands
        targets = [wave.lanes.extended(part, kind) for part in parts_of(target, count)]
        address, dtype = address_of(source, wave), DTYPES[kind]

        def step(mask: Mask) -> None:
            lanes = chosen(mask, wave.lanes.count)
            for name, some, addresses in wave.split(space, lanes, address()):
                values = wave.load(name, some, addresses, dtype, count)
                for part, to in enumerate(targets):
                    to[some] = values[:, part]

        return step

    return bind


def store(space: str, kind: str, count: int):
    """Return what binds an `st`."""

    def bind(instruction: Instruction, wave: Wave) -> Step:
        target, source = instruction.operands
        sources = [wave.lanes.read(part, kind) for part in parts_of(source, count)]
        address, dtype = address_of(target, wave), DTYPES[kind]

        def step(mask: Mask) -> None:
            lanes = chosen(mask, wave.lanes.count)
            for name, some, addresses in wave.split(space, lanes, address()):
                values = np.empty((len(some), count), dtype)
                for part, value in enumerate(sources):
                    values[:, part] = value[some] if isinstance(value, np.ndarray) else value
                wave.store(name, some, addresses, values)

        return step

    return bind


def parameter(kind: str):
    """Return what binds an `ld.param`: the same number for every lane."""

    def bind(instruction: Instruction, wave: Wave) -> Step:
        target, source = instruction.operands
        to, match = wave.lanes.extended(target, kind), _ADDRESS.fullmatch(source)
        if not match or match[1] not in wave.parameters:
            raise PtxError(f"{instruction}: no such parameter")
        offset = int(match[2] or 0)
        held = wave.parameters[match[1]].tobytes()[offset : offset + DTYPES[kind].itemsize]
        if len(held) != DTYPES[kind].itemsize:
            raise PtxError(f"{instruction}: reads beyond the parameter")
        value = np.frombuffer(held, DTYPES[kind])[0]

        def step(mask: Mask) -> None:
            np.copyto(to, value, where=True if mask is None else mask, casting="unsafe")

        return step

    return bind


def packed(kind: str):
    """Return what binds a `mov` between a register and the parts it is made of, lower bits first."""

    def bind(instruction: Instruction, wave: Wave) -> Step:
        target, source = instruction.operands
        whole, split = (source, True) if target.startswith("{") else (target, False)
        parts = (target if split else source).strip("{}").split(",")
        part_kind = f"b{8 * DTYPES[kind].itemsize // len(parts)}"
        lanes = wave.lanes
        shape = (lanes.count, len(parts))
        if split:
            value = lanes.read(whole, kind)
            targets = [lanes.extended(part.strip(), part_kind) for part in parts]

            def take_apart(mask: Mask) -> None:
                pieces = (
                    np.ascontiguousarray(np.broadcast_to(value, lanes.count))
                    .view(DTYPES[part_kind])
                    .reshape(shape)
                )
                for piece, to in zip(pieces.T, targets, strict=True):
                    np.copyto(to, piece, where=True if mask is None else mask, casting="unsafe")

            return take_apart
        to, sources = lanes.write(whole, kind), [lanes.read(part.strip(), part_kind) for part in parts]

        def put_together(mask: Mask) -> None:
            pieces = np.empty(shape, DTYPES[part_kind])
            for part, piece in enumerate(sources):
                pieces[:, part] = piece
            np.copyto(to, pieces.view(to.dtype)[:, 0], where=True if mask is None else mask)

        return put_together

    return bind


def to_window(space: str, back: bool):
    """Return what binds a `cvta`: from an address of a space to a generic one, or back."""
    offset = np.uint64(WINDOWS.get(space, 0))

    def bind(instruction: Instruction, wave: Wave) -> Step:
        target, source = instruction.operands
        to, given = wave.lanes.write(target, "u64"), wave.lanes.read(source, "u64")

        def step(mask: Mask) -> None:
            value = given - offset if back else given + offset
            np.copyto(to, value, where=True if mask is None else mask)

        return step

    return bind


def _table() -> dict[str, Callable]:
    table: dict[str, Callable] = {}
    for kind in KINDS:
        table[f"ld.param.{kind}"] = parameter(kind)
        for vector, count in VECTORS.items():
            if DTYPES[kind].itemsize * count > 16:
                continue
            for space in (*SPACES, ""):
                where = f".{space}" * bool(space)
                for hint in ("", *_HINTS):
                    table[f"ld{hint}{where}{vector}.{kind}"] = load(space, kind, count)
                    table[f"ld{where}{hint}{vector}.{kind}"] = load(space, kind, count)
                    if hint != ".nc" and space != "const":
                        table[f"st{hint}{where}{vector}.{kind}"] = store(space, kind, count)
    for kind in ("b32", "b64"):
        table[f"mov.{kind}{{}}"] = packed(kind)  # the form with braces
    for space in SPACES:
        table[f"cvta.{space}.u64"] = to_window(space, back=False)
        table[f"cvta.to.{space}.u64"] = to_window(space, back=True)
    return table


TABLE = _table()
