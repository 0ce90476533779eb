"""x, w and y as blocks with the letters of their sides: the picture to keep in mind all through."""

from __future__ import annotations

from convlab.figures.picture import Picture, show
from convlab.figures.style import LIGHT, ROLES, figure_style, headline, mix
from convlab.problem import ConvProblem
from convlab.support.checked import checked
from convlab.support.units import plural

_MOST = 6  # filters that are drawn; of more, dots say that some are left out


@checked
def tensors(problem: ConvProblem) -> Picture:
    """Draw the three tensors of a problem: height and width as a face, channels as depth."""
    import matplotlib.pyplot as plt

    p = problem
    blocks = (
        ("input", f"input x\nN, H, W, C = {', '.join(map(str, p.x_shape))}", p.H, p.W, p.C, "HWC"),
        (
            "filter",
            f"{plural(p.K, 'filter')} w\nK, R, S, C = {', '.join(map(str, p.w_shape))}",
            p.R,
            p.S,
            p.C,
            "RSC",
        ),
        ("output", f"output y\nN, P, Q, K = {', '.join(map(str, p.y_shape))}", p.P, p.Q, p.K, "PQK"),
    )
    largest = max(p.H, p.W, p.P, p.Q)
    deepest = max(p.C, p.K)
    with figure_style():
        fig, ax = plt.subplots(figsize=(8, 3))
        x0 = 0.0
        for role, label, height, width, depth, letters in blocks:
            h, w, d = (0.35 + 1.5 * v / m for v, m in ((height, largest), (width, largest), (depth, deepest)))
            behind = min(p.K, _MOST) - 1 if role == "filter" else 0  # a stack of filters
            for i in range(behind, 0, -1):
                _block(ax, x0 + 0.15 * i, h, w, d * 0.55, ROLES[role], ("", "", ""), up=0.11 * i)
            if role == "filter" and p.K > _MOST:
                right, top = x0 + 0.15 * behind + w + 0.33 * d, 0.11 * behind + h + 0.33 * d
                ax.text(right + 0.05, top, "…", fontsize=14, ha="left", va="bottom")
            _block(ax, x0, h, w, d * 0.55, ROLES[role], letters)
            ax.text(x0 + w / 2 + d * 0.15, -0.42, label, ha="center", va="top", linespacing=1.5)
            x0 += 3.2
        ax.text(2.75, 0.5, "∗", fontsize=20, ha="center", va="center", color=LIGHT["muted"])
        ax.text(5.75, 0.5, "=", fontsize=20, ha="center", va="center", color=LIGHT["muted"])
        ax.set_xlim(-0.6, 9.4)
        ax.set_ylim(-1.15, 2.5)
        ax.set_aspect("equal")
        ax.axis("off")
        deep = "" if p.groups > 1 else "; a filter is as deep as the picture"
        headline(fig, f"One output channel for each filter{deep}")
        return show(
            fig,
            f"Three blocks. The input x has H={p.H} rows, W={p.W} columns and C={p.C} channels; each of the "
            f"{p.K} filters w has R={p.R} rows, S={p.S} columns and the same channels; "
            f"the output y has P={p.P} rows, Q={p.Q} columns and K={p.K} channels, one for each filter.",
        )


def _block(ax, x, h, w, d, colour, letters, up=0.0):
    """Draw a box whose front face is h x w and whose depth is d, with a letter at each kind of side."""
    from matplotlib.patches import Polygon

    tall, wide, deep = letters
    s = d * 0.6  # the depth, seen at an angle
    faces = (
        ([(x, 0), (x + w, 0), (x + w, h), (x, h)], 0.85),
        ([(x, h), (x + w, h), (x + w + s, h + s), (x + s, h + s)], 0.55),
        ([(x + w, 0), (x + w + s, s), (x + w + s, h + s), (x + w, h)], 0.7),
    )
    for corners, strength in faces:
        corners = [(right, above + up) for right, above in corners]
        shade = mix(colour, strength)
        ax.add_patch(Polygon(corners, facecolor=shade, edgecolor=LIGHT["paper"], linewidth=1.2))
    ax.text(x - 0.1, h / 2, tall, ha="right", va="center")
    ax.text(x + w / 2, -0.08, wide, ha="center", va="top")
    ax.text(x + w + s / 2 + 0.1, s / 2 - 0.05, deep, ha="left", va="top")
