"""Whether an answer to a drill is right, and if not, which slip it looks like."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from convlab.interview.kind import near
from convlab.interview.reading import read
from convlab.interview.sentences import SENTENCES, NotUnderstood
from convlab.lessons.note import Note

if TYPE_CHECKING:
    from convlab.interview.drills import Drill

ALIKE = 0.1  # an answer so near to a slip, relative to it, is taken for it; nearer, where the drill is


class Judged(NamedTuple):
    """What was read in an answer, and what is said of it.

    Attributes
    ----------
    value : float or None
        The number, in the drill's unit; None if it was not understood.
    slip : str
        The name of the slip that it looks like, or "".
    note : Note
    """

    value: float | None
    slip: str
    note: Note


def judged(drill: Drill, text: str) -> Judged:
    """Judge an answer as it was typed."""
    unit = drill.about.unit
    try:
        value = read(text, unit)
    except NotUnderstood as error:
        asked = unit.request(drill.tolerance)
        return Judged(None, "", Note(None, SENTENCES["not judged"], f"{error} {asked}"))
    said = unit.text(value)
    if near(value, drill.value, drill.tolerance):
        how = SENTENCES["exactly" if value == drill.value else "near enough"]
        body = SENTENCES["it is"].format(said=said, answer=unit.text(drill.value), how=how)
        return Judged(value, "", Note(True, SENTENCES["right"], body, code="\n".join(drill.steps)))
    band = min(drill.tolerance, ALIKE)
    slip = next((one for one in drill.slips if near(value, one.value, band)), None)
    if slip is None:
        too = SENTENCES["much" if value > drill.value else "little"]
        body = SENTENCES["too far"].format(said=said, too=too)
        return Judged(value, "", Note(False, SENTENCES["wrong"], body))
    diagnosis = SENTENCES["slip"].format(said=said, slip=slip.name, hint=slip.hint)
    return Judged(value, slip.name, Note(False, SENTENCES["wrong"], diagnosis=diagnosis))
