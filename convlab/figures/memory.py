"""A still of the memory blow-up: every layer's input and workspace, or every array of one layer."""

from __future__ import annotations

from convlab.algorithms import Algorithm
from convlab.figures.cells import frame
from convlab.figures.picture import Picture, show
from convlab.figures.style import LIGHT, ROLES, figure_style
from convlab.networks import Network
from convlab.problem import ConvProblem
from convlab.units import bytes_text


def ratio_text(value: float) -> str:
    """Return a ratio as people read it: '12.2×', '0.06×', '278×'."""
    if 0 < value < 0.005:
        return "< 0.01×"
    return f"{value:.{0 if value >= 99.95 else 1 if value >= 0.95 else 2}f}×"


def workspace_of(algorithm: Algorithm, problem: ConvProblem) -> int:
    """Return the workspace of the form that the figures show: for the CPU, else the algorithm's first."""
    return algorithm.workspace_bytes(problem, "cpu" if "cpu" in algorithm.forms else algorithm.backends[0])


def served_bytes(algorithm: Algorithm, problem: ConvProblem) -> int:
    """Return the workspace, or 0 where the algorithm refuses the problem and so allocates nothing."""
    return 0 if algorithm.supports(problem) else workspace_of(algorithm, problem)


def finding(name: str, problem: ConvProblem, algorithm: Algorithm) -> str:
    """Return what the figure says about one layer, as its title."""
    if reason := algorithm.supports(problem):
        return f"{algorithm.name} does not serve {name}: {reason}"
    workspace = workspace_of(algorithm, problem)
    if workspace == 0:
        return f"{name}: {algorithm.name} needs nothing beside x, w and y"
    return f"{name}: the {algorithm.name} workspace is {ratio_text(workspace / problem.x_bytes)} its input"


def draw_network(network: Network, chosen: int, algorithm: Algorithm) -> Picture:
    """Return the picture of a whole network: for each layer its input and the algorithm's workspace."""
    from matplotlib.figure import Figure

    layer = network.layers[chosen]
    inputs = [each.problem.x_bytes for each in network]
    spaces = [served_bytes(algorithm, each.problem) for each in network]
    peak = max(range(len(network)), key=spaces.__getitem__)
    unit, scale = _unit(max(*inputs, *spaces))
    with figure_style():
        figure = Figure(figsize=(8.6, 3.6))
        ax = figure.subplots()
        at = range(len(network))
        ax.bar([i - 0.2 for i in at], [b / scale for b in inputs], 0.4, color=ROLES["input"])
        ax.bar([i + 0.2 for i in at], [b / scale for b in spaces], 0.4, color=ROLES["workspace"])
        frame(ax, (chosen - 0.5, 0), 1, max(inputs[chosen], spaces[chosen]) / scale * 1.04)
        ax.set_xlim(-0.7, len(network) - 0.3)
        ax.set_ylim(0, max(*inputs, *spaces) / scale * 1.16)
        ax.grid(axis="y", color=LIGHT["line"], lw=0.6)
        ax.set_axisbelow(True)
        ax.set(xticks=[], ylabel=unit, title=finding(layer.name, layer.problem, algorithm))
        ax.set_xlabel(
            f"every convolution of {network.title}, in order, batch {layer.problem.N}, {layer.problem.dtype}"
        )
        if spaces[peak]:
            name, left = network.layers[peak].name, peak < len(network) / 2
            place = (peak + (0.6 if left else -0.6), spaces[peak] / scale * 1.05)
            words = f"{name}: peak, {bytes_text(spaces[peak])}"
            ax.text(*place, words, ha="left" if left else "right", color=LIGHT["muted"])
        for row, (role, words) in enumerate(
            (("workspace", f"{algorithm.name} workspace"), ("input", "input"))
        ):
            chip = {"facecolor": ROLES[role], "edgecolor": "none", "boxstyle": "round,pad=0.3"}
            ink = LIGHT["ink"] if role == "workspace" else LIGHT["paper"]
            ax.text(0.99, 0.9 - 0.12 * row, words, transform=ax.transAxes, ha="right", color=ink, bbox=chip)
        what = f"the input and the {algorithm.name} workspace of each"
        alt = (
            f"Bars for the {len(network)} convolutions of {network.title}: {what}. "
            f"{finding(layer.name, layer.problem, algorithm)}: {bytes_text(spaces[chosen])} "
            f"against {bytes_text(inputs[chosen])}. "
            f"The peak is {network.layers[peak].name} with {bytes_text(spaces[peak])}."
        )
        return show(figure, alt)


def draw_layer(name: str, problem: ConvProblem, algorithm: Algorithm) -> Picture:
    """Return the picture of one layer: input, filter, output and the algorithm's workspace."""
    from matplotlib.figure import Figure

    workspace = served_bytes(algorithm, problem)
    bars = {
        "input": problem.x_bytes,
        "filter": problem.w_bytes,
        "output": problem.y_bytes,
        "workspace": workspace,
    }
    unit, scale = _unit(max(bars.values()))
    with figure_style():
        figure = Figure(figsize=(8.6, 2.6))
        ax = figure.subplots()
        words = ["input x", "filter w", "output y", f"{algorithm.name} workspace"]
        ax.barh(words, [count / scale for count in bars.values()], 0.62, color=[ROLES[role] for role in bars])
        for row, count in enumerate(bars.values()):
            ratio = f", {ratio_text(count / problem.x_bytes)} input" if row == 3 and count else ""
            ax.text(count / scale, row, f"  {bytes_text(count)}{ratio}", va="center")
        ax.invert_yaxis()
        ax.set_xlim(0, max(bars.values()) / scale * 1.3)
        ax.tick_params(axis="y", length=0)
        ax.set(xlabel=unit, title=finding(name, problem, algorithm))
        sizes = ", ".join(
            f"{label} {bytes_text(count)}" for label, count in zip(words, bars.values(), strict=True)
        )
        return show(figure, f"{finding(name, problem, algorithm)}. Bars: {sizes}.")


def _unit(most: float) -> tuple[str, int]:
    """Return the binary unit that suits the longest bar, and its bytes."""
    for power, unit in ((4, "TiB"), (3, "GiB"), (2, "MiB"), (1, "KiB")):
        if most >= 1024**power:
            return unit, 1024**power
    return "B", 1
