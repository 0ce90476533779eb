"""The words that stand behind a number, by which people write units and their prefixes.

Each function is told a word and the number before it, and returns what that number is multiplied by: 2e9 for
"GMAC" where FLOP are asked, 1024² for "MiB". None: it is no word of this unit. The word of a bare number is
empty. What can be read in two ways is refused, in words.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from convlab.interview.sentences import NotUnderstood

LARGE = {
    **dict.fromkeys(("k", "kilo", "thousand"), 1e3),
    **dict.fromkeys(("m", "mega", "million", "millions", "mio", "mn"), 1e6),
    **dict.fromkeys(("g", "giga", "billion", "billions", "bn", "mrd"), 1e9),
    **dict.fromkeys(("t", "tera", "trillion", "trillions"), 1e12),
    **dict.fromkeys(("p", "peta"), 1e15),
    "": 1.0,
}
BINARY = {
    **dict.fromkeys(("ki", "kibi"), 1024.0),
    **dict.fromkeys(("mi", "mebi"), 1024.0**2),
    **dict.fromkeys(("gi", "gibi"), 1024.0**3),
    **dict.fromkeys(("ti", "tebi"), 1024.0**4),
    **dict.fromkeys(("pi", "pebi"), 1024.0**5),
}
SMALL = {"m": 1e-3, "milli": 1e-3, "µ": 1e-6, "u": 1e-6, "micro": 1e-6, "n": 1e-9, "nano": 1e-9, "": 1.0}
OPERATION = (
    *("operations", "operation", "flops", "flop", "ops", "op"),
    *("floating-point operations", "floating point operations"),
)
SECOND = ("seconds", "second", "secs", "sec", "s")
MULTIPLY_ADD = (
    *("multiply-adds", "multiply-add", "multiply adds", "mult-adds", "mult-add", "madds", "madd"),
    *("multiply-accumulates", "multiply-accumulate", "macs", "mac", "mads", "mad", "fmas", "fma"),
)
MINUTE = ("minutes", "minute", "min")
BYTE, BIT = ("bytes", "byte"), ("bits", "bit")
TIMES = (
    *("", "x", "×", "*", "times", "fold", "-fold", ": 1", ":1"),
    *("times as large", "times as much", "times as many", "times fewer", "times less"),
)
SPEED = ("/s", "per second", "/sec")
PERCENT = ("%", "percent", "per cent", "pct")
# Patterns, as JavaScript reads them, too.
BITS_OR_BYTES = "[KMGTP]i?b|b"
SHORT_BYTES = "[kmgtp]?i?b?"
PER = " +(?:per|a|for each) +"


def after_prefix(word: str, nouns: Iterable[str], prefixes: dict[str, float]) -> float | None:
    """Return the factor of a prefix before one of some nouns: "GFLOP", "giga operations"."""
    for noun in nouns:
        if word.endswith(noun) and (prefix := word[: len(word) - len(noun)].strip(" -")) in prefixes:
            return prefixes[prefix]
    return None


def flop(word: str, number: float) -> float | None:
    """Operations; a multiply-add is two."""
    word = word.lower()
    twice = after_prefix(word, MULTIPLY_ADD, LARGE)
    return 2 * twice if twice is not None else after_prefix(word, (*OPERATION, ""), LARGE)


def byte(word: str, number: float) -> float | None:
    """Bytes, with prefixes of 1000 and of 1024; bits are an eighth."""
    if re.fullmatch(BITS_OR_BYTES, word):
        raise NotUnderstood("bits or bytes", word=word, letter=word[:-1])
    low, prefixes = word.lower(), LARGE | BINARY
    if re.fullmatch(SHORT_BYTES, low):
        return prefixes.get(low.removesuffix("b"))
    bits = after_prefix(low, BIT, prefixes)
    return bits / 8 if bits is not None else after_prefix(low, BYTE, prefixes)


def second(word: str, number: float) -> float | None:
    """Seconds."""
    if not word:
        return 1.0
    return 60.0 if word in MINUTE else after_prefix(word, SECOND, SMALL)


def intensity(word: str, number: float) -> float | None:
    """FLOP for each byte."""
    work, _, place = re.sub(PER, "/", word).partition("/")
    if word and place.strip().lower() not in ("b", *BYTE):
        return None
    return flop(work.strip(), number)


def thing(nouns: Iterable[str], word: str, number: float) -> float | None:
    """Whole things, by what they are called."""
    return after_prefix(word.lower(), nouns, LARGE)


def ratio(word: str, number: float) -> float | None:
    """So many times, or percent."""
    return 0.01 if word in PERCENT else 1.0 if word.lower() in TIMES else None


def percent(word: str, number: float) -> float | None:
    """Percent; a bare number below 1 is a share."""
    if word in PERCENT:
        return 1.0
    if word:
        return None
    if number == 1:
        raise NotUnderstood("percent or all")
    return 100.0 if number < 1 else 1.0  # 0.375 and 3/8 are shares
