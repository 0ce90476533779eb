"""The drills: a thousand of each kind, answered from their own words, and the slips that have a name."""

import re
from fractions import Fraction

import pytest
from drill_solver import plainly, solve
from effort import sampled

from convlab import ConvError
from convlab.gpu.occupancy import MOST_REGISTERS, REGISTERS
from convlab.interview import KINDS, drill
from convlab.interview.kind import near
from convlab.interview.units import BYTE, FLOP, INTENSITY, PERCENT, RATIO, SECOND
from convlab.lessons.course import chapters

BLOCK = 100
BLOCKS = [(kind, first) for kind in KINDS for first in range(0, 10 * BLOCK, BLOCK)]
ROUNDED = {"ridge_point": 0.01, "roof_time": 0.01}  # their questions tell the rates with three digits


def notations(one):
    """Yield ways to write the answer of a drill."""
    value, unit = one.value, one.about.unit
    if unit.choices:
        yield from (word for word, number in unit.choices.items() if number == value)
        yield f"{one.answer.upper()}-bound."
        yield from (f"{one.answer}{end}" for end in (" limited", "-limited", " Bounded", " is the limit!"))
        return
    yield from (f"{value!r}", f" ~ {value:.12g} ", f"{value:.12e}", f"about {value:.12g}", f"= +{value:.12g}")
    mantissa, exponent = f"{value:.12e}".split("e")
    yield from (f"{mantissa}x10^{int(exponent)}", f"{mantissa} · 10**{int(exponent)}")
    if value >= 1e6 and value == int(value):
        yield from (f"{int(value):,}", f"{int(value):,}".replace(",", " "), f"{int(value):_}")
    if unit is FLOP:
        yield from (f"{value / 1e9:.12g} GFLOP", f"{value / 1e6:.12g}M", f"{value / 2e6:.12g} MMACs")
        yield from (f"{value / 1e9:.12g} billion operations", f"{value / 1e3:.12g} kflops")
    elif unit is BYTE:
        yield from (f"{value / 1024**2:.12g} MiB", f"{value / 1e6:.12g} MB", f"{value / 1e9:.12g} gigabytes")
        yield from (f"{value / 1024:.12g} KiB", f"{8 * value / 1e6:.12g} Mbit", f"{value:.12g} bytes")
    elif unit is SECOND:
        yield from (f"{value * 1e3:.12g} ms", f"{value * 1e6:.12g}µs", f"{value * 1e9:.12g} nanoseconds")
    elif unit is INTENSITY:
        yield from (f"{value:.12g} FLOP/byte", f"{value / 2:.12g} MACs per byte", f"{value:.12g} flops/B")
    elif unit is RATIO:
        exact = Fraction(value).limit_denominator(10**6)
        yield from (f"{value:.12g}x", f"{value:.12g} ×", f"{100 * value:.12g} %", f"{exact}")
    elif unit is PERCENT:
        yield from (f"{value:.12g} %", f"{value:.12g} percent")
        if value < 100:  # 1 is refused: it may be 1 %
            yield from (f"{value / 100:.12g}", f"{Fraction(value / 100).limit_denominator(10**6)}")
    else:
        yield from (f"{value:.12g} {unit.name}", f"{value / 1000:.12g} k{unit.name}", unit.text(value))
    if value % 1 and "e" not in f"{value:.12g}":
        written = f"{value:.6f}".replace(".", ",")
        if near(float(f"{value:.6f}"), value, one.tolerance):
            yield written


@sampled(len(KINDS))
@pytest.mark.parametrize(("kind", "first"), BLOCKS)
def test_a_thousand_drills_of_each_kind(kind, first):
    before = drill(kind, first + BLOCK)
    for seed in reversed(range(first, first + BLOCK)):
        one = drill(kind, seed)
        assert one.question != before.question, seed
        assert near(solve(kind, one.question), one.value, ROUNDED.get(kind, 1e-12)), one
        for text in notations(one):
            assert one.judge(text).good is True, (text, one, one.judge(text))
        for slip in one.slips:
            note = one.judge(plainly(slip.value, one))
            assert note.good is False, (slip, one)
            assert f"one who {slip.name}. {slip.hint}" in note.diagnosis, (slip, note)
            assert one.about.unit.text(one.value) not in slip.hint.split(), (slip, one)
        before = one


def test_a_thread_has_room_for_the_sums_of_its_tile():
    for seed in range(300):
        one = drill("tile_registers", seed)
        threads = int(re.search(r"block of (\d+) threads", one.question)[1])
        assert one.value < min(MOST_REGISTERS, REGISTERS / threads), one


@pytest.mark.parametrize("kind", KINDS)
def test_a_drill_is_the_same_for_its_seed_and_says_how_it_is_answered(kind):
    one, again = drill(kind, 5), drill(kind, 5)
    assert (one.question, one.value, one.steps) == (again.question, again.value, again.steps)
    assert repr(one) == one.question
    exact = one.tolerance == 0
    if not one.about.unit.choices:
        assert ("exact" in one.question) == exact
        assert (f"within {100 * one.tolerance:g} % counts as right" in one.question) != exact
    assert one.steps
    assert all(step.strip() and "\n" not in step for step in one.steps)
    drill(kind, 2**63 - 1)


@pytest.mark.parametrize("kind", KINDS)
def test_the_steps_end_in_the_answer(kind):
    for seed in range(20):
        one = drill(kind, seed)
        last = one.steps[-1].replace(",", "")
        shown = one.about.unit.text(one.value)
        numbers = [float(each) for each in re.findall(r"[\d.]*\d", last)]
        figures = [float(each) for each in re.findall(r"[\d.]*\d", shown.replace(",", ""))]
        assert shown in one.steps[-1] or any(near(each, numbers[-1], 0.01) for each in figures), one.steps


@pytest.mark.parametrize("kind", KINDS)
def test_the_limits_of_the_tolerance(kind):
    one = drill(kind, 8)
    if one.about.unit.choices:
        return
    unit = " %" if one.about.unit is PERCENT else ""
    for sign in (1, -1):
        inside = one.value * (1 + sign * 0.999 * one.tolerance)
        outside = one.value * (1 + sign * 1.001 * one.tolerance) if one.tolerance else one.value + sign
        assert one.judge(f"{inside!r}{unit}").good is True
        assert one.judge(f"{outside!r}{unit}").good is False


def test_small_counts_are_exact():
    drawn = [drill("parameters", seed) for seed in range(200)]
    assert {one.tolerance == 0 for one in drawn} == {True, False}
    assert all((one.tolerance == 0) == (one.value < 1000) for one in drawn)


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ("flops", "counts a multiply-add as one operation"),
        ("flops", "forgets the batch"),
        ("flops", "forgets the groups"),
        ("flops", "takes the stride along one axis only"),
        ("output_size", "rounds the output size up"),
        ("output_size", "forgets the padding"),
        ("im2col_bytes", "counts numbers, not bytes"),
        ("im2col_bytes", "counts bits"),
        ("im2col_bytes", "is a step of the prefixes off"),
        ("im2col_ratio", "turns the ratio round"),
        ("table_bytes", "takes MB for MiB"),
        ("table_bytes", "takes kB for KiB"),
        ("table_bytes", "makes a table for each picture"),
        ("winograd_saving", "forgets that tiles hang over the edge"),
        ("halo_rows", "counts one side only"),
        ("sectors", "forgets where the first lane begins"),
        ("occupancy", "looks at the threads alone"),
        ("roof_time", "takes the shorter of two times"),
        ("wire_bytes", "goes round once"),
    ],
)
def test_the_usual_slips_are_known(kind, name):
    """Where a slip is told apart from the answer it is known; among forty drills there is one."""
    assert any(slip.name == name for seed in range(40) for slip in drill(kind, seed).slips)


def test_mib_for_mb_is_seen_in_what_is_typed():
    one = next(one for seed in range(99) if (one := drill("table_bytes", seed)).value > 2 * 1024**2)
    note = one.judge(f"{one.value / 1e6:.9g} MiB")
    assert note.good is False
    assert "takes MB for MiB" in note.diagnosis
    assert one.judge(f"{one.value / 1e6:.9g} MB").good is True


def typed(value, one, digits):
    """Return a value with some digits, as somebody types it who has worked it out."""
    return f"{value:.{digits - 1}e}" + (" %" if one.about.unit is PERCENT else "")


NAMED = [kind for kind in KINDS if any(drill(kind, seed).small_slips for seed in range(20))]


@pytest.mark.parametrize("kind", NAMED)
def test_a_slip_that_the_tolerance_lets_pass_is_named_by_its_digits(kind):
    for seed in range(100):
        one = drill(kind, seed)
        for slip in one.small_slips:
            inside = abs(slip.value - one.value) < 0.999 * one.tolerance * one.value
            said = one.verdict(typed(slip.value, one, 12))
            same = [each.name for each in one.small_slips if near(each.value, slip.value, 1e-9)]
            assert said.slip == same[0], (one, slip, said)
            assert said.note.good is True or not inside
            assert one.verdict(typed(slip.value, one, 2)).slip == "" or not inside


@pytest.mark.parametrize("kind", KINDS)
def test_the_answer_rounded_or_estimated_is_never_taken_for_a_slip(kind):
    if KINDS[kind].unit.choices:
        return
    for seed in range(100):
        one = drill(kind, seed)
        for digits in range(1, 12):
            said = one.verdict(typed(one.value, one, digits))
            assert not (said.note.good and said.slip), (one, digits, said)
        for percent in range(76, 125):  # whoever estimates writes a digit or two
            said = one.verdict(typed(one.value * percent / 100, one, 2))
            assert not (said.note.good and said.slip), (one, percent, said)


def layer_of(kind, fits):
    return next(one for seed in range(999) if fits(one := drill(kind, seed)))


def test_a_forgotten_bias_and_mb_for_mib_are_named_though_they_are_near_enough():
    one = layer_of("parameters", lambda one: "with a bias" in one.question and one.value > 1e5)
    weights = next(slip.value for slip in one.small_slips if slip.name == "forgets the bias")
    note = one.judge(f"{weights:,.0f}")
    assert (note.good, note.code) == (True, "\n".join(one.steps))
    assert "near enough. To its last digit, though, yours is what comes out for" in note.body
    assert "one who forgets the bias." in note.body
    assert one.verdict(f"about {weights:.1e}").slip == ""
    assert one.verdict(f"{one.value:,}").slip == ""
    one = layer_of("im2col_bytes", lambda one: 2e7 < one.value < 9e7)
    for text, slip in {
        f"{one.value / 1024**2:.3g} MB": "takes MiB for MB",
        f"{one.value / 1e6:.3g} MiB": "takes MB for MiB",
        f"{one.value / 1e6:.3g} MB": "",
        f"{one.value / 1024**2:.3g} MiB": "",
        f"{one.value / 1024**2:.0g} MB": "",
    }.items():
        said = one.verdict(text)
        assert (said.note.good, said.slip) == (True, slip), (text, said)


def test_one_slip_of_the_parameters_is_no_other():
    """Filters of one tap, and of one channel, have nothing to forget there: it was the bias."""
    for seed in range(300):
        one = drill("parameters", seed)
        if "of 1 × 1" in one.question:
            assert all("taps" not in slip.name for slip in (*one.slips, *one.small_slips)), one


def test_what_is_not_understood_is_not_judged():
    one = drill("im2col_bytes", 0)
    for text, said in {
        "": "Nothing was typed.",
        "12 ms": "`ms` measures time; asked is memory.",
        "-3": "below zero",
        "<script>alert(1)</script>": "does not begin with a number",
        "9" * 500: "a text of 500 characters",
    }.items():
        note = one.judge(text)
        assert note.good is None
        assert said in note.body
        assert "Answer in bytes" in note.body
        assert "<script" not in note._repr_html_()


@pytest.mark.parametrize("text", [None, 3, 1.5, b"3", ["3"]])
def test_an_answer_is_text(text):
    with pytest.raises(ConvError, match="text"):
        drill("flops", 0).judge(text)


def test_what_there_is_to_read_is_there():
    there = {chapter.number: {*chapter.exercises, *chapter.predictions} for chapter in chapters()}
    for kind in KINDS.values():
        assert kind.read
        assert all(name in there[notebook] for notebook, name in kind.read), kind


def test_the_right_answer_shows_the_arithmetic_and_a_wrong_one_does_not():
    one = drill("flops", 3)
    assert one.judge(str(one.answer)).code == "\n".join(one.steps)
    wrong = one.judge(repr(3.3 * one.value))
    assert (wrong.good, wrong.code) == (False, "")
    assert one.about.unit.text(one.value) not in repr(wrong)
    assert "too much" in wrong.body
