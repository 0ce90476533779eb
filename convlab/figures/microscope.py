"""A still of the warp microscope: one request of a warp, and the sectors or banks that its lanes meet in."""

from __future__ import annotations

from collections import defaultdict

from convlab.figures.cells import caption, draw_cells, sheet
from convlab.figures.picture import Picture, show
from convlab.figures.style import LIGHT, figure_style
from convlab.support.units import bytes_text

WARP, WORD, SECTOR, LINE = 32, 4, 32, 128  # lanes; bytes
BANKS = 32
_MOST_ROWS = 12  # of lines or passes that are drawn; the rest is said in words

# Which colour an array has, by the name that the kernel gives it; any other is a copy that the kernel keeps.
ROLE_OF = {"x": "input", "w": "filter", "y": "output"}


def role(array: str) -> str:
    """Return the role of an array of a kernel."""
    return ROLE_OF.get(array, "workspace")


def words(at: int, size: int) -> range:
    """Return the 4-byte words of an access of `size` bytes, counted from where `at` counts."""
    return range(at // WORD, (at + max(size, WORD) - 1) // WORD + 1)


def lines(request: dict) -> dict[int, dict[int, list[int]]]:
    """Return the 128-byte lines that a request touches: {line: {word of it: its lanes}}, in order."""
    touched = defaultdict(lambda: defaultdict(list))
    for lane, at in enumerate(request["lanes"]):
        for word in words(at, request["size"]) if at is not None else ():
            line, place = divmod(word, LINE // WORD)
            touched[line][place].append(lane)
    return {line: dict(touched[line]) for line in sorted(touched)}


def sectors(request: dict) -> list[int]:
    """Return the sectors of 32 bytes that a request touches, counted from where its bytes count."""
    each = LINE // SECTOR
    touched = {
        each * line + word * WORD // SECTOR for line, wanted in lines(request).items() for word in wanted
    }
    return sorted(touched)


def passes(request: dict) -> list[dict[int, tuple[int, list[int]]]]:
    """Return the passes over shared memory that a request takes: for each {bank: (word, its lanes)}.

    In a pass every bank hands out one word, to any number of lanes. Lanes that ask for 8 bytes come by
    half warps, and for 16 by quarters.
    """
    together = {8: 16, 16: 8}.get(request["size"], WARP)
    found = []
    for first in range(0, WARP, together):
        asked = defaultdict(lambda: defaultdict(list))  # bank -> word -> lanes
        for lane in range(first, first + together):
            at = request["lanes"][lane]
            for word in words(at, request["size"]) if at is not None else ():
                asked[word % BANKS][word].append(lane)
        for turn in range(max(map(len, asked.values()), default=0)):
            found.append(
                {bank: list(wanted.items())[turn] for bank, wanted in asked.items() if turn < len(wanted)}
            )
    return found


def title(access: dict, request: dict) -> str:
    """Return the finding: what this request costs, and what it would cost at best."""
    cost, least = request["cost"], request["least"]
    if access["space"] == "shared":
        if cost <= least:
            return f"No bank conflict: {_plural(cost, 'pass', 'passes')} over shared memory"
        return f"A bank conflict: {cost} passes where {least} would do"
    if cost <= least:
        return f"{_plural(cost, 'sector')} for {bytes_text(request['wanted'])}: nothing is moved in vain"
    moved = cost * SECTOR
    return f"{cost} sectors where {least} would do: {moved / request['wanted']:.3g} times the bytes"


def sentence(kernel: dict, access: dict, step: int) -> str:
    """Return in words which request is shown."""
    request = access["requests"][step]
    active = sum(at is not None for at in request["lanes"])
    verb = "reads" if access["kind"] == "ld" else "writes"
    return (
        f"Request {step + 1} of {access['count']}, line {access['line']}, warp {request['warp']} of block "
        f"{request['block']}: each of {_plural(active, 'lane')} {verb} {request['size']} bytes of "
        f"{access['array']}, {bytes_text(request['wanted'])} in all."
    )


def draw(kernel: dict, access: dict, step: int) -> Picture:
    """Return the picture of request number `step` of an access, as `inspect.trace_view` describes it."""
    request, tone = access["requests"][step], role(access["array"])
    shared = access["space"] == "shared"
    rows = passes(request) if shared else list(lines(request).items())
    drawn, left = rows[:_MOST_ROWS], max(0, len(rows) - _MOST_ROWS)

    def lane(_, number):
        at = request["lanes"][number]
        return (None, "") if at is None else (tone, (at - access["base"]) // access["itemsize"])

    def bank(row, number):
        word, lanes = drawn[row].get(number, (None, []))
        return (None, "") if word is None else (tone, _names(lanes))

    def word(row, number):
        _, wanted = drawn[row]
        if number in wanted:
            return tone, _names(wanted[number])
        moved = any(number // 8 == other // 8 for other in wanted)
        return (LIGHT["line"] if moved else None), ""

    with figure_style():
        figure, ax = sheet(38, 6.6 + len(drawn), title(access, request), scale=0.28)
        ax.text(
            3, 0.5, f"line {access['line']}:  {access['text']}", family="monospace", fontsize=9.5, va="center"
        )
        draw_cells(ax, 1, WARP, lane, at=(3, 2.1), group=8, size=6)
        caption(ax, 3.1, 1.8, tone, access["array"], "which number each of the 32 lanes asks for")
        words_below = "a row is a pass, a column a bank; in a cell the lane that it serves" if shared else (
            "a row is a line of 128 bytes, four sectors; in a cell the lane that asks for it"
        )  # fmt: skip
        corner = draw_cells(ax, len(drawn), WARP, bank if shared else word, at=(3, 4.5), group=8, size=6)
        caption(ax, 3.1, 4.2, tone, "banks" if shared else "sectors", words_below)
        for row in range(len(drawn)):
            x, y = corner(row, 0)
            name = row + 1 if shared else (drawn[row][0] * LINE - access["base"]) // access["itemsize"]
            ax.text(x - 0.4, y + 0.5, name, fontsize=7, ha="right", va="center", color=LIGHT["muted"])
        below = 5.1 + len(drawn)
        more = f"and {left} more {'passes' if shared else 'lines'} like these; " if left else ""
        each = access["cost"] / access["count"]
        unit = "passes" if shared else "sectors"
        ax.text(
            3, below, f"{more}all {access['count']} requests: {each:.4g} {unit} a request",
            fontsize=9.5, va="center", color=LIGHT["muted"],
        )  # fmt: skip
        alt = (
            f"One memory request of a warp, in the kernel “{kernel['name']}”. "
            f"{sentence(kernel, access, step)} {title(access, request)}. "
            f"All requests of this line: {each:.4g} {unit} each."
        )
        return show(figure, alt)


def _names(lanes: list[int]) -> str:
    return str(lanes[0]) if len(lanes) == 1 else f"{len(lanes)}×"


def _plural(count: int, one: str, many: str = "") -> str:
    return f"{count} {one if count == 1 else many or one + 's'}"
