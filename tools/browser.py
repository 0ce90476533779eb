"""A browser without a window, for tests and for pictures of figures that only move in one."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tools.errors import BuildError

FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-proxy-server",
]
# Chromium's engine with no browser around it: it draws the same, and a page costs a quarter of the time.
SHELLS = ("chromium-headless-shell", "chrome-headless-shell")
KNOWN_BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
HOW_TO_GET_ONE = (
    "no browser found: install Chromium or Chrome (Debian, Ubuntu: sudo apt install chromium), "
    "or set CHROMIUM to its path, or run: python -m playwright install chromium"
)


class NoBrowserError(BuildError):
    """There is no browser on this machine; the message says how to get one."""


@contextmanager
def launched() -> Iterator:
    """Start a Chromium, inside a ``with``: $CHROMIUM, the system's, or Playwright's own.

    Raises
    ------
    NoBrowserError
        If there is none.
    BuildError
        If the one that is there cannot be run.
    """
    from playwright.sync_api import Error, sync_playwright

    chosen = os.environ.get("CHROMIUM")
    if chosen and not shutil.which(chosen):
        raise BuildError(f"CHROMIUM={chosen} cannot be run")
    found = chosen or next(filter(None, map(shutil.which, SHELLS + KNOWN_BROWSERS)), None)
    with sync_playwright() as playwright:
        try:
            browser = playwright.chromium.launch(executable_path=found, args=FLAGS)
        except Error as error:
            why = error.message.splitlines()[0]
            if found:
                raise BuildError(f"{found} cannot be run: {why}") from None
            raise NoBrowserError(f"{HOW_TO_GET_ONE} ({why})") from None
        yield browser
        browser.close()


def photograph(browser, widget, *, width: int = 984, sharpness: float = 1.4) -> bytes:
    """Return a widget as a light page shows it, as PNG.

    Parameters
    ----------
    browser : Browser
        Of `launched`.
    widget : Live
    width : int
        Of the widget, in CSS pixels.
    sharpness : float
        Pixels of the picture for each of them.
    """
    page = browser.new_page(viewport={"width": width, "height": 900}, device_scale_factor=sharpness)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "widget.html")
        head = '<!doctype html><meta charset="utf-8"><style>body { margin: 0 }</style>'
        html = f"{head}<body>{widget.page()}</body>"
        file.write_text(html, encoding="utf-8")
        page.goto(file.as_uri())
        figure = page.locator(".convlab").first
        figure.wait_for()
        png = figure.screenshot(animations="disabled")
    page.close()
    return png
