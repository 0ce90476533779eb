"""A number as people type it: what is understood, and what is refused, in words."""

import pytest
from effort import examples, in_turns
from hypothesis import given, settings
from hypothesis import strategies as st

from convlab.interview.kinds import KINDS
from convlab.interview.reading import LONGEST, read
from convlab.interview.sentences import NotUnderstood
from convlab.interview.units import (
    BYTE,
    FLOP,
    INTENSITY,
    PERCENT,
    RATIO,
    SECOND,
    SIDE,
    count,
)

ROW = count("row")
MIB = 1024**2

UNDERSTOOD = [
    *((text, FLOP, 1.2e9) for text in ("1.2e9", "1.2E+9", "1.2 G", "1.2G", "1,200,000,000", "1.2 GFLOP")),
    *((text, FLOP, 1.2e9) for text in ("1.2 GFLOPs", "1.2 gflop", "1200 MFLOP", "1.2 billion", "1.2 bn")),
    *((text, FLOP, 1.2e9) for text in ("1 200 000 000", "1_200_000_000", "1'200'000'000", "1.200.000.000")),
    *((text, FLOP, 1.2e9) for text in ("1.2x10^9", "1.2 × 10⁹", "1.2·10^9", "1.2*10**9", "12e8", "0.6 GMAC")),
    *((text, FLOP, 1.2e9) for text in ("~1.2e9", "about 1.2 G", "≈ 1.2G", "= 1.2e9", "+1.2e9", "1,2 G")),
    *((text, FLOP, 1.2e9) for text in ("1.2 giga operations", "600 M multiply-adds", "1.2\u00a0GFLOP.")),
    *((text, FLOP, 1.2e9) for text in ("600 M mult-adds", "600M MAdds", "0.6 GMADs", "600 M multiply adds")),
    *((text, FLOP, 1.2e9) for text in ("0.6 G multiply-accumulates", "1.2 G floating-point operations")),
    ("10⁹", FLOP, 1e9),
    ("2^30", FLOP, 2.0**30),
    ("1,234.5", FLOP, 1234.5),
    ("1.234,5", FLOP, 1234.5),
    ("0,125", FLOP, 0.125),
    *((text, BYTE, 3.5 * MIB) for text in ("3.5 MiB", "3.5MiB", "3.5 mib", "3,5 MiB", "3584 KiB", "3670016")),
    *(
        (text, BYTE, 3.5 * MIB)
        for text in ("3670016 bytes", "3.5 mebibytes", "28 Mibit", "7/2 MiB", "3.5 Mi")
    ),
    *((text, BYTE, 3.5e6) for text in ("3.5 MB", "3.5 mb", "3500 kB", "28 Mbit", "3.5 megabytes", "3.5M")),
    *(
        (text, SECOND, 0.012)
        for text in ("12 ms", "12ms", "0.012 s", "12e-3", "12000 µs", "12000 us", "0,012")
    ),
    *((text, SECOND, 0.012) for text in ("12 milliseconds", "12 msec", "12 000 000 ns", "0.0002 minutes")),
    *((text, INTENSITY, 4.5) for text in ("4.5", "9/2", "4.5 FLOP/byte", "4.5 FLOPs per byte", "4.5 flop/B")),
    *((text, INTENSITY, 4.5) for text in ("2.25 MAC/byte", "4,5 operations a byte")),
    *((text, RATIO, 2.25) for text in ("9/4", "2.25", "2,25", "2.25x", "2.25 ×", "2.25 times", "225 %")),
    *((text, RATIO, 2.25) for text in ("2.25 times as large", "2.25 times as many", "9/4 times fewer")),
    *((text, PERCENT, 37.5) for text in ("37.5", "37.5 %", "37,5%", "0.375", "3/8", "37.5 percent")),
    ("100 %", PERCENT, 100),
    *((text, ROW, 112) for text in ("112", "112 rows", "112.", "112 row", "0.112 k")),
    *((text, ROW, 12_544) for text in ("12,544", "12,544 rows", "about 12,544 Rows.")),  # 12.544 is no count
    *((text, SIDE, -1) for text in ("memory", "Memory-bound", "memory bound.", "bandwidth")),
    ("memory-bandwidth bound", SIDE, -1),
    *((text, KINDS["bank_passes"].unit, 4) for text in ("4 passes", "4-way", "4-way bank conflict")),
    *((text, KINDS["halo_rows"].unit, 6) for text in ("6 rows", "6 lines")),
    *((text, SIDE, 1) for text in ("arithmetic", "COMPUTE", "compute-bound")),
    ("0", ROW, 0),
]


@pytest.mark.parametrize(("text", "unit", "value"), UNDERSTOOD)
def test_understood(text, unit, value):
    assert read(text, unit).value == pytest.approx(value, rel=1e-12)


HALF = [  # half a step of the last digit
    *(("4.93 MiB", BYTE, 0.005 * MIB), ("4.90 MB", BYTE, 5e3), ("4.9e6", BYTE, 5e4), ("4,9 MB", BYTE, 5e4)),
    *(("147,456", ROW, 0.5), ("147,000", ROW, 500), ("about 5000", FLOP, 500), ("5000.0", FLOP, 0.05)),
    *(("1.2x10^9", FLOP, 5e7), ("0.5 GMAC", FLOP, 1e8), (".25 ms", SECOND, 5e-6), ("12 %", PERCENT, 0.5)),
    *(("0.375", PERCENT, 0.05), ("3/8", PERCENT, 0), ("2^20", BYTE, 0), ("memory", SIDE, 0)),
]


@pytest.mark.parametrize(("text", "unit", "half"), HALF)
def test_how_finely_a_number_was_written(text, unit, half):
    assert read(text, unit).half == pytest.approx(half, rel=1e-12)


REFUSED = [
    *(("", FLOP, "Nothing was typed"), ("  \t ", FLOP, "Nothing was typed"), ("\u00a0", FLOP, "Nothing")),
    ("1,200", FLOP, "can be read as 1200 or as 1.200"),
    ("12,544 k rows", ROW, "can be read as 12544 or as 12.544"),
    ("12,544e3 rows", ROW, "can be read as 12544 or as 12.544"),
    ("12,544/2", ROW, "can be read as 12544 or as 12.544"),
    ("1,20,000", FLOP, "stand at no place"),
    ("1.2.3", FLOP, "stand at no place"),
    ("-5", FLOP, "below zero"),
    ("−5 ms", SECOND, "below zero"),
    *((text, FLOP, "no number that can be right") for text in ("nan", "NaN GFLOP", "inf", "-inf", "∞")),
    ("1e999", FLOP, "larger than any number"),
    ("1e99999999999", FLOP, "larger than any number"),
    ("9^9999", FLOP, "larger than any number"),
    ("10^99999999", FLOP, "larger than any number"),
    ("1/0", RATIO, "over zero"),
    ("9" * (LONGEST + 1), FLOP, f"a text of {LONGEST + 1} characters"),
    ("<script>alert(1)</script>", FLOP, "does not begin with a number"),
    ("5 <b>", FLOP, "no unit that is known"),
    ("many", FLOP, "does not begin with a number"),
    ("2 * 3", FLOP, "no unit that is known"),
    ("1-2", ROW, "no unit that is known"),
    ("1 2", ROW, "no unit that is known"),
    ("12 m", SECOND, "no unit that is known"),
    ("3 parsecs", SECOND, "no unit that is known"),
    ("3.5 Mb", BYTE, "bits or as bytes"),
    ("3 b", BYTE, "bits or as bytes"),
    ("1.2 B", FLOP, "a billion or as bytes"),
    ("12 ms", BYTE, "`ms` measures time; asked is memory"),
    ("12 MiB", SECOND, "`MiB` measures memory; asked is time"),
    ("12 GFLOP", BYTE, "measures work; asked is memory"),
    ("12 GFLOP/s", FLOP, "is a speed; asked is work"),
    ("12 bytes", ROW, "measures memory; asked is a count of rows"),
    ("12 FLOP/byte", FLOP, "measures work for each byte; asked is work"),
    ("1", PERCENT, "1 % or as all of it"),
    ("left or right", SIDE, "none of the words asked for"),
    ("5", SIDE, "none of the words asked for"),
    ("\x00", FLOP, "does not begin"),
    ("½", RATIO, "does not begin"),
    ("١٢", FLOP, "does not begin"),
]


@pytest.mark.parametrize(("text", "unit", "said"), REFUSED)
def test_refused_in_words(text, unit, said):
    with pytest.raises(NotUnderstood) as refusal:
        read(text, unit)
    assert said in str(refusal.value)
    assert len(str(refusal.value)) < 200


@in_turns
@settings(max_examples=examples(400), deadline=None)
@given(st.text(max_size=30) | st.from_regex(r"[0-9.,'_ eExX*^/%kKMGTiBbms-]{0,20}", fullmatch=True))
def test_any_text_is_a_finite_number_or_refused_in_words(text):
    for unit in (FLOP, BYTE, SECOND, INTENSITY, RATIO, PERCENT, ROW, SIDE):
        try:
            value = read(text, unit).value
        except NotUnderstood as refusal:
            value = 0.0 if str(refusal).strip() else None
        assert value is not None
        assert -1 <= value < 1e25


@settings(max_examples=examples(200), deadline=None)
@given(st.floats(1e-6, 1e15), st.integers(0, 4))
def test_what_python_writes_is_read_as_it_is(number, digits):
    assert read(repr(number), FLOP).value == pytest.approx(number, rel=1e-15)  # a power of ten is taken out
    whole = int(number)
    if whole >= 10**6:
        assert read(f"{whole:,}", FLOP).value == whole
        assert read(f"{whole:,}.{'5' * digits}", FLOP).value == pytest.approx(whole, rel=1e-6)
