"""What the wheel carries beside the library: the course. Hatchling asks this while it builds one.

In a checkout the notebooks and the data lie beside `convlab/`, in a wheel inside of it. An editable install
carries nothing: it uses the checkout. Only what belongs is taken, whatever else lies about: no notebook of
somebody's own, no checkpoint of Jupyter's, and no picture that only the README shows.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

BELONGS = (
    "notebooks/[0-9][0-9]_*.ipynb",
    "data/*.csv",
    "data/machines/*.toml",
    "data/measurements/*",
    "data/networks/*.csv",
    "data/speeds/*",
)


class CarryTheCourse(BuildHookInterface):
    """Puts notebooks and data into the package."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Name the files, each with its place in the wheel."""
        if version != "editable":
            build_data["force_include"] |= carried(Path(self.root))


def carried(root: Path) -> dict[str, str]:
    """Return where each file of the course goes."""
    files = [file for pattern in BELONGS for file in root.glob(pattern) if not file.name.startswith(".")]
    return {str(file): f"convlab/{file.relative_to(root).as_posix()}" for file in sorted(files)}
