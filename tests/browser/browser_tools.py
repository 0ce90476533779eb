"""What the browser tests share: pages that take note of trouble, and moving a figure as a reader does."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Locator, Page

SLIDERS = ".convlab input[type=range]"
# How a page is light or dark: what stands in its body's tag.
SCHEMES = {"light": "", "dark": ' data-jp-theme-light="false" style="background: #111"'}

# What a page may ask for: files, what it carries itself, and servers on this machine.
_INSIDE = ("file:", "data:", "blob:", "about:", "http://127.0.0.1", "ws://127.0.0.1", "http://localhost")

# All that a figure shows: first what is drawn, then what is said (in text, and to a screen reader).
_SHOWN = """figure => [
  [...figure.querySelectorAll("svg, [style*=width], [style*=--share]")]
    .map((part) => part.outerHTML).join("\\n") +
    [...figure.querySelectorAll("canvas")].map((part) => part.toDataURL()).join("\\n"),
  figure.innerText + [...figure.querySelectorAll("[aria-label]")].map((part) => part.ariaLabel).join("\\n"),
]"""

# What is said of a figure whose drawing, whose words or whose slider stays as it was.
_STILL = (
    "the slider moved, the drawing did not",
    "the drawing moved, and the words do not say so",
    "the slider did not move",
)


def document(*widgets, scheme: str = "light") -> str:
    """Return a page with widgets and nothing else, and without Python."""
    body = "".join(widget.page() for widget in widgets)
    return (
        '<!doctype html><html lang="en"><meta charset="utf-8"><title>A page</title>'
        f"<body{SCHEMES[scheme]}><main>{body}</main></body></html>"
    )


def open_controls(page: Page) -> None:
    """Open what every figure keeps behind its button for more controls."""
    page.locator("details.cl-more").evaluate_all("all => all.forEach((one) => (one.open = true))")


class Watched:
    """A page in a browser of its own, with a record of errors and of requests that leave this machine.

    With `touch` it is that of a telephone, or of a tablet.
    """

    def __init__(self, browser: Browser, *, width: int = 1200, scheme: str = "light", touch: bool = False):
        view = {"width": width, "height": 900}
        self.page: Page = browser.new_page(
            viewport=view, color_scheme=scheme, has_touch=touch, is_mobile=touch
        )
        self.errors: list[str] = []
        self.outside: list[str] = []
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("console", lambda m: m.type == "error" and self.errors.append(m.text))
        self.page.on("request", lambda r: r.url.startswith(_INSIDE) or self.outside.append(r.url))
        self.page.on("websocket", lambda w: w.url.startswith(_INSIDE) or self.outside.append(w.url))

    def screenshot(self, name: str) -> None:
        """Keep a picture of the whole page in $CONVLAB_SCREENSHOTS, where that is set."""
        if folder := os.environ.get("CONVLAB_SCREENSHOTS"):
            self.page.wait_for_timeout(500)  # until everything in sight is painted
            self.page.screenshot(path=Path(folder) / f"{name}.png", full_page=True)


def figure_of(slider: Locator) -> Locator:
    """Return the figure a slider belongs to."""
    return slider.locator("xpath=ancestor::*[contains(concat(' ', @class, ' '), ' convlab ')][1]")


def shown(figure: Locator) -> tuple[str, str]:
    """Return what a figure draws, and what it says."""
    drawn, said = figure.evaluate(_SHOWN)
    return drawn, said


def at_rest(figure: Locator, patience: float = 10) -> tuple[str, str]:
    """Return what a figure shows once it has shown the same for a while, and assert that it comes to that.

    It draws itself anew for the room that it gets while others above it begin; a busy machine does so late.
    """
    seen = [shown(figure)]

    def again():
        figure.page.wait_for_timeout(150)
        seen.append(shown(figure))

    until(lambda: seen[-1] == seen[-2], again, patience)
    assert seen[-1] == seen[-2], "the figure moves by itself"
    return seen[-1]


def moves(slider: Locator, act, patience: float = 10) -> None:
    """Assert that `act(slider)` changes the slider's value, the drawing and the words of its figure.

    The figure has so many seconds to come to rest, and so many to answer.
    """
    figure = figure_of(slider)
    slider.scroll_into_view_if_needed()
    before = (*at_rest(figure, patience), slider.input_value())
    act(slider)

    def still() -> list[str]:
        after = (*shown(figure), slider.input_value())
        return [fault for fault, was, now in zip(_STILL, before, after, strict=True) if was == now]

    until(lambda: not still(), patience=patience)
    assert not (faults := still()), faults[-1]


def press_arrow(slider: Locator) -> None:
    """Focus the slider and press one arrow key, away from the end it may stand at."""
    at_end = slider.evaluate("slider => slider.value === slider.max")
    slider.focus()
    slider.page.keyboard.press("ArrowLeft" if at_end else "ArrowRight")


def drag(slider: Locator) -> None:
    """Take the slider's handle with the mouse and draw it to the other half of the track."""
    at = slider.evaluate("s => (s.value - s.min) / (s.max - s.min)")
    box, mouse = slider.bounding_box(), slider.page.mouse
    middle = box["y"] + box["height"] / 2
    mouse.move(box["x"] + 8 + at * (box["width"] - 16), middle)
    mouse.down()
    mouse.move(box["x"] + box["width"] * (0.9 if at < 0.5 else 0.1), middle, steps=6)
    mouse.up()


def until(
    holds: Callable[[], bool], again: Callable[[], object] = lambda: None, patience: float = 30
) -> None:
    """Do something (or wait) again and again until a condition holds, for so many seconds at most.

    For what one process tells another with no word of when it has arrived: what a page keeps in the browser,
    and the state of a figure, which JupyterLab holds back while the kernel is busy with the one before.
    """
    end = time.monotonic() + patience
    again()
    while not holds() and time.monotonic() < end:
        time.sleep(0.2)
        again()


def barriers(page: Page, context: str | None = None, *, colours: bool) -> list[str]:
    """Return what keeps some people from using a page, as axe finds it.

    The contrast of colours takes axe seconds a page, for it looks at every word; so it is asked for where a
    page has colours that no other has.
    """
    # Without a list of all that is right axe takes a quarter of the time, and less. And a page that lies in a
    # file may not ask for its own style sheets, as axe would.
    options = {"resultTypes": ["violations"], "rules": {"color-contrast": {"enabled": colours}}}
    options["preload"] = False
    return [
        f"{violation['id']}: {' '.join(node['target'])}: {node['html'][:200]}"
        for violation in Axe().run(page, context=context, options=options).response["violations"]
        if violation["impact"] in ("serious", "critical")
        for node in violation["nodes"]
    ]
