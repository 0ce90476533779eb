"""Where a notebook can be run, or mended, by somebody who has installed nothing."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Launcher:
    """A place that opens a notebook: its name, what it asks of the reader, its icon and its address."""

    name: str
    about: str
    icon: str
    url: str  # with {repository} and {page}

    def opens(self, repository: str, page: str) -> str:
        """Return the address that opens a page's notebook."""
        return self.url.format(repository=repository, page=page)


# `colab` is the branch whose notebooks have an installing cell.
LAUNCHERS = (
    Launcher(
        "Binder",
        "no account; the first start takes minutes",
        "_static/images/logo_binder.svg",
        "https://mybinder.org/v2/gh/{repository}/HEAD?urlpath=lab/tree/notebooks/{page}.ipynb",
    ),
    Launcher(
        "Colab",
        "an account with Google",
        "_static/images/logo_colab.png",
        "https://colab.research.google.com/github/{repository}/blob/colab/notebooks/{page}.ipynb",
    ),
    Launcher(
        "Codespaces",
        "an account with GitHub",
        "fa-solid fa-terminal",
        "https://codespaces.new/{repository}",
    ),
    Launcher(
        "GitHub",
        "to read the source, or to mend it",
        "fa-solid fa-pen",
        "https://github.com/{repository}/blob/HEAD/notebooks/{page}.ipynb",
    ),
)
