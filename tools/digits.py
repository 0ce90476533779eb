"""Copies scikit-learn's digits into the course: ``python -m tools.digits`` writes data/digits.csv anew.

A pixel has one of 17 values, so one letter is enough: 0 to 9, then a to g.
"""

from __future__ import annotations

import gzip
import importlib.util
from pathlib import Path

from convlab.support.files import data_path, write_atomically
from tools.errors import BuildError

HEADER = """\
# Handwritten digits: 1797 pictures of 8 x 8 pixels, each from 0 (paper) to g = 16 (ink), row by row.
# Source: Alpaydin & Kaynak 1998, Optical Recognition of Handwritten Digits, UCI Machine Learning Repository,
# https://doi.org/10.24432/C50P49: the pictures of its test set, as scikit-learn's load_digits has them.
# Licence: CC BY 4.0, https://creativecommons.org/licenses/by/4.0/. The pixels were written as letters; they
# are not changed.
label,pixels
"""
LETTERS = "0123456789abcdefg"


def text() -> str:
    """Return the file."""
    package = importlib.util.find_spec("sklearn")  # found, not imported: that takes seconds
    if package is None or package.origin is None:
        raise BuildError("scikit-learn is missing; `python3 lab.py setup --test` installs it")
    table = Path(package.origin).with_name("datasets") / "data" / "digits.csv.gz"
    with gzip.open(table, "rt", encoding="ascii") as lines:
        rows = [[int(float(cell)) for cell in line.split(",")] for line in lines]  # 64 pixels and a label
    return HEADER + "".join(
        f"{label},{''.join(LETTERS[pixel] for pixel in pixels)}\n" for *pixels, label in rows
    )


if __name__ == "__main__":
    write_atomically(data_path("digits.csv"), text())
