"""Every notebook runs from top to bottom, and reads well before and after."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time

import nbformat
import pytest
import zmq.asyncio
from effort import in_turns
from nbformat.v4 import new_code_cell, new_markdown_cell
from notebook_tools import (
    MOST_LINES,
    MOST_SECONDS,
    NOTEBOOKS,
    complaints_about_outputs,
    complaints_about_source,
    notebook,
    run_guarded,
)

from convlab.workspace.execute import NotebookError

pytestmark = pytest.mark.notebooks


def test_there_are_notebooks():
    numbers = [int(path.name[:2]) for path in NOTEBOOKS]
    assert numbers == sorted(set(numbers))  # a notebook that is not written yet may leave a gap
    assert numbers[:3] == [0, 1, 2]
    assert len(NOTEBOOKS) >= 3


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_source(path):
    nb = nbformat.read(path, as_version=4)
    nbformat.validate(nb)
    assert list(complaints_about_source(nb)) == []


def test_sources_are_stripped():
    command = [sys.executable, "-m", "nbstripout", "--verify", "--keep-id"]
    found = subprocess.run([*command, *map(str, NOTEBOOKS)], capture_output=True, text=True)
    assert found.returncode == 0, found.stdout + found.stderr


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_runs(path, executed):
    nb, seconds = executed(path)
    assert list(complaints_about_outputs(nb)) == []
    assert seconds < MOST_SECONDS


HIDDEN = """import sys
sys.modules.update(dict.fromkeys(("dask", "dask.array", "distributed", "zarr")))"""  # as if not installed


@in_turns
@pytest.mark.workshop
def test_many_machines_are_reached_without_dask(tmp_path):
    """The notebook of Dask's workers runs without them, and says what to install; no other imports Dask."""
    (path,) = (one for one in NOTEBOOKS if "import dask" in one.read_text(encoding="utf-8"))
    nb = nbformat.read(path, as_version=4)
    nb.cells.insert(1, new_code_cell(HIDDEN))
    start = time.monotonic()
    run_guarded(nb, tmp_path, path.name)
    assert time.monotonic() - start < max(90, MOST_SECONDS)
    shown = [output.text for cell in nb.cells for output in cell.get("outputs", ()) if "text" in output]
    assert sum("Dask is not installed" in text for text in shown) == 1
    assert not any("to the last bit" in text for text in shown)
    assert list(complaints_about_outputs(nb)) == []


# -- the checks themselves: each is shown something wrong, and must say so -----------------------------------


def stored_output():
    nb = notebook("1 + 1")
    nb.cells[1].execution_count = 1
    return nb


def same_id_twice():
    nb = notebook("1", "2")
    nb.cells[2].id = nb.cells[1].id
    return nb


def other_kernel():
    nb = notebook()
    nb.metadata.kernelspec.name = "my-env"
    return nb


def no_title():
    nb = notebook("1")
    del nb.cells[0]
    return nb


@pytest.mark.parametrize(
    ("nb", "complaint"),
    [
        (stored_output(), "stores the output of `1 + 1`"),
        (same_id_twice(), "2 cells have the id"),
        (other_kernel(), "not python3"),
        (no_title(), "first cell is not Markdown"),
        (notebook(new_markdown_cell("# Another title")), "2 titles"),
        (notebook(new_markdown_cell("## a\n\n#### b")), "level 4 follows one of level 2"),
        (notebook(new_markdown_cell("![](window.png)")), "without alternative text: window.png"),
        (notebook(new_markdown_cell('<img src="window.png">')), "without alternative text"),
        (notebook("open('/home/ada/x.npy')"), "path of one machine: /home/ada/x.npy"),
        (notebook("fetch('https://example.org/x.npy')"), "network: https://example.org/x.npy"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_wrong_sources_are_found(nb, complaint):
    found = list(complaints_about_source(nb))
    assert len(found) == 1 or complaint == "first cell is not Markdown"
    assert complaint in found[0]


def test_right_source_is_not_complained_about():
    text = "## a\n\n### b\n\n```\n# no heading\n```\n\n![a window](w.png)\n\n## c"
    assert list(complaints_about_source(notebook(new_markdown_cell(text), "x = 1  # see ../data"))) == []


def test_wrong_outputs_are_found(tmp_path):
    nb = notebook(
        f"for i in range({MOST_LINES + 1}): print(i)",
        "import sys; print('careful', file=sys.stderr)",
        "import matplotlib.pyplot as plt; plt.plot([1, 2]);",
        "import ipywidgets; ipywidgets.IntSlider()",
        "from IPython.display import HTML; HTML('<img src=\"data:,\">')",
        "import os; print(os.getcwd())",
        "from convlab.support import install\n"
        "print(install.install_extra('gpu'), install.install_command('-e', f'{install.ROOT}[x]'))",
    )
    run_guarded(nb, tmp_path)
    found = list(complaints_about_outputs(nb))
    wanted = (
        "shows 41 lines",
        "stderr: careful",
        "plt.plot([1, 2]);` shows an image without alternative text",
        "ipywidgets.IntSlider()` shows a widget that leaves no picture",
        "HTML('<img src=\"data:,\">')` shows an image without alternative text",
        "print(os.getcwd())` shows a path",
    )
    assert len(found) == len(wanted), found
    for complaint, what in zip(found, wanted, strict=True):
        assert what in complaint


CALLBACK = """
import ipywidgets
out, slider = ipywidgets.Output(), ipywidgets.IntSlider()

@out.capture()
def moved(change):
    raise ValueError("lost in the widget")

slider.observe(moved, "value")
slider.value = 3
print("all is well")
"""


def test_error_in_a_callback_is_found(tmp_path):
    with pytest.raises(NotebookError, match=r"planted\.ipynb.*ValueError: lost in the widget"):
        run_guarded(notebook(CALLBACK), tmp_path)


def test_error_in_a_cell_is_found_and_placed(tmp_path):
    nb = notebook("x = 1", new_markdown_cell("## more"), "# half of it\nx / 0", "print('never')")
    with pytest.raises(
        NotebookError, match=r"planted\.ipynb, code cell 2 \(`# half of it`\): ZeroDivisionError"
    ):
        run_guarded(nb, tmp_path)


def test_network_and_other_folders_are_out_of_reach(tmp_path):
    outside = tmp_path / "elsewhere.txt"
    nb = notebook(
        "import socket; socket.create_connection(('192.0.2.1', 80), timeout=1)",
        "import socket; socket.getaddrinfo('example.org', 80)",
        f"open({str(outside)!r}, 'w')",
        "open('inside.txt', 'w').write('fine'); import tempfile; tempfile.TemporaryFile().write(b'fine')",
    )
    for cell in nb.cells[1:4]:
        cell.metadata.tags = ["raises-exception"]
    run_guarded(nb, tmp_path)
    assert [cell.outputs[0].get("ename") for cell in nb.cells[1:4]] == ["PermissionError"] * 3
    assert (tmp_path / "work" / "inside.txt").read_text() == "fine"
    assert not outside.exists()


def test_a_message_that_nobody_was_told_of_is_found(tmp_path, monkeypatch):
    """ZeroMQ tells of a message once; who has missed it must not sleep until the cell's time is up."""

    async def asleep(self, timeout=None):
        """Wait, and see what is there afterwards, as a poll does that was not woken."""
        await asyncio.sleep(1e9 if timeout is None else timeout / 1000)
        return await poll(self, 0)

    poll = zmq.asyncio.Socket.poll
    monkeypatch.setattr("convlab.workspace.execute.LOOK", 0.1)
    monkeypatch.setattr(zmq.asyncio.Socket, "poll", asleep)
    nb = notebook("print(6 * 7)", "1 + 1")
    start = time.monotonic()
    run_guarded(nb, tmp_path)
    assert time.monotonic() - start < 30
    assert nb.cells[1].outputs[0].text == "42\n"


COUNTED = """
import numpy as np
from convlab.notebook import compare

calls = []
compare({"counted": lambda: calls.append(0) or np.zeros(1), "other": lambda: np.ones(1)})
print(len(calls))
"""


def test_in_haste_few_times_are_taken(tmp_path):
    calls = {}
    for hasty in (True, False):
        nb = notebook(COUNTED)
        run_guarded(nb, tmp_path / str(hasty), hasty=hasty)
        calls[hasty] = int(nb.cells[1].outputs[0].text)
    assert calls[True] == 1 + 3  # its output is looked at once
    assert calls[False] >= 1 + 11 * 3
