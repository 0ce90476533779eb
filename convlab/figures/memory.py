"""A still of the memory blow-up: every layer's input and workspace, and every array of one layer."""

from __future__ import annotations

from dataclasses import dataclass

from convlab.algorithms import ALGORITHMS, Algorithm, Form
from convlab.figures.cells import frame
from convlab.figures.picture import Picture, show
from convlab.figures.style import LIGHT, ROLES, figure_style, tint
from convlab.networks import Network
from convlab.problem import ConvProblem
from convlab.support.units import bytes_text, ratio_text

# Memories to hold the bars against: bytes, and what has as much.
MEMORIES = {
    8 << 30: "laptop",
    16 << 30: "laptop",
    24 << 30: "graphics card",
    80 << 30: "data-centre GPU",
}


def form_of(algorithm: Algorithm) -> Form:
    """Return the form whose memory is shown: the one for the CPU, else the algorithm's first."""
    return algorithm.forms.get("cpu") or next(iter(algorithm.forms.values()))


def workspace_of(algorithm: Algorithm, problem: ConvProblem) -> int:
    """Return the workspace of that form, or 0 where the algorithm refuses and so allocates nothing."""
    return 0 if algorithm.supports(problem) else form_of(algorithm).workspace_bytes(problem)


@dataclass(frozen=True)
class Row:
    """One row of the lower chart: an array's bytes in this layer, and maybe its peak over the network."""

    name: str
    role: str
    bytes: int
    words: str
    peak: int = 0
    peak_at: str = ""

    def __str__(self) -> str:
        """Return the row as a sentence's part."""
        return f"{self.name} {self.words}" + (f" (peak {self.peak_words})" if self.peak else "")

    @property
    def peak_words(self) -> str:
        """The peak, and the first layer that has it."""
        return f"{bytes_text(self.peak)} at {self.peak_at}"


def rows_of(problem: ConvProblem, network: Network | None = None) -> list[Row]:
    """Return x, w, y and the workspace of every algorithm; of x and the workspaces also their peaks."""

    def row(name, role, count, words):
        top = max(network, key=lambda layer: count(layer.problem)) if network else None
        peak = (count(top.problem), top.name) if top else ()
        return Row(name, role, count(problem), words, *peak)

    def workspace_row(algorithm):
        size, reason = workspace_of(algorithm, problem), algorithm.supports(problem)
        words = f"{bytes_text(size)}, {ratio_text(size / problem.x_bytes)} input" if size else "0"
        words = f"refused: {reason}" if reason else words
        return row(algorithm.name, "workspace", lambda p: workspace_of(algorithm, p), words)

    return [
        row("input x", "input", lambda p: p.x_bytes, bytes_text(problem.x_bytes)),
        Row("filter w", "filter", problem.w_bytes, bytes_text(problem.w_bytes)),
        Row("output y", "output", problem.y_bytes, bytes_text(problem.y_bytes)),
        *map(workspace_row, ALGORITHMS.values()),
    ]


def finding(name: str, problem: ConvProblem, algorithm: Algorithm) -> str:
    """Return what the figure says about one layer, as its title."""
    if reason := algorithm.supports(problem):
        return f"{algorithm.name} does not serve {name}: {reason}"
    workspace = workspace_of(algorithm, problem)
    if workspace == 0:
        return f"{name}: {algorithm.name} needs nothing beside x, w and y"
    return f"{name}: the {algorithm.name} workspace is {ratio_text(workspace / problem.x_bytes)} its input"


def draw_network(network: Network, chosen: int, algorithm: Algorithm) -> Picture:
    """Return the picture of a whole network, layer by layer, and below it of the chosen layer."""
    from matplotlib.figure import Figure

    layer = network.layers[chosen]
    rows = rows_of(layer.problem, network)
    title = finding(layer.name, layer.problem, algorithm)
    with figure_style():
        figure = Figure(figsize=(8.6, 4.3 + 0.27 * len(rows)))
        above, below = figure.subplots(2, height_ratios=(3.2, 0.6 + 0.27 * len(rows)))
        _draw_layers(above, network, chosen, algorithm)
        above.set_title(title)
        _draw_rows(below, rows, f"{layer.name}, and, pale, the peak over {network.title}")
        alt = (
            f"Above, for each of the {len(network)} convolutions of {network.title}, two bars: the input and "
            f"the {algorithm.name} workspace. {title}. Below, bars: {'; '.join(map(str, rows))}."
        )
        return show(figure, alt)


def draw_layer(name: str, problem: ConvProblem, algorithm: Algorithm) -> Picture:
    """Return the picture of one layer: input, filter, output and every algorithm's workspace."""
    from matplotlib.figure import Figure

    rows = rows_of(problem)
    title = finding(name, problem, algorithm)
    with figure_style():
        figure = Figure(figsize=(8.6, 1.2 + 0.27 * len(rows)))
        ax = figure.subplots()
        _draw_rows(ax, rows, title)
        return show(figure, f"{title}. Bars: {'; '.join(map(str, rows))}.")


def _draw_layers(ax, network: Network, chosen: int, algorithm: Algorithm) -> None:
    """Draw two bars a layer, and frame the chosen layer."""
    inputs = [layer.problem.x_bytes for layer in network]
    spaces = [workspace_of(algorithm, layer.problem) for layer in network]
    peak = max(range(len(network)), key=spaces.__getitem__)
    most = max(*inputs, *spaces)
    unit, scale = _unit(most)
    at = range(len(network))
    ax.bar([i - 0.2 for i in at], [b / scale for b in inputs], 0.4, color=ROLES["input"])
    ax.bar([i + 0.2 for i in at], [b / scale for b in spaces], 0.4, color=ROLES["workspace"])
    frame(ax, (chosen - 0.5, 0), 1, max(inputs[chosen], spaces[chosen]) / scale * 1.04)
    ax.set_xlim(-0.7, len(network) - 0.3)
    ax.set_ylim(0, most / scale * 1.16)
    ax.grid(axis="y", color=LIGHT["line"], lw=0.6)
    ax.set_axisbelow(True)
    seen, further = _memories(most)
    for size, words in seen.items():
        ax.axhline(size / scale, color=LIGHT["ink"], lw=1, ls=(0, (4, 3)))
        ax.annotate(
            f" {words}", (1, size / scale), xycoords=ax.get_yaxis_transform(), va="center", fontsize=9,
            color=LIGHT["muted"], annotation_clip=False,
        )  # fmt: skip
    first = network.layers[0].problem
    about = f"every convolution of {network.title}, in order, batch {first.N}, {first.dtype}"
    ax.set(xticks=[], ylabel=unit, xlabel=about + (f". {further}" if further else ""))
    if spaces[peak]:
        name, left = network.layers[peak].name, peak < len(network) / 2
        place = (peak + (0.6 if left else -0.6), spaces[peak] / scale * 1.05)
        words = f"{name}: peak, {bytes_text(spaces[peak])}"
        ax.text(*place, words, ha="left" if left else "right", color=LIGHT["muted"])
    for row, (role, words) in enumerate((("workspace", f"{algorithm.name} workspace"), ("input", "input"))):
        chip = {"facecolor": ROLES[role], "edgecolor": "none", "boxstyle": "round,pad=0.3"}
        ink = LIGHT["ink"] if role == "workspace" else LIGHT["paper"]
        ax.text(0.99, 0.9 - 0.12 * row, words, transform=ax.transAxes, ha="right", color=ink, bbox=chip)


def _draw_rows(ax, rows: list[Row], title: str) -> None:
    """Draw a bar for each row, pale up to its peak, with its numbers behind it."""
    lengths = [max(row.bytes, row.peak) for row in rows]
    unit, scale = _unit(max(lengths))
    names, at = [row.name for row in rows], range(len(rows))
    paper = {"facecolor": LIGHT["paper"], "edgecolor": "none", "pad": 0.8}
    ax.barh(at, [n / scale for n in lengths], 0.62, color=[tint(row.role) for row in rows])
    ax.barh(at, [row.bytes / scale for row in rows], 0.62, color=[ROLES[row.role] for row in rows])
    for i, row in enumerate(rows):
        words = ax.annotate(
            row.words, (lengths[i] / scale, i), xytext=(6, 0), textcoords="offset points", va="center",
            fontsize=9, bbox=paper,
        )  # fmt: skip
        if row.peak:
            ax.annotate(
                f"peak {row.peak_words}", (1, 0), xycoords=words, xytext=(6, 0), fontsize=9, bbox=paper,
                textcoords="offset points", va="bottom", color=LIGHT["muted"],
            )  # fmt: skip
    seen, further = _memories(max(lengths))
    for size, words in seen.items():
        ax.axvline(size / scale, color=LIGHT["ink"], lw=1, ls=(0, (4, 3)))
        ax.annotate(
            words, (size / scale, 1), xycoords=ax.get_xaxis_transform(), xytext=(0, 3), ha="center",
            textcoords="offset points", fontsize=9, color=LIGHT["muted"], annotation_clip=False,
        )  # fmt: skip
    ax.set_title(title, pad=18 if seen else 8, fontsize=11)
    ax.set_yticks(at, names)
    ax.invert_yaxis()
    ax.set_xlim(0, max(lengths) / scale * (1.75 if any(row.peak for row in rows) else 1.3))
    ax.tick_params(axis="y", length=0)
    ax.set_xlabel(f"{unit}. {further}" if further else unit)


def _memories(most: int) -> tuple[dict[int, str], str]:
    """Return the memories on an axis `most` bytes long, with their names, and where the next one lies.

    Where two would crowd each other only the larger keeps its name; what lies far out of range, or so near
    to 0 that it could not be told from it, is left out.
    """
    seen = [size for size in MEMORIES if 0.01 * most <= size <= most]
    named = {
        size: "" if larger - size < 0.1 * most else f"{size >> 30} GiB"
        for size, larger in zip(seen, [*seen[1:], 2 * most], strict=False)
    }
    nearest = next((size for size in MEMORIES if most < size <= 2 * most), None)
    further = f"{nearest >> 30} GiB lies at {ratio_text(nearest / most)} the longest bar" if nearest else ""
    return named, further


def _unit(most: float) -> tuple[str, int]:
    """Return the binary unit that suits the longest bar, and its bytes."""
    for power, unit in ((6, "EiB"), (5, "PiB"), (4, "TiB"), (3, "GiB"), (2, "MiB"), (1, "KiB")):
        if most >= 1024**power:
            return unit, 1024**power
    return "B", 1
