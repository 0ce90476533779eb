"""The README's moving picture: how many times its input is the matrix that im2col makes, layer by layer.

An SVG that moves by CSS alone, for a page that shows it as an image: no script, no font of its own. It
follows the reader's light or dark, and stands still where the reader asked for less motion. What stands still
is the first of its layers, with the whole chart above it.
"""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from convlab import networks
from convlab.algorithms import ALGORITHMS
from convlab.figures.style import DARK, LIGHT, ROLES
from convlab.networks import Network
from convlab.problem import ConvProblem
from convlab.support.units import bytes_text, plural, ratio_text

NETWORK, ALGORITHM = "resnet18", "im2col"
WIDTH, HEIGHT = 720, 470
LEFT, RIGHT, TOP, FLOOR = 72, 704, 92, 268  # of the chart
SHOWN, STEP = 3.0, 0.09  # seconds for a layer, and from one copy of its input to the next
COPY, BAR = 51.5, 30  # one input on the page, wide and high


def words(problem: ConvProblem) -> tuple[str, str, str]:
    """Return a layer's input and its matrix in bytes, and how many times the one is the other."""
    return bytes_text(problem.x_bytes), bytes_text(_matrix(problem)), ratio_text(_ratio(problem))


def alternative() -> str:
    """Return what the picture shows, for those who cannot see it: one layer of each ratio stands for all."""
    network = networks.load(NETWORK)
    told: dict[str, str] = {}
    for layer in network:
        before, after, ratio = words(layer.problem)
        told.setdefault(ratio, f"{layer.name} from {before} to {after}, {ratio}")
    return f"{_finding(network)}. The layers differ: {'; '.join(told.values())}."


def picture() -> str:
    """Return the picture, as the text of an SVG file."""
    network = networks.load(NETWORK)
    shapes = list(network.distinct())
    body = [*_chart(network), *(line for i, shape in enumerate(shapes) for line in _turn(network, shape, i))]
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" '
            f'height="{HEIGHT}" role="img" aria-labelledby="t d">',
            f'<title id="t">{escape(_finding(network))}</title>',
            f'<desc id="d">{escape(alternative())}</desc>',
            f"<style>\n{_style(len(shapes))}</style>",
            f'<rect class="paper" x=".5" y=".5" width="{WIDTH - 1}" height="{HEIGHT - 1}" rx="8"/>',
            *body,
            "</svg>\n",
        ]
    )


def _matrix(problem: ConvProblem) -> int:
    return ALGORITHMS[ALGORITHM].workspace_bytes(problem, "numpy")


def _ratio(problem: ConvProblem) -> float:
    return _matrix(problem) / problem.x_bytes


def _finding(network: Network) -> str:
    most = max(_ratio(layer.problem) for layer in network)
    return f"{network.title} by {ALGORITHM}: a matrix up to {ratio_text(most)} as large as its input"


def _names(network: Network, problem: ConvProblem) -> str:
    """Return the first layer of a shape, and how many others have it: "layer1.0.conv1 and 3 more"."""
    first, *others = (layer.name for layer in network if layer.problem == problem)
    return f"{first} and {len(others)} more" if others else first


def _text(x: float, y: float, said: str, kind: str = "", anchor: str = "start") -> str:
    return f'<text x="{x:g}" y="{y:g}" class="{kind}" text-anchor="{anchor}">{escape(said)}</text>'


def _rect(x: float, y: float, width: float, height: float, kind: str, more: str = "") -> str:
    return f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" class="{kind}"{more}/>'


def _slot(network: Network) -> float:
    return (RIGHT - LEFT) / len(network)


def _chart(network: Network) -> Iterator[str]:
    """Yield the still part: two bars for each layer, its input and its matrix, on one axis of bytes."""
    slot, most = _slot(network), max(_matrix(layer.problem) for layer in network)
    yield _text(16, 32, _finding(network), "title")
    yield _rect(16, 46, 14, 14, "input")
    yield _text(36, 59, "input", "quiet")
    yield _rect(88, 46, 14, 14, "workspace")
    yield _text(108, 59, f"{ALGORITHM} matrix; every convolution in order, one photograph", "quiet")
    for tick in range(0, int(most / 2**20) + 1, 2):
        y = _y(tick * 2**20, most)
        yield f'<path class="rule" d="M{LEFT} {y:.1f}H{RIGHT}"/>'
        yield _text(LEFT - 8, y + 5, f"{tick} MiB" if tick else "0", "quiet", "end")
    for i, layer in enumerate(network):
        for place, count, kind in (
            (0.14, layer.problem.x_bytes, "input"),
            (0.5, _matrix(layer.problem), "workspace"),
        ):
            y = _y(count, most)
            yield _rect(LEFT + (i + place) * slot, y, 0.36 * slot, FLOOR - y, kind)


def _y(count: float, most: float) -> float:
    return FLOOR - (FLOOR - TOP) * count / most


def _turn(network: Network, problem: ConvProblem, turn: int) -> Iterator[str]:
    """Yield what is shown while it is the turn of one shape: its layers marked, and its input copied."""
    slot, (before, after, ratio) = _slot(network), words(problem)
    yield f'<g class="turn{" first" if turn == 0 else ""}" style="--i:{turn}">'
    for i, layer in enumerate(network):
        if layer.problem == problem:
            yield _rect(LEFT + i * slot, TOP - 6, slot, FLOOR - TOP + 10, "active", ' rx="3"')
    yield _text(16, 312, _names(network, problem), "title")
    yield _text(WIDTH - 16, 312, f"{before} become {after}: {ratio}", "title", "end")
    yield _text(16, 338, _why(problem), "quiet")
    yield _text(LEFT - 8, 374, "input", "quiet", "end")
    yield _rect(LEFT, 354, COPY - 2, BAR, "input", ' rx="2"')
    yield _text(LEFT - 8, 416, "matrix", "quiet", "end")
    left = _ratio(problem)
    for copy in range(-int(-left // 1)):
        wide = COPY * min(1, left - copy)
        yield _rect(LEFT + copy * COPY, 396, wide - 2, BAR, "workspace copy", f' rx="2" style="--j:{copy}"')
    yield _text(16, 452, "Each block of the matrix is as many bytes as the whole input.", "quiet")
    yield "</g>"


def _why(problem: ConvProblem) -> str:
    """Return where the factor comes from: the taps, shared out by the stride."""
    taps, (down, across) = problem.R * problem.S, problem.stride
    said = f"{problem.R} × {problem.S} filter: a pixel stands in up to {plural(taps, 'window')}"
    return f"{said}; stride {down} keeps 1 window in {down * across}" if down * across > 1 else said


def _style(turns: int) -> str:
    """Return the CSS. A turn begins in its middle, so that the first moment shows a whole picture."""
    share, whole = 100 / turns, SHOWN * turns
    return f"""text {{ font: 15px system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; }}
.title {{ font-size: 17px; font-weight: 600; }}
.active {{ fill: none; stroke-width: 2.5; }}
.paper, .rule {{ stroke-width: 1; }}
.turn {{ visibility: hidden; }}
.first {{ visibility: visible; }}
{_colours(LIGHT)}@media (prefers-color-scheme: dark) {{
{_colours(DARK)}}}
@media (prefers-reduced-motion: no-preference) {{
.turn {{ animation: turn {whole:g}s step-end infinite;
animation-delay: calc({SHOWN:g}s * (var(--i) - {turns + 0.6:g})); }}
.copy {{ animation: copy {whole:g}s linear infinite;
animation-delay: calc({SHOWN:g}s * (var(--i) - {turns + 0.6:g}) + {STEP:g}s * var(--j)); }}
@keyframes turn {{ 0% {{ visibility: visible; }} {share:.3f}%, 100% {{ visibility: hidden; }} }}
@keyframes copy {{ 0% {{ opacity: 0; }} {0.08 * share:.3f}%, {0.95 * share:.3f}% {{ opacity: 1; }}
{share:.3f}%, 100% {{ opacity: 0; }} }}
}}
"""


def _colours(page: dict[str, str]) -> str:
    """Return the colours of light or dark paper; bars keep those of their role."""
    roles = "".join(f".{name} {{ fill: {ROLES[name]}; }}\n" for name in ("input", "workspace"))
    return (
        f"text {{ fill: {page['ink']}; }}\n.quiet {{ fill: {page['muted']}; }}\n"
        f".paper {{ fill: {page['paper']}; stroke: {page['line']}; }}\n.rule {{ stroke: {page['line']}; }}\n"
        f"{roles}.active {{ stroke: {ROLES['active']}; }}\n"
    )
