"""What a container allows: the limits Linux control groups put on this process, version 1 and 2."""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

from convlab.machine.system import whole
from convlab.support.files import text_if_there

MOUNT = Path("/sys/fs/cgroup")
MEMBERSHIP = Path("/proc/self/cgroup")

# Version 1 writes "no limit" as the largest page-aligned number; no machine has an exbibyte.
_UNLIMITED = 2**60


def memory_limit() -> int | None:
    """Return the bytes the container allows this process; None where nothing limits it."""
    return min((limit for limit, _ in _memory()), default=None)


def memory_left() -> int | None:
    """Return the bytes this process can still take before the container's limit; None without a limit.

    Notes
    -----
    File pages the kernel can drop at once (`inactive_file`) count as free, as they do in `docker stats`.
    """
    return min((max(limit - used, 0) for limit, used in _memory()), default=None)


def cpu_quota() -> float | None:
    """Return how many processors' worth of time the container allows, e.g. 1.5; None without a limit."""
    quotas = []
    for folder in _folders("cpu"):
        fields = _words(folder / "cpu.max") or [
            *_words(folder / "cpu.cfs_quota_us"),
            *_words(folder / "cpu.cfs_period_us"),
        ]
        quota, period = map(whole, fields) if len(fields) == 2 else (None, None)
        if quota and period:
            quotas.append(quota / period)
    return min(quotas, default=None)


def _memory() -> Iterator[tuple[int, int]]:
    """Yield (limit, used) in bytes for every control group above this process that has a limit."""
    for folder in _folders("memory"):
        for limit_file, used_file, idle in (
            ("memory.max", "memory.current", "inactive_file"),
            ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
        ):
            limit, used = (whole("".join(_words(folder / name)[:1])) for name in (limit_file, used_file))
            if limit is not None and used is not None and limit < _UNLIMITED:
                stat = _words(folder / "memory.stat")
                droppable = dict(pairwise(stat)).get(idle, "")
                yield limit, max(used - (whole(droppable) or 0), 0)


def _folders(controller: str) -> Iterator[Path]:
    """Yield the folders of this process's control groups for one controller, from its own up to the root.

    A limit may sit on any of them. Inside a container the path in /proc/self/cgroup can be the host's,
    of which only the root is mounted: folders that are not there are passed over.
    """
    for line in text_if_there(MEMBERSHIP).splitlines():
        _, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        if controllers == "":
            roots = [MOUNT, MOUNT / "unified"]
        elif controller in controllers.split(","):
            roots = [MOUNT / controllers, MOUNT / controller]
        else:
            continue
        inside = Path(path.lstrip("/"))
        for root in dict.fromkeys(roots):
            for folder in (root / inside, *(root / parent for parent in inside.parents)):
                if os.path.isdir(folder):  # False, too, where we may not look
                    yield folder


def _words(path: Path) -> list[str]:
    return text_if_there(path).split()
