"""The one visual language: a colour always means the same thing, in every figure and every widget.

The hues are Okabe and Ito's, which stay apart for every kind of colour vision. Colour never speaks alone:
padding is hatched, what is active is outlined, lines carry their name at their end.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from functools import partial
from typing import Annotated

from convlab.support.checks import check_choice, check_words
from convlab.support.measured import TOO_NOISY

# What a thing is, and the colour that says so.
ROLES = {
    "input": "#0072B2",
    "filter": "#E69F00",
    "output": "#009E73",
    "workspace": "#CC79A7",  # copies, buffers, transforms
    "padding": "#9AA0A6",  # always hatched as well
    "active": "#D55E00",  # what happens right now: an outline
}
Role = Annotated[str, partial(check_choice, words=ROLES)]
Words = Annotated[str, check_words]  # words for those who cannot see a figure

# Page colours: figures are drawn on light paper of their own; widgets follow the page's theme.
LIGHT = {"paper": "#FFFFFF", "panel": "#F6F8FA", "ink": "#1F2328", "muted": "#57606A", "line": "#D0D7DE"}
DARK = {"paper": "#16191D", "panel": "#20252B", "ink": "#E6EDF3", "muted": "#A9B4C0", "line": "#424A53"}

# How each page says that it is dark: JupyterLab and nbconvert, the built book, VS Code.
DARK_PAGES = ('body[data-jp-theme-light="false"]', 'html[data-theme="dark"]', "body.vscode-dark")


# How much of a role's colour goes into a cell's fill: enough to be seen, little enough to read on.
_SHARE = {
    "light": {
        "input": 0.20,
        "filter": 0.30,
        "output": 0.24,
        "workspace": 0.34,
        "padding": 0.22,
        "active": 0.2,
    },
    "dark": {
        "input": 0.48,
        "filter": 0.40,
        "output": 0.46,
        "workspace": 0.46,
        "padding": 0.30,
        "active": 0.4,
    },
}


def mix(color: str, share: float, paper: str = LIGHT["paper"]) -> str:
    """Return `share` of a colour (0 to 1) painted on paper, as "#rrggbb"."""
    over, under = (bytes.fromhex(c[1:]) for c in (color, paper))
    return "#" + "".join(
        f"{round(share * o + (1 - share) * u):02x}" for o, u in zip(over, under, strict=True)
    )


def tint(role: str, theme: str = "light") -> str:
    """Return the pale form of a role's colour, for fills with text on them."""
    paper = LIGHT["paper"] if theme == "light" else DARK["paper"]
    return mix(ROLES[role], _SHARE[theme][role], paper)


def css() -> str:
    """Return the same values as CSS variables for `.convlab` boxes.

    ``--cl-input`` is a role's colour, ``--cl-input-tint`` its pale form, ``--cl-paper`` the page.
    """
    roles = "".join(f"--cl-{name}: {value}; " for name, value in ROLES.items())
    themes = {}
    for name, colours in (("light", LIGHT), ("dark", DARK)):
        page = "".join(f"--cl-{n}: {v}; " for n, v in colours.items())
        tints = "".join(f"--cl-{role}-tint: {tint(role, name)}; " for role in ROLES)
        themes[name] = f"color-scheme: {name}; {page}{tints}"
    dark_pages = ", ".join(f"{page} .convlab" for page in DARK_PAGES)
    # Where a reader has all pages in a few colours of their own, bars and numbers in tiles would be lost.
    forced = "@media (forced-colors: active)"
    return (
        f".convlab {{ {roles}{themes['light']}}}\n"
        f"@media not print {{ {dark_pages} {{ {themes['dark']}}} }}\n"  # paper is light
        f"{forced} {{ .convlab {{ forced-color-adjust: none; }} }}\n"
        f"{forced} and (prefers-color-scheme: dark) {{ .convlab {{ {themes['dark']}}} }}\n"
    )


# In place of a finding that there is not.
BUSY = "Too noisy to tell: other programs disturb this. Close them, and run the cell again"


def headline(fig, title: str) -> None:
    """Write the finding over the whole width of a figure, where long labels do not push it aside.

    A title that holds a number which the measurement leaves open is no finding.
    """
    fig.suptitle(BUSY if TOO_NOISY in title else title, x=0.01, ha="left", fontweight="bold", fontsize=12)


def figure_style() -> AbstractContextManager:
    """Return a matplotlib style as a context: ``with figure_style(): fig, ax = plt.subplots()``."""
    import matplotlib as mpl

    return mpl.rc_context(
        {
            "figure.facecolor": LIGHT["paper"],
            "savefig.facecolor": LIGHT["paper"],
            "figure.dpi": 110,
            "figure.constrained_layout.use": True,
            "font.size": 10,
            "axes.titlesize": 12,
            "axes.titleweight": "bold",
            "axes.titlelocation": "left",
            "axes.edgecolor": LIGHT["line"],
            "axes.labelcolor": LIGHT["muted"],
            "axes.titlecolor": LIGHT["ink"],
            "axes.spines.top": False,
            "axes.spines.right": False,
            "axes.prop_cycle": mpl.cycler(color=list(ROLES.values())),
            "xtick.color": LIGHT["muted"],
            "ytick.color": LIGHT["muted"],
            "text.color": LIGHT["ink"],
            "image.cmap": "cividis",
            "hatch.linewidth": 0.6,
            "text.parse_math": False,  # a name with two $ is no formula
        }
    )
