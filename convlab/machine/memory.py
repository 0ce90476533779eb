"""The memory that is free, of this machine or of a device, and whether some arrays fit into it."""

from __future__ import annotations

from functools import cached_property

from convlab.support.units import bytes_text

_NOT_WORTH_ASKING = 1 << 22  # bytes; to look up the memory at hand takes as long as a small convolution


class Memory:
    """Where a convolution runs, and what that takes beside its plan. How much is free is looked up once.

    Parameters
    ----------
    output, copied : int
        Bytes of y, and of a copy of x: contiguous, or on the device.
    device : optional
        Where a GPU form runs; its memory counts then, not that of the machine.
    """

    def __init__(self, *, output: int = 0, copied: int = 0, device=None):
        self.output, self.copied, self.device = output, copied, device

    def lacking(self, sizes: dict[str, int]) -> str | None:
        """Return why arrays of so many bytes do not fit, or None if they do or it cannot be known."""
        needed = sum(sizes.values())
        if needed < _NOT_WORTH_ASKING or self.free is None or needed <= self.free:
            return None
        listed = ", ".join(f"{name} {bytes_text(size)}" for name, size in sizes.items() if size)
        memory = "memory" if self.device is None else "device memory"
        return f"needs {bytes_text(needed)} ({listed}) and {bytes_text(self.free)} of {memory} are free"

    @cached_property
    def free(self) -> int | None:
        """Bytes of memory that are free now; None if that cannot be known."""
        if self.device is not None:
            return self.device.free()
        from convlab.machine import facts  # asked for large arrays only, and slow to import

        return facts.memory_at_hand()
