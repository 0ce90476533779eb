"""Whether an answer to a drill is right, and if not, which slip it looks like."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from convlab.interview.kind import SLACK, near
from convlab.interview.reading import Typed, read
from convlab.interview.sentences import SENTENCES, NotUnderstood
from convlab.lessons.note import Note

if TYPE_CHECKING:
    from convlab.interview.drills import Drill

ALIKE = 0.1  # an answer so near to a slip, relative to it, is taken for it; nearer, where the drill is
# In a right answer a slip is named only if it was worked out, not estimated, and is not the answer rounded.
FINE = 0.005  # its last digit's half step at most, relative to it: three digits or more
CLEAR = 10  # more half steps than that lie between it and the right answer


class Judged(NamedTuple):
    """What was read in an answer, and what is said of it.

    Attributes
    ----------
    value : float or None
        The number, in the drill's unit; None if it was not understood.
    slip : str
        The name of the slip that it looks like, or "". A right answer may have one, too: a small one.
    note : Note
    """

    value: float | None
    slip: str
    note: Note


def judged(drill: Drill, text: str) -> Judged:
    """Judge an answer as it was typed."""
    unit = drill.about.unit
    try:
        typed = read(text, unit)
    except NotUnderstood as error:
        asked = unit.request(drill.tolerance)
        return Judged(None, "", Note(None, SENTENCES["not judged"], f"{error} {asked}"))
    value = typed.value
    said = unit.text(value)
    slip = next((one for one in drill.small_slips if comes_of(typed, one.value, drill.value)), None)
    if near(value, drill.value, drill.tolerance):
        how = SENTENCES["exactly" if value == drill.value else "near enough"]
        body = SENTENCES["it is"].format(said=said, answer=unit.text(drill.value), how=how)
        if slip is not None:
            body += " " + SENTENCES["small slip"].format(slip=slip.name, hint=slip.hint)
        note = Note(True, SENTENCES["right"], body, code="\n".join(drill.steps))
        return Judged(value, slip.name if slip else "", note)
    band = min(drill.tolerance, ALIKE)
    slip = slip or next((one for one in drill.slips if near(value, one.value, band)), None)
    if slip is None:
        too = SENTENCES["much" if value > drill.value else "little"]
        body = SENTENCES["too far"].format(said=said, too=too)
        return Judged(value, "", Note(False, SENTENCES["wrong"], body))
    diagnosis = SENTENCES["slip"].format(said=said, slip=slip.name, hint=slip.hint)
    return Judged(value, slip.name, Note(False, SENTENCES["wrong"], diagnosis=diagnosis))


def comes_of(typed: Typed, slip: float, answer: float) -> bool:
    """Return whether a number is a slip's value to its last digit, and clearly not the answer's."""
    worked_out = typed.half <= FINE * typed.value
    fits = abs(typed.value - slip) <= typed.half + SLACK * abs(slip)
    whole = near(typed.value, slip, 0)  # 153,600 where the slip is 153,600: these zeros are no rounding
    return worked_out and fits and abs(typed.value - answer) > (1 if whole else CLEAR) * typed.half
