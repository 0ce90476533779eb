"""Numbers as people read them: bytes in KiB, MiB, GiB, counts in k, M, G, times in ms, ratios with a ×."""

from __future__ import annotations

from collections.abc import Callable
from decimal import ROUND_HALF_UP, Context
from math import inf, isinf

from convlab.support.checked import checked


@checked
def bytes_text(count: float) -> str:
    """Return bytes in binary units with three significant digits, e.g. '6.89 MiB'."""
    return _in_units(count, 1024, ("B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"), "{:.0f}".format)


@checked
def count_text(count: float) -> str:
    """Return a count in decimal units with three significant digits, e.g. '1.81 G'."""
    return _in_units(count, 1000, ("", "k", "M", "G", "T"), "{:g}".format)


@checked
def time_text(seconds: float) -> str:
    """Return a duration with three significant digits, e.g. '1.23 ms'."""
    return _in_units(seconds * 1e9, 1000, ("ns", "µs", "ms", "s"), _three)


@checked
def ratio_text(value: float) -> str:
    """Return a ratio as people read it: '12.2×', '0.06×', '278×'."""
    if 0 < value < 0.005:
        return "< 0.01×"
    return f"{value:.{0 if value >= 99.95 else 1 if value >= 0.995 else 2}f}×"


@checked
def plural(count: int, one: str, many: str = "") -> str:
    """Return a count with what it counts: '1 tile', '1,200 tiles', '2 passes'."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"


@checked
def ratio_2(value: float) -> str:
    """Return a ratio with two decimals where they matter: '1.67×', '85×'."""
    return f"{value:.2f}×" if value < 9.995 else ratio_text(value)


def number_text(value: float, digits: int = 4) -> str:
    """Return a number of any size with its significant digits, those before the point in threes: '12,350'."""
    if isinf(value):
        return "∞" if value > 0 else "−∞"
    # Half way is away from zero, as in JavaScript; the float's exact value decides.
    rounded = float(Context(prec=digits, rounding=ROUND_HALF_UP).create_decimal_from_float(value))
    if rounded and not 1e-4 <= abs(rounded) < 1e15:
        return f"{rounded:.{digits}g}".replace("-", "−")
    return f"{rounded:,.15g}".replace("-", "−") if abs(rounded) >= 1 else _below_one(rounded, digits)


def _below_one(value: float, digits: int) -> str:
    text = f"{value:.{digits + 4}f}".rstrip("0").rstrip(".")
    return (text if value else "0").replace("-", "−")


def factor_between(a: float, b: float) -> float:
    """Return how many times the one is the other, of the same sign; infinite where zero lies between."""
    if a == b:
        return 1.0
    if not (a > 0 < b or a < 0 > b):
        return inf
    small, large = sorted((abs(a), abs(b)))
    return large / small


def _in_units(value: float, step: int, units: tuple[str, ...], smallest: Callable[[float], str]) -> str:
    """Return a value in the first unit that writes it as less than `step`, else in the last.

    The text decides, not the value: 1023.9 KiB would read "1024 KiB", and so it is "1.00 MiB".
    """
    value = float(value)  # one that was measured would write its interval
    text = smallest(value)
    for unit in units[:-1]:
        if abs(float(text)) < step:
            return f"{text} {unit}".rstrip()
        value /= step
        text = _three(value)
    return f"{text} {units[-1]}"


def _three(value: float) -> str:
    """Three significant digits, without an exponent: 6.89, 68.9, 689, 1023."""
    decimals = 2 if abs(value) < 9.995 else 1 if abs(value) < 99.95 else 0
    return f"{value:.{decimals}f}"
