"""Copies scikit-learn's digits into the course: ``python -m tools.digits`` writes data/digits.csv anew.

A pixel has one of 17 values, so one letter is enough: 0 to 9, then a to g.
"""

from __future__ import annotations

from convlab.support.files import data_path, write_atomically

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
    from sklearn.datasets import load_digits

    found = load_digits()
    rows = (
        f"{label},{''.join(LETTERS[int(pixel)] for pixel in pixels)}\n"
        for label, pixels in zip(found.target, found.data, strict=True)
    )
    return HEADER + "".join(rows)


if __name__ == "__main__":
    write_atomically(data_path("digits.csv"), text())
