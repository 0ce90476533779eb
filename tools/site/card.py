"""The picture that is shown where somebody shares a page, drawn from the library's numbers."""

from __future__ import annotations

from pathlib import Path

from convlab import ALGORITHMS, networks
from convlab.figures.style import DARK, ROLES
from convlab.support.units import bytes_text, plural, ratio_text
from convlab.widgets.memory_data import workspace_of

CARD, SIZE = "card.png", (1200, 630)
NETWORK, ALGORITHM, BATCH = "resnet18", "im2col", 32
QUESTION = "How does a 2-D convolution actually run?"
WORDS = (
    f"{QUESTION} Bars, for each layer of a network: its input and the matrix that {ALGORITHM} makes of it."
)


def draw(path: Path) -> None:
    """Draw the card into a PNG file."""
    from matplotlib.figure import Figure

    network, algorithm = networks.load(NETWORK, batch=BATCH), ALGORITHMS[ALGORITHM]
    inputs = [layer.problem.x_bytes for layer in network]
    matrices = [workspace_of(algorithm, layer.problem) for layer in network]
    top = max(range(len(matrices)), key=matrices.__getitem__)
    ratio = ratio_text(matrices[top] / inputs[top])

    figure = Figure(figsize=(SIZE[0] / 100, SIZE[1] / 100), dpi=100, facecolor=DARK["paper"])
    axes = figure.add_axes((0.05, 0.17, 0.9, 0.44))
    for shift, sizes, role in ((-0.2, inputs, "input"), (0.2, matrices, "workspace")):
        axes.bar([place + shift for place in range(len(sizes))], sizes, 0.4, color=ROLES[role])
    axes.axis("off")
    axes.margins(x=0.01)
    pictures = f"{network.title}, {plural(BATCH, 'picture')}"
    for x, y, words, size, look in (
        (0.05, 0.83, QUESTION.replace(" actually", "\nactually"), 44, {"weight": "bold"}),
        (
            0.95,
            0.55,
            f"{bytes_text(inputs[top])} become {bytes_text(matrices[top])}: {ratio}",
            26,
            {"ha": "right"},
        ),
        (0.05, 0.115, f"{pictures}: each layer’s input, and the matrix that {ALGORITHM} makes of it", 18, {}),
        (0.05, 0.05, "convlab · a course in notebooks", 18, {"color": DARK["muted"]}),
    ):
        figure.text(x, y, words, **{"fontsize": size, "va": "center", "color": DARK["ink"]} | look)
    figure.savefig(path, facecolor=DARK["paper"])
