"""A progress bar around a loop: in a notebook, on a terminal, and nothing where nobody looks.

    for layer in shown(layers, "preparing ResNet-18"):
        ...

In a notebook it is HTML's own ``<progress>``, which screen readers know and both themes colour. It needs no
kernel once it is drawn, and goes away at the end, so a page made of the notebook does not keep it.
"""

from __future__ import annotations

import html
import sys
from collections.abc import Iterable, Iterator, Sized
from typing import TypeVar

Item = TypeVar("Item")


def shown(items: Iterable[Item], label: str, show: bool = True) -> Iterator[Item]:
    """Yield the items, and show how many of them are done.

    Parameters
    ----------
    items : iterable with a length
    label : str
        What is being done.
    show : bool
        Without it they are only yielded.
    """
    assert isinstance(items, Sized)
    if show and _in_notebook():
        return _in_page(items, label)
    if show and sys.stderr.isatty():
        return _on_terminal(items, label)
    return iter(items)


def _in_notebook() -> bool:
    """Tell whether a Jupyter kernel runs this: it alone has a shell with a kernel."""
    ipython = sys.modules.get("IPython")
    return getattr(ipython and ipython.get_ipython(), "kernel", None) is not None


def _in_page(items, label):
    from IPython.display import HTML, display

    handle = display(HTML(bar(0, len(items), label)), display_id=True)
    try:
        for done, item in enumerate(items, 1):
            yield item
            handle.update(HTML(bar(done, len(items), label)))
    finally:
        handle.update(HTML(""))


def bar(done: int, total: int, label: str) -> str:
    """Return the bar as HTML."""
    label = html.escape(label, quote=True)
    return (
        f'<div class="convlab-progress"><progress aria-label="{label}" value="{done}" max="{total}">'
        f"</progress> {label}: {done} of {total}</div>"
    )


def _on_terminal(items, label):
    from rich.console import Console
    from rich.progress import track

    yield from track(items, label, console=Console(stderr=True), transient=True)
