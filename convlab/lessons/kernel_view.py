"""The warp microscope on a learner's kernel, opened at the access that is wrong."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from convlab.gpu.occupancy import WARP
from convlab.gpu.simulator import Mistake, Request, Site
from convlab.gpu.simulator.errors import element
from convlab.inspect.trace_view import MOST_REQUESTS
from convlab.lessons.kernel_exercise import KernelExercise
from convlab.lessons.kernel_run import Ran, address_of
from convlab.lessons.kernel_waste import wasteful, worst_site
from convlab.lessons.progress import NAMED


@dataclass(frozen=True)
class Spot:
    """Where a kernel is wrong: an access, the number of its request, lanes to blame, what is to be said."""

    site: Site
    step: int
    lanes: list[int] = field(default_factory=list)
    text: str = ""
    name: str = ""


def microscope(exercise: KernelExercise, number: int, ran: Ran) -> Any:
    """Return a `WarpMicroscope` on a launch that went wrong; None if there is no access to show.

    Nor is there one in a page that is made of a notebook: what is tried there is nobody's.
    """
    spot = None if os.environ.get(NAMED) == "" else _spot(exercise, number, ran)
    if spot is None:
        return None
    try:
        from convlab.widgets import WarpMicroscope
    except ImportError:  # widgets need more than NumPy and Numba
        return None
    flaw = {"text": spot.text, "lanes": spot.lanes, "name": spot.name}
    return WarpMicroscope(ran.trace, access=spot.site, step=spot.step, flaw=flaw)


def _spot(exercise: KernelExercise, number: int, ran: Ran) -> Spot | None:
    """Return the access that is wrong, or the one that is paid too much for."""
    if not ran.sites:
        return None
    if ran.mistakes:
        return next(filter(None, (_spot_of_mistake(ran, mistake) for mistake in ran.mistakes)), None)
    if ran.error is not None:
        return None
    if ran.wrong.any():
        return _spot_of_number(ran)
    over = wasteful(exercise, number, ran)
    site = worst_site(ran, over[0]) if over else max(ran.sites, key=lambda s: s.requests)
    requests = _requests(ran, site)
    return Spot(site, max(range(len(requests)), key=lambda i: _price(requests[i], site)))


def _spot_of_mistake(ran: Ran, mistake: Mistake) -> Spot | None:
    """Return where a mistake was made; None if nothing in memory was touched there."""
    own = [s for s in ran.sites if s.array == mistake.array and s.place == mistake.place]
    line = [s for s in ran.sites if (s.file, s.line) == (mistake.place.file, mistake.line) and mistake.array]
    if not own + line:
        return None
    site = (own + line)[0]
    x, y, _ = (*ran.launch.block, 1, 1)[:3]
    thread = mistake.thread[0] + x * (mistake.thread[1] + y * mistake.thread[2])
    where, lane = (tuple(mistake.block), thread // WARP), thread % WARP
    requests = [(i, r) for i, r in enumerate(_requests(ran, site)) if (r.block, r.warp) == where]
    whole = own and len(mistake.index) == len(site.shape)
    address = address_of(site, mistake.index) if whole else None
    asked = [i for i, r in requests if address in r.addresses[r.lanes == lane]]
    step = asked[0] if asked else requests[-1][0] if requests else 0
    text = f"{mistake.kind.capitalize()}: {mistake.message.partition(' (thread')[0]}"
    return Spot(site, step, [lane], text, element(site.array, mistake.index) if whole else "")


def _spot_of_number(ran: Ran) -> Spot | None:
    """Return where the first wrong number of y was written; any store into y, if none was."""
    y = list(ran.launch.arguments).index("y")
    stores = [site for site in ran.sites if site.kind != "ld" and ran.parameter(site.array) == y]
    if not stores:
        return None
    index = tuple(int(i) for i in np.argwhere(ran.wrong)[0])
    for site in stores:
        for i, request in enumerate(_requests(ran, site)):
            lanes = request.lanes[request.addresses == address_of(site, index)].tolist()
            if lanes:
                expected, got = (float(np.asarray(array)[index]) for array in (ran.launch.expected, ran.y))
                name = element(site.array, index)
                return Spot(site, i, lanes, f"{name} should be {expected:g}, and is {got:g}", name)
    return Spot(stores[0], 0, [], f"{element(stores[0].array, index)} is written by nobody")


def _requests(ran: Ran, site: Site) -> list[Request]:
    assert ran.trace is not None
    return ran.trace.requests(site)[:MOST_REQUESTS]


def _price(request: Request, site: Site) -> int:
    return request.wavefronts if site.space == "shared" else request.sectors
