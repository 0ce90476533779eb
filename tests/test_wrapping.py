"""Text in lines: as many letters as a terminal has, and what must not be parted."""

import pytest

from convlab.support.tables import lines, narrowed
from convlab.support.wrapping import ANY, LEAST, columns, flowing, wrapped


def test_a_line_is_no_longer_than_the_terminal(monkeypatch):
    for there, most, room in (("80", 100, 79), ("200", 100, 100), ("5", 100, LEAST), ("200", ANY, 199)):
        monkeypatch.setenv("COLUMNS", there)
        assert columns(most) == room


@pytest.mark.parametrize("together", ["25 %", "6.89 MiB", "231 MFLOP", "3 × 4", "70 %,"])
def test_a_number_keeps_its_unit(together):
    for width in range(8, 30):
        assert together in wrapped(f"it may well be {together} of all that is there", width)


def test_a_name_with_hyphens_and_a_path_stay_whole():
    path = "/a/path-that-is-longer/than-the-line"
    assert wrapped(f"see {path} there", 20, "  ", "    ").split("\n") == ["  see", f"    {path}", "    there"]


def test_a_paragraph_is_one_line():
    assert flowing("\n    a b\n    c\n\n\n    d\n") == "a b c\n\nd"


def test_the_widest_columns_give_way():
    assert narrowed([3, 30, 10], 60) == [3, 30, 10]
    assert narrowed([3, 30, 10], 28) == [3, 15, 10]
    assert narrowed([30, 30], 28) == [14, 14]


def test_a_table_keeps_its_columns_in_few_letters():
    rows = [
        ("name", "n", "what"),
        ("one", "12", "more than there is room for"),
        ("two", "3", "a_very_long_word"),
    ]
    assert lines(rows, right=(1,), width=20) == [
        "name   n  what",
        "one   12  more than",
        "          there is",
        "          room for",
        "two    3  a_very_lon",
        "          g_word",
    ]
    assert max(map(len, lines(rows))) > 30  # in a pipe a row is a line
