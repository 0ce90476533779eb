"""What `ulimit` allows: the limits that Unix puts on the memory of one process (`man setrlimit`).

They count addresses, not memory that is in use: an array counts from the moment it is asked for.
"""

from __future__ import annotations

from pathlib import Path

from convlab.support.files import text_if_there

STATM = Path("/proc/self/statm")  # in pages: all addresses, ..., and in the sixth place data and stack
_LIMITS = {"RLIMIT_AS": 0, "RLIMIT_DATA": 5}  # the limit, and where in that line stands what counts for it


def memory_left() -> int | None:
    """Return the bytes this process can still take before a limit of its own; None without a limit."""
    try:
        import resource
    except ImportError:  # not on Windows
        return None
    pages = text_if_there(STATM).split()
    if not pages:  # not on macOS
        return None
    left = []
    for name, place in _LIMITS.items():
        limit = resource.getrlimit(getattr(resource, name))[0]
        if limit != resource.RLIM_INFINITY:
            left.append(max(limit - int(pages[place]) * resource.getpagesize(), 0))
    return min(left, default=None)
