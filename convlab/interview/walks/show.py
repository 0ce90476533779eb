"""The table of walk-throughs, and one of them as a page shows it; what is ticked there is remembered."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Annotated, Any

from convlab.interview.places import of_heading
from convlab.interview.walks import (
    backward,
    depthwise,
    four_percent,
    gpu,
    kernel,
    memory,
    record,
    threads,
    winograd,
)
from convlab.interview.walks.walk import Walk
from convlab.lessons import progress
from convlab.support.checked import checked
from convlab.support.checks import check_choice, check_whole
from convlab.widgets.walk_through import WalkThrough

# In the order in which one learns it; a walk is made when it is asked for.
WALKS: dict[str, Callable[[], Walk]] = {
    "gpu": gpu.walk,
    "kernel": kernel.walk,
    "threads": threads.walk,
    "four_percent": four_percent.walk,
    "memory": memory.walk,
    "winograd": winograd.walk,
    "depthwise": depthwise.walk,
    "backward": backward.walk,
}


@checked
def walk_through(
    name: Annotated[str, partial(check_choice, words=WALKS)],
    *,
    at: Annotated[int, partial(check_whole, least=1)] | None = None,
) -> WalkThrough:
    """Show a question for the whiteboard: try it alone, tick what you said, and walk through it in pictures.

    Parameters
    ----------
    name : str
        One of `WALKS`, e.g. "gpu".
    at : int, optional
        The point of the walk to open at, 1 is the first; by default it opens where one tries alone.

    Returns
    -------
    WalkThrough
        A widget, which lives in a page without Python, too. What is ticked is remembered.

    Raises
    ------
    ConvError
        If no walk has this name, or this one no such point.
    """
    walk = WALKS[name]()
    if at is not None:
        check_whole("at", at, least=1, most=len(walk.points))
    places = [of_heading(*place) for place in walk.read]
    widget = WalkThrough(walk, [{"words": str(place), "file": place.file} for place in places], at or 0)
    widget.rounds = _kept(widget)
    widget.observe(_remember, "rounds")
    return widget


def _kept(widget: WalkThrough) -> list[dict[str, Any]]:
    """Return the rounds that were ticked, as the widget has them."""
    titles = {point["title"] for point in widget.points}
    return [
        {"ticked": [title for title in one.ticked if title in titles], "seconds": one.seconds}
        for one in record.rounds(progress.events(record.KIND), widget.name)
    ]


def _remember(change: Any) -> None:
    """Record the rounds that were just ticked."""
    widget = change["owner"]
    for one in progress.not_kept(change, _kept(widget)):
        record.keep(progress.memory(), widget.name, one["ticked"], len(widget.points), one["seconds"])
    widget.trouble = progress.trouble()
