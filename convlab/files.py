"""Where the course's data lies: `data/` in a checkout, inside the package in an installed wheel."""

from pathlib import Path

from convlab.checked import checked

_PACKAGE = Path(__file__).resolve().parent


@checked
def data_path(*parts: str) -> Path:
    """Return the path of a file below `data/`, e.g. ``data_path("networks", "resnet18.csv")``."""
    inside = _PACKAGE / "data"
    return (inside if inside.is_dir() else _PACKAGE.parent / "data").joinpath(*parts)
