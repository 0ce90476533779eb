"""The state of a widget: traits that the page shares, each of which says what it may be.

What the reader turns is tagged as `turned`: a step sets it, and a link to the widget's state holds it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import traitlets

from convlab.errors import ParameterError
from convlab.support.checks import LARGEST, check_choice, check_whole, said


def as_word(name: str, number, words: Iterable[str]) -> str:
    """Return a whole number as one of a few words, as a `Choice` has it."""
    number = check_whole(name, number, 0, LARGEST)
    if str(number) not in words:
        raise ParameterError(f"{name}={number}; expected one of {', '.join(words)}")
    return str(number)


class Whole(traitlets.Int):
    """A trait, shared with the page, for a whole number from `least` to `most`."""

    def __init__(self, least: int, most: int, default: int):
        self.least, self.most = least, most
        super().__init__(default)
        self.tag(sync=True, turned=True)

    def validate(self, obj, value):
        """Return `value`, or say which argument is wrong and what it may be."""
        return check_whole(self.name, value, self.least, self.most)

    def limits(self) -> dict[str, list]:
        """Return, for the page, the least and the most."""
        return {self.name: [self.least, self.most]}


class Wholes(traitlets.Dict):
    """A trait, shared with the page, for whole numbers by their names, each from a least to a most."""

    def __init__(self, ranges: Mapping[str, tuple[int, int]]):
        self.ranges = dict(ranges)
        super().__init__({name: least for name, (least, _) in ranges.items()})
        self.tag(sync=True, turned=True)

    def validate(self, obj, value):
        """Return `value`, or say which of its numbers is wrong and what it may be."""
        if not isinstance(value, Mapping) or value.keys() != self.ranges.keys():
            raise ParameterError(f"{self.name}={said(value)}; expected a dict of {', '.join(self.ranges)}")
        return {
            name: check_whole(f"{self.name}[{name!r}]", value[name], *between)
            for name, between in self.ranges.items()
        }

    def limits(self) -> dict[str, list]:
        """Return, for the page, the least and the most of each number."""
        return {f"{self.name}.{name}": list(between) for name, between in self.ranges.items()}


class Choice(traitlets.Unicode):
    """A trait, shared with the page, for one of a few words."""

    def __init__(self, words: tuple[str, ...], default: str | None = None):
        self.words = words
        super().__init__(words[0] if default is None else default)
        self.tag(sync=True, turned=True)

    def validate(self, obj, value):
        """Return `value`, or say which argument is wrong and what it may be."""
        return check_choice(self.name, value, self.words)

    def limits(self) -> dict[str, list]:
        """Return, for the page, the words."""
        return {self.name: list(self.words)}


class Switch(traitlets.Bool):
    """A trait, shared with the page, for True or False."""

    def __init__(self):
        super().__init__(False)
        self.tag(sync=True, turned=True)

    def validate(self, obj, value):
        """Return `value`, or say which argument is wrong."""
        if not isinstance(value, bool):
            raise ParameterError(f"{self.name}={said(value)}; expected True or False")
        return value
