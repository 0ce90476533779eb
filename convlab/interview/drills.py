"""`drill`: a question with fresh numbers, its answer, and the arithmetic that leads there."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from random import Random
from typing import Annotated
from zlib import crc32

from convlab.interview.judge import Judged, judged
from convlab.interview.kind import Kind, Slip, told_apart, too_small
from convlab.interview.kinds import KINDS
from convlab.interview.slips import of_unit
from convlab.lessons.note import Note
from convlab.support.checked import checked
from convlab.support.checks import check_choice, check_whole

MOST = 2**63 - 1


@dataclass(frozen=True, repr=False)
class Drill:
    """A question to answer in the head.

    Attributes
    ----------
    kind : str
        A name of `KINDS`.
    seed : int
    question : str
        With the unit, and how exact the answer must be.
    answer : float or str
        In `unit`; a word where words are asked for.
    value : float
        The answer as a number, for words too.
    unit : str
    tolerance : float
        How far from the answer counts as right, relative to it; 0: exactly.
    steps : tuple of str
        The arithmetic, a line for each step.
    slips : tuple of Slip
        The mistakes that `judge` knows by name.
    small_slips : tuple of Slip
        Those that the tolerance lets pass; `judge` names one where an answer is its value to the last digit.
    """

    kind: str
    seed: int
    question: str
    value: float
    unit: str
    tolerance: float
    steps: tuple[str, ...]
    slips: tuple[Slip, ...]
    small_slips: tuple[Slip, ...]

    @property
    def answer(self) -> float | str:
        """The answer: a number in `unit`, or a word."""
        unit = self.about.unit
        return unit.text(self.value) if unit.choices else self.value

    @property
    def about(self) -> Kind:
        """The kind itself."""
        return KINDS[self.kind]

    @property
    def name(self) -> str:
        """What it is remembered by: no other drill has it."""
        return f"drill {self.kind} {self.seed}"

    @checked
    def judge(self, text: str) -> Note:
        """Say whether an answer is right.

        Parameters
        ----------
        text : str
            As people write it: 1.2e9, 1.2 G, 1,200,000,000, 3.5 MiB, 9/4.

        Returns
        -------
        Note
            `good` is None if the text is not understood; `body` says why. `diagnosis` names the slip.
        """
        return self.verdict(text).note

    def verdict(self, text: str) -> Judged:
        """Return the same with the number that was read, and the name of the slip."""
        return judged(self, text)

    def __repr__(self) -> str:
        return self.question


@checked
def drill(
    kind: Annotated[str, partial(check_choice, words=KINDS)],
    seed: Annotated[int, partial(check_whole, least=0, most=MOST)],
) -> Drill:
    """Return a drill: the same for the same seed, and another for the next.

    Parameters
    ----------
    kind : str
        A name of `KINDS`, e.g. "flops".
    seed : int

    Examples
    --------
    >>> one = drill("output_size", 1)
    >>> one.judge(str(one.answer)).good
    True
    """
    about, random = KINDS[kind], Random(f"{kind} {int(seed)}")
    # Of two neighbouring seeds one takes questions of an even checksum, the other those of an odd one.
    while crc32((asked := about.ask(random)).question.encode()) % 2 != seed % 2:
        pass
    tolerance = about.tolerance_of(asked.answer)
    slips = [*asked.slips, *of_unit(about.unit, asked.answer)]
    return Drill(
        kind=kind,
        seed=int(seed),
        question=f"{asked.question} {about.unit.request(tolerance)}",
        value=asked.answer,
        unit=about.unit.name,
        tolerance=tolerance,
        steps=asked.steps,
        slips=told_apart(asked.answer, tolerance, slips),
        small_slips=too_small(asked.answer, tolerance, slips),
    )
