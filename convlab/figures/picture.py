"""How a figure reaches the page: as a picture that carries its description in words."""

from __future__ import annotations

import base64
import html
import io
from functools import partial
from typing import Annotated, Any

import numpy as np

from convlab.figures.style import DARK_PAGES, Words
from convlab.support.checked import Count, checked
from convlab.support.checks import check_instance, check_whole

_MOST_PIXELS = 4096  # of a side; the photograph itself has 512 x 600

# On a dark page, not on paper, a chart is shown with light and dark exchanged, and each hue turned to itself.
_CHARTS = ",".join(f"{page} .convlab-picture.chart img:not(.cl-kept)" for page in DARK_PAGES)
_DARK = f"@media not print{{{_CHARTS}{{filter:invert(.92) hue-rotate(180deg)!important}}}}"
_FITS = "max-width:100%;height:auto"
_LEAST = (
    0.65  # of its width: smaller, and the words of a chart cannot be read; where that is too wide, it scrolls
)
_STAYS = "position:sticky;left:0;width:fit-content;font-size:small"
_ON_TOP = "position:absolute;left:0;top:0;background:none!important"


@checked
class Picture:
    """A finished figure: PNG bytes and the words for those who cannot see it.

    Parameters
    ----------
    png : bytes
    alt : str
        What the picture shows, in one or two sentences.
    width : int
        Width on the page (CSS pixels).
    photo : bool
        A photograph keeps its colours on a dark page; a chart is turned dark.
    layers : pair of bytes, optional
        The same picture as two PNGs, one to lie on the other: its paper and words, which are turned dark, and
        the photographs, which keep their colours.
    """

    def __init__(
        self,
        png: bytes,
        alt: Words,
        width: Count,
        *,
        photo: bool = False,
        layers: tuple[bytes, bytes] | None = None,
    ):
        self.png, self.alt, self.width, self.photo, self.layers = png, alt, width, photo, layers

    def _repr_html_(self) -> str:
        kind = "photo" if self.photo and not self.layers else "chart"
        under, over = self.layers or (self.png, None)
        least = 0 if kind == "photo" else round(_LEAST * self.width)
        fits = f"{_FITS};min-width:{least}px"
        images = self._image(under, self.alt, f'style="{fits}"')
        # Who cannot see it reads the words of the one below.
        on_top = f'aria-hidden="true" class="cl-kept" style="{_ON_TOP};{fits}"'
        images += self._image(over, "", on_top) if over else ""
        style, hint = _scrolling(least) if least else ("", "")
        return (
            f'<figure class="convlab-picture {kind}" style="margin:0;container-type:inline-size">'
            f"<style>{_DARK}{style}</style>"
            f'<div style="position:relative;overflow-x:auto">{images}{hint}</div></figure>'
        )

    def _image(self, png: bytes, alt: str, more: str) -> str:
        wide, high = (int.from_bytes(self.png[at : at + 4], "big") for at in (16, 20))  # as PNG has it
        height = round(self.width * high / max(wide, 1))  # known before it is drawn: nothing jumps
        return (
            f'<img alt="{html.escape(alt, quote=True)}" width="{self.width}" height="{height}" {more} '
            f'src="data:image/png;base64,{base64.b64encode(png).decode()}">'
        )

    def __repr__(self) -> str:
        return self.alt


def _scrolling(least: int) -> tuple[str, str]:
    """Return what tells that a picture scrolls, where its place has fewer pixels: a style, and an element.

    The element is there only where it is needed: by it the keyboard comes into the picture. The words are the
    style's: where a page takes no styles, nothing is said, for nothing scrolls.
    """
    name, words = f"cl-below-{least}", "Wider than the page: scroll it sideways."
    shown = f'.{name}{{display:block!important}}.{name}::before{{content:"{words}"}}'
    hint = f'<div class="{name}" tabindex="0" role="note" style="display:none;{_STAYS}"></div>'
    return f"@container (max-width:{least - 1}px){{{shown}}}", hint


@checked
def show(fig, alt: Words, *, photo: bool = False) -> Picture:
    """Return a matplotlib figure as a picture with alternative text, and close the figure.

    Parameters
    ----------
    fig : matplotlib Figure
    alt : str
        What the figure shows, for readers who cannot see it. Required.
    photo : bool
        Its images are photographs: they keep their colours on a dark page.

    Returns
    -------
    Picture
        Shown when it is the last line of a cell.
    """
    import matplotlib.pyplot as plt
    from matplotlib.figure import Figure

    check_instance("fig", fig, Figure)
    png = _drawn(fig)
    layers = _layers(fig) if photo else None
    plt.close(fig)
    return Picture(png, alt, width=round(fig.get_figwidth() * 100), photo=photo, layers=layers)


def _drawn(fig, **how: Any) -> bytes:
    buffer = io.BytesIO()
    fig.savefig(buffer, format="png", dpi=160, **how)  # more than the page shows, for sharp screens
    return buffer.getvalue()


def _layers(fig) -> tuple[bytes, bytes]:
    """Return a figure that was drawn without its images, and its images alone on nothing."""
    from matplotlib.image import AxesImage
    from matplotlib.text import Text

    fig.set_layout_engine("none")  # what is hidden leaves its place empty
    images, words = fig.findobj(AxesImage), fig.findobj(Text)
    for one in images:
        one.set_visible(False)
    under = _drawn(fig)
    for one in images:
        one.set_visible(True)
    for one in words:
        one.set_visible(False)
    return under, _drawn(fig, transparent=True)


@checked
def photograph(
    size: Annotated[int, partial(check_whole, least=1, most=_MOST_PIXELS)] | None = None,
) -> np.ndarray:
    """Return the photograph that ships with matplotlib: Grace Hopper, 1984 (US Navy, public domain).

    Parameters
    ----------
    size : int, optional
        Cut a square from the middle and thin it out to this many pixels each way, 4096 at most; without it,
        the whole.

    Returns
    -------
    ndarray, (1, H, W, 3)
        float32, between 0 and 1: a batch of one image in convlab's NHWC.
    """
    import matplotlib.cbook
    from PIL import Image

    with matplotlib.cbook.get_sample_data("grace_hopper.jpg") as file:
        image = Image.open(file).convert("RGB")
    if size is not None:
        side = min(image.size)
        left = (image.width - side) // 2
        image = image.crop((left, 0, left + side, side)).resize((size, size), Image.Resampling.LANCZOS)
    return np.asarray(image, dtype=np.float32)[None] / 255
