"""Who does what: the threads of a launch, warp by warp, and the element of an array that each one touches."""

from __future__ import annotations

from convlab.figures.cell_grid import caption, draw_cells, sheet
from convlab.figures.picture import Picture, show
from convlab.figures.style import LIGHT, figure_style
from convlab.gpu.occupancy import WARP
from convlab.support.checked import checked
from convlab.support.checks import check_choice, check_instance

_MOST_WARPS = 12

# Which colour an array has, by the name that the kernel gives it; any other is a copy that the kernel keeps.
_ROLE_OF = {"x": "input", "w": "filter", "y": "output"}


@checked
def threads(trace, array: str, kind: str = "st") -> Picture:
    """Draw the threads of a launch, a warp a row, each with the number of the element it writes or reads.

    Parameters
    ----------
    trace : convlab.gpu.simulator.Trace
    array : str
        Name of the array, as the kernel has it.
    kind : str
        "st" for what is written, "ld" for what is read.

    Returns
    -------
    Picture
        The first request of each warp at the first place that touches the array; twelve warps at most.
    """
    from convlab.gpu.simulator import Trace
    from convlab.inspect.trace_view import trace_as_dict

    check_instance("trace", trace, Trace)
    accesses = trace_as_dict("", trace)["accesses"]
    check_choice("kind", kind, ("st", "ld"))
    check_choice("array", array, {one["array"]: one for one in accesses if one["kind"] == kind})
    access = next(one for one in accesses if (one["array"], one["kind"]) == (array, kind))
    first = {}
    for request in access["requests"]:
        first.setdefault((request["block"], request["warp"]), request["lanes"])
    rows = list(first.items())[:_MOST_WARPS]
    tone, verb = _ROLE_OF.get(array, "workspace"), "writes" if kind == "st" else "reads"
    off = sum(at is None for _, lanes in rows for at in lanes)

    def cell(row, lane):
        at = rows[row][1][lane]
        return (None, "") if at is None else (tone, (at - access["base"]) // access["itemsize"])

    with figure_style():
        title = f"{len(rows)} warps of {WARP} lanes, each with an element of {array}"
        figure, ax = sheet(40, 2.6 + len(rows), title, scale=0.26)
        corner = draw_cells(ax, len(rows), WARP, cell, at=(5.5, 1.4), group=8, size=6)
        caption(ax, 5.6, 1.0, tone, array, f"the element that each thread {verb}; empty: it takes no part")
        for row, ((block, warp), _) in enumerate(rows):
            x, y = corner(row, 0)
            name = f"block {block}, warp {warp}"
            ax.text(x - 0.4, y + 0.5, name, fontsize=7.5, ha="right", va="center", color=LIGHT["muted"])
        alt = (
            f"{len(rows)} rows, one for each warp, of 32 lanes: which element of {array} each thread "
            f"{verb}. {off} lanes take no part."
        )
        return show(figure, alt)
