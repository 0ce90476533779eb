"""A real browser, a real JupyterLab and the built book, for the tests in this folder."""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import subprocess
import sys
import warnings
from contextlib import redirect_stderr
from copy import deepcopy
from dataclasses import dataclass
from io import StringIO
from pathlib import Path

import pytest
from browser_tools import Watched
from lab_server import answering
from playwright.sync_api import Browser, Page

from tools.browser import NoBrowserError, launched
from tools.served import served
from tools.site.__main__ import build

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def browser() -> Browser:
    """A Chromium without a window: $CHROMIUM, the system's, or Playwright's own."""
    try:
        with launched() as browser:
            yield browser
    except NoBrowserError as reason:
        pytest.skip(str(reason))


@pytest.fixture
def watched(browser):
    """Return open(width, scheme, touch) for pages; when the test ends, none asked anything of the network."""
    pages: list[Watched] = []

    def open_page(**kwargs) -> Watched:
        pages.append(Watched(browser, **kwargs))
        return pages[-1]

    yield open_page
    for one in pages:
        one.page.close()
    assert [url for one in pages for url in one.outside] == []


# -- the built book ------------------------------------------------------------------------------------------


@pytest.fixture(scope="session")
def site(tmp_path_factory, executed) -> Path:
    """The folder of the book, of the notebooks that other tests have executed."""

    def run(notebook, name, folder, on_cell):
        done, _ = executed(ROOT / "notebooks" / name)
        notebook.update(deepcopy(done))

    out = tmp_path_factory.mktemp("book") / "site"
    with redirect_stderr(StringIO()) as said, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of Sphinx and its extensions about each other
        build(ROOT / "notebooks", out, run)
    warned = [line for line in said.getvalue().splitlines() if not re.match(r"\[\d+/\d+\] ", line)]  # steps
    assert warned == []
    return out


@pytest.fixture(scope="session")
def served_site(site) -> str:
    """The address of the book on a web server of this machine, as its readers elsewhere would have it."""
    with served(site) as address:
        yield address


# -- JupyterLab ----------------------------------------------------------------------------------------------

TOKEN = "a-token-for-tests"
# The learner's own way to start it, on a copy of the notebooks.
SERVE = (
    "import sys; from pathlib import Path; from convlab.workspace.server import serve; "
    "serve(Path(sys.argv[1]), '00_start_here.ipynb', browser=False, port=int(sys.argv[2]), ip='127.0.0.1', "
    "more=tuple(sys.argv[3:]))"
)


@dataclass
class Lab:
    """A running JupyterLab."""

    url: str
    settings: Path

    def set_theme(self, name: str) -> None:
        """Choose the theme for pages that are opened from now on."""
        folder = self.settings / "@jupyterlab" / "apputils-extension"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "themes.jupyterlab-settings").write_text(json.dumps({"theme": name}), encoding="utf-8")

    def open(self, page: Page, name: str, fragment: str = "") -> None:
        """Open a notebook, as whoever has never opened one."""
        page.goto(f"{self.url}/lab/tree/{name}?token={TOKEN}&reset{fragment}")

    def run_all(self, page: Page, name: str, fragment: str = "") -> None:
        """Open a notebook, run all its cells, and wait until the last one is done."""
        self.open(page, name, fragment)
        # Before the kernel is connected "Run All" is lost.
        page.get_by_text("| Idle").first.wait_for(timeout=90_000)
        page.get_by_role("menuitem", name="Run", exact=True).click()
        page.get_by_role("menuitem", name="Run All Cells", exact=True).click()
        cells = "[...document.querySelectorAll('.jp-CodeCell')]"
        open_ones = f"{cells}.filter((c) => !c.querySelector('.jp-InputPlaceholder'))"  # folded: no prompt
        prompts = f"{open_ones}.map((c) => c.querySelector('.jp-InputPrompt').textContent)"
        begun_and_over = "(all) => all.some((p) => /[0-9]/.test(p)) && !all.includes('[*]:')"
        page.wait_for_function(f"() => ({begun_and_over})({prompts})", timeout=300_000)
        page.get_by_text("| Idle").first.wait_for(timeout=30_000)
        never_ran = [prompt for prompt in page.evaluate(prompts) if not any(map(str.isdigit, prompt))]
        assert never_ran == [], f"{len(never_ran)} cells were not run"


@pytest.fixture(scope="session")
def lab(tmp_path_factory) -> Lab:
    """A JupyterLab on a free port, with a copy of the notebooks and nothing of this user's own settings."""
    home = tmp_path_factory.mktemp("lab")
    shutil.copytree(ROOT / "notebooks", home / "work", ignore=shutil.ignore_patterns(".*"))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    own = {
        "JUPYTER_CONFIG_DIR": home / "config",
        "JUPYTER_DATA_DIR": home / "data",
        "JUPYTER_RUNTIME_DIR": home / "run",
        "JUPYTERLAB_SETTINGS_DIR": home / "settings",
        "JUPYTERLAB_WORKSPACES_DIR": home / "workspaces",
        "IPYTHONDIR": home / "ipython",
        "PYTHONPATH": ROOT,
    }
    command = [sys.executable, "-c", SERVE, str(home / "work"), str(port)]
    command += [f"--IdentityProvider.token={TOKEN}"]
    log = home / "log.txt"
    with log.open("w") as out:
        server = subprocess.Popen(
            command,
            cwd=home,
            env=os.environ | {name: str(value) for name, value in own.items()},
            stdout=out,
            stderr=subprocess.STDOUT,
        )
    try:
        url = f"http://127.0.0.1:{port}"
        answering(f"{url}/api/status?token={TOKEN}", server, log)
        yield Lab(url, home / "settings")
    finally:
        server.terminate()
        try:
            server.wait(20)
        except subprocess.TimeoutExpired:
            server.kill()
