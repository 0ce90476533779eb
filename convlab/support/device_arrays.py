"""Arrays that lie in a GPU's memory, whoever made them: found, and refused if no kernel could read them.

Numba, CuPy and PyTorch all tell where their arrays lie by one attribute, `__cuda_array_interface__`:

    {"shape": (1, 8, 8, 3), "typestr": "<f4", "data": (140013568, False), "strides": None, "version": 3}

The pair is the address and whether it may only be read. No strides means C-contiguous.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

import numpy as np

from convlab.errors import ArrayError
from convlab.support.checks import COMPUTES, check_form, check_out, said

ALIGNMENT = 16  # bytes: a kernel may load four float32 at once


@dataclass(frozen=True)
class Described:
    """What an array of a device says about itself; `end` is the address after its last byte."""

    shape: tuple[int, ...]
    dtype: np.dtype
    pointer: int
    read_only: bool
    strides: tuple[int, ...] | None
    masked: bool

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def end(self) -> int:
        return self.pointer + prod(self.shape) * self.dtype.itemsize

    @property
    def contiguous(self) -> bool:
        """Are the numbers side by side, the last axis fastest? An axis of one takes no steps."""
        step = self.dtype.itemsize
        for size, stride in zip(reversed(self.shape), reversed(self.strides or ()), strict=False):
            if size > 1 and stride != step:
                return False
            step *= size
        return True


def described(name: str, array) -> Described | None:
    """Return how an array describes itself, or None if it does not lie on a device.

    Raises
    ------
    ArrayError
        If it lies there but will not be shown, as a tensor of PyTorch that keeps gradients; or says of
        itself what cannot be.
    """
    if isinstance(array, np.ndarray):
        return None
    try:
        interface = array.__cuda_array_interface__
    except AttributeError:
        return None
    except Exception as error:  # each library has a class of its own for it
        raise ArrayError(f"{name} is a {type(array).__name__} that cannot be read: {error}") from None
    try:
        return _read(interface)
    except (TypeError, ValueError, LookupError, AttributeError) as error:
        raise ArrayError(
            f"{name} has a __cuda_array_interface__ that cannot be understood "
            f"({said(error)}), {said(interface)}; expected a dict with "
            '"shape", "typestr" and "data"'
        ) from None


def _read(interface) -> Described:
    (pointer, read_only), typestr = interface["data"], interface["typestr"]
    shape, strides = tuple(interface["shape"]), interface.get("strides")
    strides = None if strides is None else tuple(strides)
    pointer = 0 if pointer is None else pointer
    if not all(number.__class__ is int for number in (pointer, *shape, *(strides or ()))):
        raise TypeError("an address, a size or a stride is no int")
    if min((pointer, *shape)) < 0 or not isinstance(typestr, str) or len(strides or shape) != len(shape):
        raise ValueError("below zero, no typestr, or not a stride for each size")
    return Described(
        shape, np.dtype(typestr), pointer, bool(read_only), strides, interface.get("mask") is not None
    )


def check_described(name, array: Described, device, shape=None, axes="", dtypes=COMPUTES) -> None:
    """Refuse an array of a device that is not of one of `dtypes`, of `shape`, contiguous and on `device`.

    Raises
    ------
    ArrayError, ShapeError
        The message names the array, what it is, and what was expected.
    """
    check_form(name, array, dtypes, shape, axes)
    if array.masked:
        raise ArrayError(f"{name} has a mask; expected an array of plain numbers")
    if not array.contiguous:
        raise ArrayError(
            f"{name} has strides {array.strides}; on a device a C-contiguous array is expected, "
            "no copy is made unasked"
        )
    if array.pointer % ALIGNMENT:
        raise ArrayError(
            f"{name} begins {array.pointer % ALIGNMENT} bytes after a multiple of {ALIGNMENT}; "
            "expected an array of its own (a copy of this one is)"
        )
    if not device.holds(array.pointer):
        raise ArrayError(f"{name} lies on another device; expected it on the one that computes")


def stand_in(name: str, array, device):
    """Return an array of this shape and type that takes no memory, if it lies on a device; else itself.

    Raises
    ------
    ArrayError
        If it lies there and no kernel could read it.
    """
    there = described(name, array)
    if there is None:
        return array
    check_described(name, there, device)
    return np.broadcast_to(np.empty((), there.dtype), there.shape)


def on_host(name: str, array, device):
    """Return what is read once, as weights or a bias, as a NumPy array."""
    there = described(name, array)
    if there is None:
        return array
    check_described(name, there, device)
    return device.get(device.adopt(array))


def check_same_side(name: str, array, beside: str, on_device: bool) -> Described | None:
    """Return how an array describes itself; refuse one that is on another side than the one it is beside.

    Raises
    ------
    ArrayError
    """
    there = described(name, array)
    if there is not None and not on_device:
        raise ArrayError(f"{name} lies on a device, and {beside} is a NumPy array; expected both on one side")
    if there is None and on_device:
        raise ArrayError(
            f"{name} is a {type(array).__name__}, and {beside} lies on a device; expected both on one side"
        )
    return there


def check_out_beside(
    on_device: bool, out, shape, dtype, device, axes="(N, P, Q, K)", beside="x", **others
) -> None:
    """Refuse an output that is on another side than the input it is beside, that cannot be written as a
    whole, or that shares memory with one of the others.

    Raises
    ------
    ArrayError, ShapeError
    """
    there = check_same_side("out", out, beside, on_device)
    if there is None:
        return check_out(out, shape, dtype, axes, **others)
    check_described("out", there, device, shape, axes, (dtype,))
    if there.read_only:
        raise ArrayError("out is read-only; expected an array that can be written")
    for name, array in others.items():
        first, last = _extent(array)
        if first < there.end and there.pointer < last:
            raise ArrayError(f"out shares memory with {name}; expected an array of its own")


def _extent(array) -> tuple[int, int]:
    """Return the first address of a contiguous array, and the first one after it; zeros for what is none."""
    if isinstance(array, np.ndarray):  # the simulator's
        first = array.__array_interface__["data"][0]
        return first, first + array.nbytes
    there = described("", array)
    return (there.pointer, there.end) if there else (0, 0)
