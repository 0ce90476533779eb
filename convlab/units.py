"""Numbers as people read them: bytes in KiB, MiB, GiB, counts in k, M, G, times in ms."""


def bytes_text(count: float) -> str:
    """Return bytes in binary units with three significant digits, e.g. '6.89 MiB'."""
    for unit in ("B", "KiB", "MiB", "GiB"):
        if abs(count) < 1024:
            return f"{count:.0f} B" if unit == "B" else f"{_three(count)} {unit}"
        count /= 1024
    return f"{_three(count)} TiB"


def count_text(count: float) -> str:
    """Return a count in decimal units with three significant digits, e.g. '1.81 G'."""
    for unit in ("", "k", "M", "G"):
        if abs(count) < 1000:
            return f"{count:g}" if unit == "" else f"{_three(count)} {unit}"
        count /= 1000
    return f"{_three(count)} T"


def time_text(seconds: float) -> str:
    """Return a duration with three significant digits, e.g. '1.23 ms'."""
    for factor, unit in ((1, "s"), (1e3, "ms"), (1e6, "µs")):
        if seconds * factor >= 1:
            return f"{_three(seconds * factor)} {unit}"
    return f"{_three(seconds * 1e9)} ns"


def _three(value: float) -> str:
    """Three significant digits, without an exponent: 6.89, 68.9, 689, 1023."""
    decimals = 2 if abs(value) < 9.995 else 1 if abs(value) < 99.95 else 0
    return f"{value:.{decimals}f}"
