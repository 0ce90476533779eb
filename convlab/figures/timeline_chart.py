"""Who computes what when: a line for each machine, a bar for each tile."""

from __future__ import annotations

import numpy as np

from convlab.distributed.simulated import Simulated
from convlab.errors import ParameterError
from convlab.figures.picture import Picture, show
from convlab.figures.style import LIGHT, ROLES, Words, figure_style, headline
from convlab.support.checked import checked

MOST = 40  # machines that can be told apart


@checked
def timeline(run: Simulated, *, title: str, alt: Words) -> Picture:
    """Draw a simulated run; tiles whose result was lost are hatched.

    Parameters
    ----------
    run : Simulated
        Of 40 machines at most.
    title, alt : str
        The finding, and what the figure shows in words.

    Raises
    ------
    ParameterError
        If there are more machines.
    """
    import matplotlib.pyplot as plt

    machines = len(run.busy)
    if machines > MOST:
        raise ParameterError(f"run has {machines} machines; expected {MOST} at most, to be told apart")
    with figure_style():
        fig, ax = plt.subplots(figsize=(8, 1.3 + 0.24 * machines))
        for machine, _, start, stop, kept in zip(*run.timeline, strict=True):
            ax.barh(
                machine, stop - start, left=start, height=0.78, edgecolor=LIGHT["paper"],
                linewidth=0.8 if kept else 2,
                color=ROLES["output" if kept else "padding"], hatch=None if kept else "////",
            )  # fmt: skip
        ax.axvline(run.makespan, color=LIGHT["ink"], linestyle="--", linewidth=1.2)
        ax.set(yticks=range(machines), ylim=(machines - 0.4, -0.6), xlim=(0, 1.04 * run.makespan or 1))
        ax.set_yticklabels([f"machine {one}" for one in range(machines)], color=LIGHT["ink"], fontsize=9)
        ax.tick_params(axis="y", length=0)
        ax.set_xlabel("seconds since the beginning (dashed: all results are there)")
        if not np.all(run.timeline.kept):
            ax.barh(0, 0, color=ROLES["padding"], hatch="////", edgecolor=LIGHT["paper"], label="lost")
            fig.legend(loc="outside lower right", fontsize=9)  # the last bars, and the end, are at the right
        headline(fig, title)
        return show(fig, alt)
