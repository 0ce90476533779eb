"""How far we are: around a loop, in a notebook or on a terminal; or step by step, in a command.

    for layer in shown(layers, "preparing ResNet-18"):
        ...

In a notebook it is HTML's own ``<progress>``, which screen readers know and both themes colour. It needs no
kernel once it is drawn, and goes away at the end, so a page made of the notebook does not keep it.
"""

from __future__ import annotations

import html
import sys
import time
from collections.abc import Generator, Iterable, Sized
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

Item = TypeVar("Item")


def shown(items: Iterable[Item], label: str, show: bool = True) -> Generator[Item, None, None]:
    """Yield the items, and show how many of them are done.

    A loop that readers stop, and look at what is there, closes it (`contextlib.closing`): the bar goes away.

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
    return (item for item in items)


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
    with Steps(len(items), stays=False) as steps:
        for item in items:
            steps.begin(label)
            yield item


class Steps:
    """Named steps, one after the other, inside a ``with``: a bar on a terminal, elsewhere a line for each.

        with Steps(len(notebooks)) as steps:
            for notebook in notebooks:
                steps.begin(notebook.stem)
                ...

    What is shown goes to standard error: it is no result.

    Parameters
    ----------
    total : int, optional
        Of the steps; None if that is not known yet.
    stays : bool
        Leave the bar on the terminal at the end, and say where there is none which steps were taken.
    """

    def __init__(self, total: int | None = None, stays: bool = True):
        self._total, self._stays = total, stays
        self._count, self._start = 0, 0.0
        self._name: str | None = None
        self._bar: Progress | None = None
        self._whole: TaskID
        self._parts: TaskID | None = None

    def __enter__(self) -> Steps:
        if sys.stderr.isatty():
            from rich.console import Console
            from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

            columns = TextColumn("{task.description:<32}"), BarColumn(), MofNCompleteColumn()
            self._bar = Progress(
                *columns, TimeElapsedColumn(), console=Console(stderr=True), transient=not self._stays
            )
            self._whole = self._bar.add_task("", total=self._total)
            self._bar.start()
        return self

    def expect(self, total: int) -> None:
        """Say how many steps there are."""
        self._total = total
        if self._bar:
            self._bar.update(self._whole, total=total)

    def begin(self, name: str) -> None:
        """End the step before, and begin another."""
        self._end()
        self._count, self._name, self._start = self._count + 1, name, time.monotonic()
        if self._bar:
            self._bar.update(self._whole, description=name[:48])

    def part(self, done: int, total: int) -> None:
        """Say how far this step is."""
        if self._bar:
            if self._parts is None:
                self._parts = self._bar.add_task("")
            self._bar.update(self._parts, completed=done, total=total)

    def _end(self) -> None:
        if self._name is None:
            return
        if self._bar:
            self._bar.update(self._whole, completed=self._count)
            if self._parts is not None:
                self._bar.remove_task(self._parts)
                self._parts = None
        elif self._stays:
            of = f"{self._count}/{self._total}" if self._total else self._count
            took = time.monotonic() - self._start
            print(f"[{of}] {self._name}  {took:.1f} s", file=sys.stderr, flush=True)
        self._name = None

    def __exit__(self, kind, *error) -> None:
        if kind is None:
            self._end()
        if self._bar:
            self._bar.stop()
