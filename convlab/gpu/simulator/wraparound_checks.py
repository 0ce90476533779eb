"""What `wraparound_rewrite` asks while a kernel runs: which numbers have wrapped below zero and were used."""

from __future__ import annotations

import sys
from dataclasses import dataclass

import numpy as np

from convlab.gpu.simulator.errors import FRACTION, WRAPPED, Mistake

_WORD, _LONG, _SMALL = (1 << 32) - 1, (1 << 64) - 1, 1 << 31


@dataclass(frozen=True)
class Wrap:
    """A number that came out below zero: its place, how it is written, and what it would be."""

    path: object
    instruction: int
    text: str
    number: int


class Fraction(float):
    """A floating-point number that is no key of an array, though it be whole."""

    __hash__ = object.__hash__

    def __eq__(self, other):
        return self is other


class WraparoundChecks:
    """The wraps of the threads of one launch; a `Lane` keeps its own."""

    def __init__(self, simulation):
        self._simulation = simulation

    def wraps(self, number, text: str, limit: int):
        """Return what a number outside of its type is on the device; remember one that is just below zero."""
        if not isinstance(number, int):
            return number
        if -_SMALL < number < 0:  # hashes go further down, most of the time
            self._keep(number, text, sys._getframe(1).f_lasti, number & _WORD, number & _LONG)
        return number & limit

    def sinks(self, number, text: str):
        """Return a number below zero that is signed, though it was subtracted from an unsigned one."""
        self._keep(number, text, sys._getframe(1).f_lasti, number)
        return number

    def _keep(self, number, text, instruction, *results):
        simulation = self._simulation
        wraps = simulation.lane.__dict__.setdefault("wraps", {})
        for result in results:
            if result not in wraps or wraps[result].text != text:  # the first place is often a guard
                wraps[result] = Wrap(simulation.path, instruction, text, number)

    def bound(self, number, test: int):
        """Return a number that others are held against, having looked whether it wrapped."""
        lane = self._simulation.lane
        lane.suspect = test, lane.wraps.get(number)
        return number

    def passes(self, test: int) -> None:
        """An access is next that a test let through: it must not be for a bound that wrapped."""
        asked, wrap = self._simulation.lane.suspect
        if asked == test and wrap:
            self._note(wrap, "and lets through what this bound should have stopped")

    def rounds(self, number):
        """Return an end of a `range`, having looked whether it wrapped."""
        if isinstance(number, float | np.floating):
            text = f"range() goes round {number} times: it takes whole numbers (/ makes a float; // does not)"
            self._simulation.stop(FRACTION, text)
        wrap = self._simulation.lane.wraps.get(number)
        if wrap:
            self._note(wrap, "and a loop goes round as often")
        return number

    def index(self, number):
        """Return an index; a floating-point number such that no array takes it for a whole one."""
        return Fraction(number) if isinstance(number, float) else number

    def beyond(self, number) -> None:
        """An index was out of bounds: say so if it comes from a number that wrapped."""
        wrap = self._simulation.lane.wraps.get(number)
        if wrap:
            self._note(wrap, "and is an index", signed=number < 0)

    def _note(self, wrap, effect, signed=False):
        simulation = self._simulation
        becomes = f"as an unsigned number it is {wrap.number & _WORD} (of 32 bits)"
        if signed:
            becomes = "a literal makes it a signed number, which no upper bound stops"
        who = f"(thread {simulation.lane.index}, block {simulation.block_index})"
        text = f"{wrap.text} is {wrap.number}: {becomes}, {effect} {who}"
        place = simulation.place(wrap.path, wrap.instruction)
        other = simulation.place(simulation.path, simulation.instruction())
        where = simulation.block_index, simulation.lane.index
        simulation.mistakes.add(Mistake(WRAPPED, text, place, other, "", (), *where))
