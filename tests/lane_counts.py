"""What a warp's requests must come to, counted from addresses alone: no kernel and no simulator in sight."""

import numpy as np

SECTOR = 32  # bytes


def count(warp, address, active, size=4):
    """Return (requests, lanes, sectors) of one access by many threads, `size` bytes each at a byte address.

    All three are arrays over the threads; a request is made by every warp that has an active lane.
    """
    warp, address, active = np.broadcast_arrays(warp, address, active)
    warp, address = warp[active].astype(np.int64), address[active].astype(np.int64)
    first, last = address // SECTOR, (address + size - 1) // SECTOR
    assert np.all(last - first < 2)
    touched = np.concatenate([np.stack([warp, first]), np.stack([warp, last])], axis=1)
    return np.array([len(np.unique(warp)), len(warp), np.unique(touched, axis=1).shape[1]])


def traced(trace, kind, array, space="global"):
    """Return the same three figures of a trace, over all places that touch an array."""
    sites = [site for site in trace.sites() if (site.kind, site.array, site.space) == (kind, array, space)]
    return np.array([[site.requests, site.lanes, site.sectors] for site in sites] or [[0, 0, 0]]).sum(axis=0)


def window(problem, p, q, r, s):
    """Return (row, col, inside) of what tap (r, s) of output pixel (p, q) reads."""
    (top, _), (left, _) = problem.padding
    row = p * problem.stride[0] + r * problem.dilation[0] - top
    col = q * problem.stride[1] + s * problem.dilation[1] - left
    return row, col, (row >= 0) & (row < problem.H) & (col >= 0) & (col < problem.W)
