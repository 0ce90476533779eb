"""Run one notebook from top to bottom, the way a learner would, and say exactly where it fails."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from math import inf
from pathlib import Path
from queue import Empty
from typing import Any

from jupyter_client.asynchronous import AsyncKernelClient
from jupyter_client.channels import AsyncZMQSocketChannel
from jupyter_client.manager import AsyncKernelManager
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError
from nbformat import NotebookNode
from traitlets import Type, default

import convlab
from convlab.lessons.progress import NAMED

LOOK = 1.0  # seconds between two looks at a socket


class NotebookError(Exception):
    """A notebook did not run to its end: the message names the notebook, the cell and the error."""


class _Channel(AsyncZMQSocketChannel):
    """A channel that looks at its socket every second.

    ZeroMQ tells of a message once, and on a busy machine nobody may be there to hear it: then whoever waits
    for longer sleeps until the time is up, though the message has been there all along.
    """

    async def get_msg(self, timeout: float | None = None) -> dict[str, Any]:
        """Return the next message; `Empty` after a timeout, in seconds, if there is one."""
        until = inf if timeout is None else time.monotonic() + timeout
        while True:
            try:
                return await super().get_msg(min(LOOK, max(0, until - time.monotonic())))
            except Empty:
                if time.monotonic() >= until:
                    raise


class _Client(AsyncKernelClient):
    """A client whose channels look again."""

    shell_channel_class = Type(_Channel)
    iopub_channel_class = Type(_Channel)
    control_channel_class = Type(_Channel)


class _LocalKernel(AsyncKernelManager):
    """A kernel that talks through sockets in a scratch folder, not through TCP ports anyone may read."""

    client_factory = Type(_Client)

    @default("transport")
    def _transport(self) -> str:
        return "tcp" if sys.platform == "win32" else "ipc"


def execute(
    notebook: NotebookNode,
    name: str,
    folder: Path,
    *,
    timeout: float = 300,
    env: dict[str, str] | None = None,
    on_cell: Callable[[int, int], None] = lambda cell, cells: None,
) -> NotebookNode:
    """Run every cell of `notebook`, in place, with `folder` as the working directory.

    Parameters
    ----------
    notebook : NotebookNode
        Receives the outputs.
    name : str
        What error messages call it.
    timeout : float
        Seconds that one cell may take.
    env : dict, optional
        Environment variables for the kernel, beside those of this process.
    on_cell : callable
        ``on_cell(cell, cells)`` is called before each code cell, counted from 1.

    Raises
    ------
    NotebookError
        If a cell raises, runs too long or loses its kernel, or if a widget's callback raised. Jupyter
        catches the latter in an Output widget, where it is easily overlooked.
    """
    cells = [index for index, cell in enumerate(notebook.cells) if cell.cell_type == "code"]
    reached, stopped = cells[0] if cells else 0, False

    def start(cell: NotebookNode, cell_index: int) -> None:
        nonlocal reached
        if cell.cell_type == "code":
            reached = cell_index
            on_cell(cells.index(cell_index) + 1, len(cells))

    def stop() -> None:
        nonlocal stopped
        stopped = True

    # A short path in the temporary folder: a socket's name has a limit of about a hundred characters.
    with tempfile.TemporaryDirectory(prefix="nb-") as scratch:
        client = NotebookClient(
            notebook,
            timeout=timeout,
            kernel_name="python3",
            resources={"metadata": {"path": str(folder)}},
            on_notebook_start=lambda notebook: _on_ctrl_c(stop),
            on_cell_start=start,
            record_timing=False,
            shutdown_kernel="immediate",
        )
        client.km = _LocalKernel(kernel_name="python3", connection_file=str(Path(scratch, "k.json")))
        try:
            client.execute(env=_environment(Path(scratch), env or {}))
        except (CellExecutionError, CellTimeoutError, DeadKernelError, asyncio.CancelledError) as error:
            if stopped:
                raise KeyboardInterrupt from None
            raise NotebookError(_where(notebook, name, reached) + _why(error, timeout)) from None
    for what in swallowed_errors(notebook):
        raise NotebookError(f"{name}: a widget's callback raised {what}")
    return notebook


def swallowed_errors(notebook: NotebookNode) -> Iterator[str]:
    """Yield the errors that were caught inside Output widgets, where no cell shows them."""
    states = notebook.metadata.get("widgets", {}).get("application/vnd.jupyter.widget-state+json", {})
    for model in states.get("state", {}).values():
        for output in model["state"].get("outputs", ()):
            if output["output_type"] == "error":
                yield f"{output['ename']}: {output['evalue']}"


def _on_ctrl_c(stop: Callable[[], None]) -> None:
    """Cancel the run on Ctrl-C, and say so by `stop`; nbclient's own handler ends in a traceback."""
    run = asyncio.current_task()

    def end() -> None:
        stop()
        run.cancel()

    with contextlib.suppress(RuntimeError):  # Windows, or not the main thread: Python's own way has to do
        for sign in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(sign, end)


def _environment(scratch: Path, extra: dict[str, str]) -> dict[str, str]:
    """Return an environment in which this convlab is imported, and the reader's own IPython set-up is not.

    What a page's notebook tries is nobody's progress.
    """
    here = str(Path(convlab.__path__[0]).resolve().parent)
    paths = [here, *filter(None, [os.environ.get("PYTHONPATH")])]
    ours = {"PYTHONPATH": os.pathsep.join(paths), "IPYTHONDIR": str(scratch / "ipython"), NAMED: ""}
    return os.environ | ours | extra


def _where(notebook: NotebookNode, name: str, index: int) -> str:
    number = sum(cell.cell_type == "code" for cell in notebook.cells[: index + 1])
    lines = notebook.cells[index].source.strip().splitlines() or ["(empty)"]
    return f"{name}, code cell {number} (`{lines[0]}`): "


def _why(error: Exception, timeout: float) -> str:
    if isinstance(error, CellTimeoutError):
        return f"still running after {timeout:g} s"
    if isinstance(error, DeadKernelError):
        return "its kernel stopped"
    return f"{error.ename}: {error.evalue}"
