"""What a right kernel pays too much for: sectors of an array, or passes over shared memory.

Sectors are held against the worked solution's, with room for other ways to walk over an array. Passes over
shared memory are held against what the kernel's own accesses would take without a conflict: how much it does
there is its own affair.
"""

from __future__ import annotations

import numpy as np

from convlab.gpu.simulator import Request, Site
from convlab.lessons.kernel_exercise import KernelExercise
from convlab.lessons.kernel_run import Access, Cost, Ran, cost_of, run
from convlab.support.units import plural

_MANY = {"sector": "sectors", "pass": "passes"}
ALONE, AGAIN, APART = "alone", "again", "apart"
_BEST: dict[tuple, dict[Access, Cost]] = {}


def wasteful(exercise: KernelExercise, number: int, ran: Ran) -> list[Access]:
    """Return what launch `number` asks too much of, the worst first."""
    best = _best(exercise, number)
    over = {}
    for key, cost in ran.costs.items():
        enough, most = _enough(key, cost, best), _most(exercise, key)
        if cost.cost > most * enough:
            over[key] = cost.cost / max(enough, 1)
    return sorted(over, key=lambda key: -over[key])


def waste(exercise: KernelExercise, number: int, ran: Ran) -> str:
    """Say where a kernel asks for much more than is needed, or nothing if it does not."""
    for key in wasteful(exercise, number, ran):
        site, (space, kind, _) = worst_site(ran, key), key
        mine = ran.costs[key]
        least = _enough(key, mine, _best(exercise, number))
        unit = "sector" if space == "global" else "pass"
        verb = {"ld": "reading", "st": "writing"}.get(kind, "atomic operations")
        each = cost_of(site)[0] / site.requests
        over = "" if space == "global" else " over shared memory"
        enough = f"where {least} {'is' if least == 1 else 'are'} enough" if least else "where none are needed"
        return (
            f"{plural(mine.cost, unit, _MANY[unit])}{over} for {verb}, {enough}. Look at line {site.line}: "
            f"{site.array} takes {each:.3g} for each of {plural(site.requests, 'request')}."
        )
    return ""


def manner(ran: Ran, key: Access) -> tuple[str, int]:
    """Return in which way accesses of one sort cost too much, and how far apart neighbouring lanes ask.

    It tells kernels apart that ask too much of the same array: one lane asks alone, all ask again and again,
    or what lanes ask for at once is no neighbour's.
    """
    assert ran.trace is not None
    site = worst_site(ran, key)
    cost, least = cost_of(site)
    if site.lanes == site.requests:
        return ALONE, 0
    if cost <= 1.5 * least:
        return AGAIN, 0
    request = _widest(ran, site)
    steps, often = np.unique(np.diff(request.addresses // site.itemsize), return_counts=True)
    return APART, abs(int(steps[often.argmax()]))


def why_wasted(exercise: KernelExercise, number: int, ran: Ran) -> str:
    """Say what is behind it: what the lanes of one request ask for, or how often they ask; or ""."""
    over = wasteful(exercise, number, ran)
    if not over or ran.trace is None:
        return ""
    site = worst_site(ran, over[0])
    if site.kind == "st" and ran.parameter(site.array) not in (-1, list(ran.launch.arguments).index("y")):
        return f"{site.array} is what goes in: leave it as it is, and write into y."
    way, _ = manner(ran, over[0])
    if way == ALONE:
        return "One lane asks while the others of its warp have nothing to do: let all of them take part."
    if way == AGAIN:
        many = f"Every request for {site.array} is as cheap as it can be, but there are too many of them: "
        if site.kind == "st":
            return f"{many}numbers are written more than once. Once is enough, when all is known."
        return (
            f"{many}numbers are asked for again and again. Keep them in a variable, or let threads share the "
            "work."
        )
    request = _widest(ran, site)
    steps = set(np.diff(request.addresses // site.itemsize).tolist())
    apart = abs(steps.pop()) if len(steps) == 1 else 0
    if apart <= 1:
        return ""
    said = f"Neighbouring lanes ask for numbers of {site.array} that are {apart} apart"
    if site.space == "shared":
        return f"{said}: in which banks do these lie?"
    return f"{said}. Side by side, eight share a sector: which index should `threadIdx.x` go into?"


def _widest(ran: Ran, site: Site) -> Request:
    """Return the request of a site in which the most lanes take part."""
    assert ran.trace is not None
    return max(ran.trace.requests(site), key=lambda request: len(request.lanes))


def worst_site(ran: Ran, key: Access) -> Site:
    """Return the place at which the most is paid of accesses of one sort."""
    mine = [site for site in ran.sites if (site.space, site.kind, ran.parameter(site.array)) == key]
    return max(mine, key=lambda site: cost_of(site)[0])


def _enough(key: Access, cost: Cost, best: dict[Access, Cost]) -> int:
    return cost.least if key[0] == "shared" else best.get(key, Cost()).cost


def _most(exercise: KernelExercise, key: Access) -> float:
    return exercise.conflicts if key[0] == "shared" else exercise.generous


def _best(exercise: KernelExercise, number: int) -> dict[Access, Cost]:
    """Return what the solution pays in launch `number`; worked out once."""
    key = exercise.solution, number
    if key not in _BEST:
        _BEST[key] = run(list(exercise.cases())[number], exercise.solution).costs
    return _BEST[key]
