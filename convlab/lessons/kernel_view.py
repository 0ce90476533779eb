"""The warp microscope on a learner's kernel, opened at the access that is wrong."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from convlab.gpu.simulator import Request, Site
from convlab.inspect.trace_view import MOST_REQUESTS
from convlab.lessons.kernel_exercise import KernelExercise
from convlab.lessons.kernel_run import Ran
from convlab.lessons.kernel_waste import wasteful, worst_site
from convlab.lessons.progress import NAMED


def microscope(exercise: KernelExercise, number: int, ran: Ran) -> Any:
    """Return a `WarpMicroscope` on a launch that went wrong; None if there is no access to show.

    Nor is there one in a page that is made of a notebook: what is tried there is nobody's.
    """
    if os.environ.get(NAMED) == "" or not ran.sites:
        return None
    spot = _spot(exercise, number, ran)
    if spot is None:
        return None
    site, step, _ = spot
    try:
        from convlab.widgets import WarpMicroscope
    except ImportError:  # widgets need more than NumPy and Numba
        return None
    return WarpMicroscope(ran.trace, access=site, step=step)


def _spot(exercise: KernelExercise, number: int, ran: Ran) -> tuple[Site, int, list[int]] | None:
    """Return the access that is wrong, the number of its request, and the lanes that are to blame."""
    if ran.mistakes:
        return _spot_of_mistake(ran)
    if ran.error is not None:
        return None
    if ran.wrong.any():
        return _spot_of_number(ran)
    over = wasteful(exercise, number, ran)
    site = worst_site(ran, over[0]) if over else max(ran.sites, key=lambda s: s.requests)
    requests = _requests(ran, site)
    worst = max(range(len(requests)), key=lambda i: _price(requests[i], site))
    return site, worst, []


def _spot_of_mistake(ran: Ran) -> tuple[Site, int, list[int]] | None:
    mistake = ran.mistakes[0]
    places = [place for place in (mistake.place, mistake.other) if place is not None]
    for site in ran.sites:
        if site.array != mistake.array or site.place not in places:
            continue
        thread = _number(mistake.thread, ran)
        requests = _requests(ran, site)
        own = [
            i
            for i, request in enumerate(requests)
            if request.block == tuple(mistake.block) and request.warp == thread // 32
        ]
        asked = [i for i in own if _address(site, mistake.index) in requests[i].addresses]
        step = (asked or own or [0])[-1 if ran.y is None else 0]
        return site, step, [thread % 32]
    return None


def _spot_of_number(ran: Ran) -> tuple[Site, int, list[int]] | None:
    """Return where the first wrong number of y was written; any store into y, if none was."""
    y = list(ran.launch.arguments).index("y")
    stores = [site for site in ran.sites if site.kind != "ld" and ran.parameter(site.array) == y]
    index = tuple(int(i) for i in np.argwhere(ran.wrong)[0])
    for site in stores:
        address = _address(site, index)
        for i, request in enumerate(_requests(ran, site)):
            hit = np.flatnonzero(request.addresses == address)
            if len(hit):
                return site, i, request.lanes[hit].tolist()
    return (stores[0], 0, []) if stores else None


def _requests(ran: Ran, site: Site) -> list[Request]:
    assert ran.trace is not None
    return ran.trace.requests(site)[:MOST_REQUESTS]


def _price(request: Request, site: Site) -> int:
    return request.wavefronts if site.space == "shared" else request.sectors


def _address(site: Site, index: tuple[int, ...]) -> int:
    flat = 0
    for i, size in zip(index, site.shape, strict=True):
        flat = flat * size + int(i)
    return site.offset + flat * site.itemsize


def _number(thread: tuple[int, ...], ran: Ran) -> int:
    x, y, _ = (*ran.launch.block, 1, 1)[:3]
    return thread[0] + x * (thread[1] + y * thread[2])
