"""Photographs, feature maps and small grids of numbers."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Annotated

import numpy as np

from convlab.figures.picture import Picture, show
from convlab.figures.style import LIGHT, ROLES, Role, Words, figure_style, headline
from convlab.support.checked import Count, Filled, checked
from convlab.support.checks import check_number


@checked
def gallery(
    images: Filled[Mapping[str, np.ndarray]],
    *,
    title: str,
    alt: Words,
    columns: Count = 4,
    width: Annotated[float, partial(check_number, above=0, most=100)] = 8,
) -> Picture:
    """Draw images side by side, each under its name.

    Parameters
    ----------
    images : mapping of str to ndarray
        (H, W, 3) between 0 and 1, or (H, W): shown in grey, from black for 0 to white; with negative
        numbers in it, 0 is mid-grey and the rare extremes are cut off.
    title, alt : str
        The finding, and the same in words.
    columns : int
        Images in a row.
    width : float
        Width of the whole in inches.
    """
    import matplotlib.pyplot as plt

    rows = -(-len(images) // columns)
    high, wide = next(iter(images.values())).shape[:2]
    with figure_style():
        height = 0.4 + rows * ((width - 0.2) / columns * high / wide + 0.25)
        fig, axes = plt.subplots(rows, columns, figsize=(width, height), squeeze=False)
        for ax in axes.flat:
            ax.axis("off")
        for ax, (name, image) in zip(axes.flat, images.items(), strict=False):
            limit = np.percentile(np.abs(image), 99)
            ax.imshow(image, cmap="gray", vmin=-limit if image.min() < 0 else 0, vmax=limit)
            ax.set_title(name, fontsize=10, fontweight="normal", color=LIGHT["muted"])
        headline(fig, title)
        return show(fig, alt, photo=True)


@checked
def grids(
    arrays: Filled[Mapping[str, np.ndarray]],
    *,
    title: str,
    alt: Words,
    roles: Mapping[str, Role] | None = None,
) -> Picture:
    """Draw small arrays of numbers as grids, each cell with its number, tinted by its size.

    Parameters
    ----------
    arrays : mapping of str to ndarray
        Two axes each.
    title, alt : str
        The finding, and the same in words.
    roles : mapping of str to str, optional
        The role (colour) of each array; "input" without it.
    """
    import matplotlib.pyplot as plt
    from matplotlib.colors import LinearSegmentedColormap

    widths = [max(a.shape[1], 3) for a in arrays.values()]
    tallest = max(a.shape[0] for a in arrays.values())
    cell = min(8 / (sum(widths) + len(widths)), 0.5)  # inches
    with figure_style():
        fig, axes = plt.subplots(
            1,
            len(arrays),
            figsize=(cell * (sum(widths) + len(widths)) + 0.4, cell * tallest + 1.0),
            width_ratios=widths,
            squeeze=False,
        )
        for ax, (name, array) in zip(axes.flat, arrays.items(), strict=True):
            colour = ROLES[(roles or {}).get(name, "input")]
            tint = LinearSegmentedColormap.from_list("tint", [LIGHT["paper"], colour])
            strength = np.abs(array) / max(np.abs(array).max(), 1e-12) * 0.45  # pale enough for dark digits
            ax.imshow(strength, cmap=tint, vmin=0, vmax=1)
            for (row, col), value in np.ndenumerate(array):
                ax.text(col, row, f"{value:g}", ha="center", va="center", color=LIGHT["ink"])
            ax.set_xticks(np.arange(array.shape[1] + 1) - 0.5, [])
            ax.set_yticks(np.arange(array.shape[0] + 1) - 0.5, [])
            ax.grid(color=LIGHT["line"], linewidth=0.8)
            ax.tick_params(length=0)
            ax.spines[:].set_visible(False)
            ax.set_title(name, fontsize=10, fontweight="normal", color=LIGHT["muted"], loc="center")
        headline(fig, title)
        return show(fig, alt)


@checked
def counts(arrays: Filled[Mapping[str, np.ndarray]], *, title: str, alt: Words) -> Picture:
    """Draw how often something happened, place by place: the darker, the more often, on one scale for all.

    Parameters
    ----------
    arrays : mapping of str to ndarray of int
        Two axes each, all of one shape; drawn one below the other, with their mean.
    title, alt : str
        The finding, and the same in words.
    """
    import matplotlib.pyplot as plt
    from matplotlib.colors import LinearSegmentedColormap, LogNorm

    high, wide = next(iter(arrays.values())).shape
    most = max(array.max() for array in arrays.values())
    with figure_style():
        each = 7.2 * high / wide + 0.35
        fig, axes = plt.subplots(len(arrays), 1, figsize=(8, 0.4 + len(arrays) * each), squeeze=False)
        tint = LinearSegmentedColormap.from_list("tint", [LIGHT["paper"], ROLES["input"], "#000000"])
        for ax, (name, array) in zip(axes.flat, arrays.items(), strict=True):
            drawn = ax.imshow(np.maximum(array, 0.5), cmap=tint, norm=LogNorm(0.5, 4 * most))
            ax.set(xticks=[], yticks=[])
            ax.spines[:].set_visible(True)
            said = f"{name}: {array.mean():.3g} times on average, {array.max()} at most"
            ax.set_title(said, fontsize=10, fontweight="normal", color=LIGHT["muted"])
        bar = fig.colorbar(drawn, ax=axes, shrink=0.8, aspect=30, label="times (logarithmic)")
        ticks = [tick for tick in (1, 2, 4, 8, 16, 32, 64, 128) if tick <= most]
        bar.set_ticks(ticks, labels=[str(tick) for tick in ticks])
        bar.ax.set_ylim(0.5, most)
        bar.ax.minorticks_off()
        headline(fig, title)
        return show(fig, alt)
