"""The warp microscope: what 32 threads ask of the memory in one breath, and how much of it that moves."""

from __future__ import annotations

from collections.abc import Mapping

import traitlets

from convlab.errors import ParameterError
from convlab.gpu.simulator import Site, Trace
from convlab.inspect.trace_view import sites_in_order, trace_as_dict
from convlab.support.checks import said
from convlab.support.units import bytes_text, plural
from convlab.widgets.shared.live import Live, Step
from convlab.widgets.shared.traits import Whole

SECTOR = 32  # bytes
SENTENCES = {
    "no_conflict": "No bank conflict: {passes} over shared memory",
    "conflict": "A bank conflict: {cost} passes where {least} would do",
    "whole": "{sectors} for {wanted}: nothing is moved in vain",
    "in_vain": "{cost} sectors where {least} would do: {ratio} times the bytes",
    "request": (
        "Request {step} of {count}, line {line}, warp {warp} of block {block}: each of {lanes} {verb} {size} "
        "bytes of {array}, {wanted} in all."
    ),
}
FIRST_STEPS = (  # of the kernels of `convlab.inspect.access_patterns`
    Step(
        "Press play: 32 lanes want 32 neighbouring numbers. How many sectors of 32 bytes does a request take?"
    ),
    Step("Every other number now. Look at the hatched words: they are moved, and for whom?", {"kernel": 3}),
    Step(
        "A row of y is a column of x. Point at a lane: how many others share its sector?",
        {"kernel": 5, "step": 0},
    ),
)


class WarpMicroscope(Live):
    """The requests of a kernel's warps, one by one: 32 lanes, and the sectors or banks that they meet in.

    Parameters
    ----------
    traces : convlab.gpu.simulator.Trace, or a mapping of str to Trace, optional
        What to look at: your own kernels, as `convlab.gpu.simulator.run` traced them. By default the small
        kernels of `convlab.inspect.access_patterns`.
    kernel, step : int
        Which of them is shown first, and which request of the access.
    access : int or convlab.gpu.simulator.Site
        Which access of the kernel: its place in the list, or one of the trace's `sites`.
    flaw : dict, optional
        What is wrong with the request that is shown first: "text", a sentence, or ""; "lanes", the ones to
        blame, which are outlined; "name", what they ask for, e.g. "x[3, 0]", or "".

    Raises
    ------
    ConvError
        If a trace is none, or has no access to memory, or a number is negative.

    Notes
    -----
    A *sector* is 32 bytes, the least that is moved to or from global memory. Shared memory has 32 *banks*; in
    a *pass* (a wavefront) each of them hands out one word of 4 bytes. Addresses count from the start of the
    array, which Numba's allocator lays on a boundary of 512 bytes or more.

    Examples
    --------
    >>> WarpMicroscope().request["cost"]
    4
    """

    sentences = SENTENCES
    kernel, access, step = Whole(0, 99, 0), Whole(0, 99, 0), Whole(0, 999, 0)
    kernels = traitlets.List().tag(sync=True)

    def __init__(self, traces=None, *, kernel=0, access=0, step=0, flaw=None):
        named, self._small_kernels = _named(traces), traces is None
        if isinstance(access, Site):
            access = _place(list(named.values())[kernel], access)
        kernels = [_described(name, trace) for name, trace in named.items()]
        if flaw is not None:
            kernels[kernel]["accesses"][access]["requests"][step]["flaw"] = _checked(flaw)
        super().__init__(kernels=kernels, kernel=kernel, access=access, step=step)

    def known_by(self) -> dict:
        """Return what tells it from others: how it opens, and its kernels."""
        return self.opening | {"kernels": [kernel["name"] for kernel in self.kernels]}

    def lead(self) -> list[Step]:
        """Return the steps: of the small kernels, or one for each of several kernels of one's own."""
        if self._small_kernels:
            return list(FIRST_STEPS)
        if len(self.kernels) < 2 or any(_flaws(self.kernels)):
            return []
        kernel, access, _ = self.shown
        others = [one for one in range(len(self.kernels)) if self.kernels[one] is not kernel]
        found = [Step(_first_words(kernel, access))]
        for number in others[:2]:
            one = self.kernels[number]
            place = _like(access, one["accesses"])
            state = {"kernel": number, "access": place, "step": 0}
            found.append(Step(_next_words(one, one["accesses"][place], access["array"]), state))
        return found

    @property
    def shown(self) -> tuple[dict, dict, int]:
        """The kernel, the access and the number of the request that are shown now."""
        kernel = self.kernels[min(self.kernel, len(self.kernels) - 1)]
        access = kernel["accesses"][min(self.access, len(kernel["accesses"]) - 1)]
        return kernel, access, min(self.step, len(access["requests"]) - 1)

    @property
    def request(self) -> dict:
        """The request that is shown now."""
        _, access, step = self.shown
        return access["requests"][step]

    def describe(self) -> str:
        """Return the present state in words."""
        kernel, access, step = self.shown
        request = self.request
        lanes = sum(at is not None for at in request["lanes"])
        names = {name: access[name] for name in ("line", "array")}
        names |= {name: request[name] for name in ("warp", "block", "size")}
        told = self._say(
            "request",
            step=step + 1,
            count=f"{access['count']:,}",
            lanes=plural(lanes, "lane"),
            verb="reads" if access["kind"] == "ld" else "writes",
            wanted=bytes_text(request["wanted"]),
            **names,
        )
        each = f"{access['cost'] / access['count']:.4g}"
        unit = _units(access) if each != "1" else "pass" if access["space"] == "shared" else "sector"
        return (
            f"One memory request of a warp, in the kernel “{kernel['name']}”. {told} "
            f"{self._finding(access, request)}. All requests of this line: {each} {unit} each."
        )

    def _finding(self, access: dict, request: dict) -> str:
        """Return what a request costs, and what it would cost at best."""
        if said := request.get("flaw", {}).get("text"):
            return said
        cost, least, wanted = (request[name] for name in ("cost", "least", "wanted"))
        if access["space"] == "shared":
            word = "no_conflict" if cost <= least else "conflict"
            return self._say(word, passes=plural(cost, "pass", "passes"), cost=cost, least=least)
        word, ratio = "whole" if cost <= least else "in_vain", f"{cost * SECTOR / wanted:.3g}"
        sectors, asked = plural(cost, "sector"), bytes_text(wanted)
        return self._say(word, sectors=sectors, wanted=asked, cost=cost, least=least, ratio=ratio)


def _named(traces) -> dict[str, Trace]:
    """Return the traces by name, whatever way they were given."""
    if traces is None:
        from convlab.inspect.access_patterns import ACCESS_PATTERNS

        return {access.name: access.trace() for access in ACCESS_PATTERNS}
    if isinstance(traces, Trace):
        return {traces.kernel: traces}
    if (
        not isinstance(traces, Mapping)
        or not traces
        or not all(isinstance(t, Trace) for t in traces.values())
    ):
        raise ParameterError(
            f"traces={said(traces)}; expected a Trace of simulator.run, or a dict of names and Traces"
        )
    return {str(name): trace for name, trace in traces.items()}


def _flaws(kernels: list[dict]) -> list:
    """Return the flaws that are shown in kernels."""
    return [
        request["flaw"]
        for kernel in kernels
        for access in kernel["accesses"]
        for request in access["requests"]
        if "flaw" in request
    ]


def _like(access: dict, accesses: list[dict]) -> int:
    """Return the place of the access most like this one: of the same array, else the one that costs most."""
    same = [i for i, one in enumerate(accesses) if all(one[n] == access[n] for n in ("array", "kind"))]
    return same[0] if same else max(range(len(accesses)), key=lambda i: accesses[i]["cost"])


def _first_words(kernel: dict, access: dict) -> str:
    return (
        f"“{kernel['name']}”: step through its requests for {access['array']}. How many {_units(access)} "
        "does each take, and which lanes share one?"
    )


def _next_words(kernel: dict, access: dict, array: str) -> str:
    if access["array"] != array:
        return f"Now “{kernel['name']}”: it never asks for {array}. Which requests are left?"
    return (
        f"Now “{kernel['name']}”, {access['array']}: does a request take more {_units(access)}, or fewer? "
        "Point at a lane to see why."
    )


def _units(access: dict) -> str:
    return "passes" if access["space"] == "shared" else "sectors"


def _checked(flaw) -> dict:
    try:
        text, lanes, name = str(flaw["text"]), [int(lane) for lane in flaw["lanes"]], str(flaw["name"])
    except (TypeError, LookupError, ValueError):
        raise ParameterError(f"flaw={said(flaw)}; expected a dict of text, lanes and name") from None
    return {"text": text, "lanes": lanes, "name": name}


def _described(name: str, trace: Trace) -> dict:
    kernel = trace_as_dict(name, trace)
    if not kernel["accesses"]:
        raise ParameterError(f"the trace of {name!r} has no access to global or shared memory")
    return kernel


def _place(trace: Trace, site: Site) -> int:
    if site not in (sites := sites_in_order(trace)):
        raise ParameterError(f"access is line {site.line}, which is not in the trace of {trace.kernel!r}")
    return sites.index(site)
