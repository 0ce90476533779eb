"""The one visual language: a colour always means the same thing, in every figure and every widget.

The hues are Okabe and Ito's, which stay apart for every kind of colour vision. Colour never speaks alone:
padding is hatched, what is active is outlined, lines carry their name at their end.
"""

from __future__ import annotations

from contextlib import AbstractContextManager

# What a thing is, and the colour that says so.
ROLES = {
    "input": "#0072B2",
    "filter": "#E69F00",
    "output": "#009E73",
    "workspace": "#CC79A7",  # copies, buffers, transforms
    "padding": "#9AA0A6",  # always hatched as well
    "active": "#D55E00",  # what happens right now: an outline
}

# Page colours: figures are drawn on light paper of their own; widgets follow the page's theme.
LIGHT = {"paper": "#FFFFFF", "panel": "#F6F8FA", "ink": "#1F2328", "muted": "#57606A", "line": "#D0D7DE"}
DARK = {"paper": "#16191D", "panel": "#20252B", "ink": "#E6EDF3", "muted": "#A9B4C0", "line": "#424A53"}

# How each page says that it is dark: JupyterLab and nbconvert, the built book, VS Code.
_DARK_PAGES = ('body[data-jp-theme-light="false"]', 'html[data-theme="dark"]', "body.vscode-dark")


def css() -> str:
    """Return the same values as CSS variables (``--cl-input``, ``--cl-paper`` ...) for `.convlab` boxes."""
    roles = "".join(f"--cl-{name}: {value}; " for name, value in ROLES.items())
    light, dark = ("".join(f"--cl-{n}: {v}; " for n, v in theme.items()) for theme in (LIGHT, DARK))
    dark_pages = ", ".join(f"{page} .convlab" for page in _DARK_PAGES)
    return f".convlab {{ {roles}{light}}}\n{dark_pages} {{ {dark}}}\n"


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
            "axes.titleweight": "semibold",
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
        }
    )
