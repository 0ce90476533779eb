"""The words that stand behind a number, by which people write units and their prefixes.

Each function is told a word and the number before it, and returns what that number is multiplied by: 2e9 for
"GMAC" where FLOP are asked, 1024² for "MiB". None: it is no word of this unit. The word of a bare number is
empty. What can be read in two ways is refused, in words.
"""

from __future__ import annotations

import re

LARGE = {
    **dict.fromkeys(("k", "kilo", "thousand"), 1e3),
    **dict.fromkeys(("m", "mega", "million", "millions", "mio", "mn"), 1e6),
    **dict.fromkeys(("g", "giga", "billion", "billions", "bn", "mrd"), 1e9),
    **dict.fromkeys(("t", "tera", "trillion", "trillions"), 1e12),
    **dict.fromkeys(("p", "peta"), 1e15),
    "": 1.0,
}
_BINARY = {
    **{"kibi": 1024.0, "mebi": 1024.0**2, "gibi": 1024.0**3, "tebi": 1024.0**4},
    **{"ki": 1024.0, "mi": 1024.0**2, "gi": 1024.0**3, "ti": 1024.0**4},
}
_SMALL = {"m": 1e-3, "milli": 1e-3, "µ": 1e-6, "u": 1e-6, "micro": 1e-6, "n": 1e-9, "nano": 1e-9, "": 1.0}
_OPERATION = ("operations", "operation", "flops", "flop", "ops", "op")
_SECOND = ("seconds", "second", "secs", "sec", "s")
_MULTIPLY_ADD = ("multiply-adds", "multiply-add", "macs", "mac", "fmas", "fma")


class NotUnderstood(ValueError):
    """An answer that is not taken for one; the message says why, in words."""


def after_prefix(word: str, nouns: tuple[str, ...], prefixes: dict[str, float]) -> float | None:
    """Return the factor of a prefix before one of some nouns: "GFLOP", "giga operations"."""
    for noun in nouns:
        if word.endswith(noun) and (prefix := word[: len(word) - len(noun)].strip(" -")) in prefixes:
            return prefixes[prefix]
    return None


def flop(word: str, number: float) -> float | None:
    """Operations; a multiply-add is two."""
    word = word.lower()
    twice = after_prefix(word, _MULTIPLY_ADD, LARGE)
    return 2 * twice if twice is not None else after_prefix(word, (*_OPERATION, ""), LARGE)


def byte(word: str, number: float) -> float | None:
    """Bytes, with prefixes of 1000 and of 1024; bits are an eighth."""
    if re.fullmatch(r"[KMGTP]i?b|b", word):
        raise NotUnderstood(f"`{word}` can be read as bits or as bytes. Write {word[:-1]}B, or bit in full.")
    low = word.lower()
    if short := re.fullmatch(r"([kmgtp]?)(i?)b?", low):
        letter, binary = short.groups()
        power = " kmgtp".index(letter) if letter else 0
        return None if binary and not letter else (1024.0 if binary else 1000.0) ** power
    prefixes = LARGE | _BINARY
    if (bits := after_prefix(low, ("bits", "bit"), prefixes)) is not None:
        return bits / 8
    return after_prefix(low, ("bytes", "byte"), prefixes)


def second(word: str, number: float) -> float | None:
    """Seconds."""
    if not word:
        return 1.0
    return 60.0 if word in ("min", "minute", "minutes") else after_prefix(word, _SECOND, _SMALL)


def intensity(word: str, number: float) -> float | None:
    """FLOP for each byte."""
    work, _, place = re.sub(r"\s+(?:per|a|for each)\s+", "/", word).partition("/")
    if word and place.strip().lower() not in ("b", "byte", "bytes"):
        return None
    return flop(work.strip(), number)


def ratio(word: str, number: float) -> float | None:
    """So many times, or percent."""
    if word in ("%", "percent"):
        return 0.01
    return 1.0 if word.lower() in ("", "x", "×", "*", "times", "fold", "-fold", ": 1", ":1") else None


def percent(word: str, number: float) -> float | None:
    """Percent; a bare number below 1 is a share."""
    if word in ("%", "percent", "per cent", "pct"):
        return 1.0
    if word:
        return None
    if number == 1:
        raise NotUnderstood("1 can be read as 1 % or as all of it. Write a percent sign behind the number.")
    return 100.0 if number < 1 else 1.0  # 0.375 and 3/8 are shares
