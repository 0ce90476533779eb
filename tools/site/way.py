"""The way through the course: its parts, and shorter paths for those with less time.

Titles and minutes are the notebooks' own (`convlab.lessons.course`); two days before an interview are planned
by `convlab.interview.plan`, here as for somebody who has done nothing yet. Only what no file can know stands
here: where a part begins, and what one evening or one weekend should hold.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from convlab.interview.plan import days, needs
from convlab.interview.walks.show import WALKS
from convlab.lessons.course import Chapter

# The number of the notebook with which a part begins.
PARTS = {
    "00": ("On a processor", "From seven loops to the forms that libraries use."),
    "10": ("On a GPU", "Real kernels, run lane by lane. You need no GPU."),
    "15": ("Which one?", "How fast it could be, and which algorithm to take."),
    "17": ("Beyond one device", "Pictures larger than memory, and many machines."),
    "19": ("The interview", "Say it aloud, with numbers, against a clock."),
}
EVENING = ("00", "01", "02")
INTERVIEW = "19"
WEEKEND = ("00", "01", "02", "03", "05", "06", "10", "12", "15", "16")


@dataclass(frozen=True)
class Part:
    """A part of the course: its name, what it is about, and its notebooks."""

    name: str
    about: str
    chapters: tuple[Chapter, ...]


@dataclass(frozen=True)
class Path:
    """A way through some of the notebooks, in the order in which they are read."""

    name: str
    about: str
    chapters: tuple[Chapter, ...]


def parts(chapters: Sequence[Chapter]) -> list[Part]:
    """Return the parts that have notebooks."""
    begins = sorted(PARTS)
    found: dict[str, list[Chapter]] = {}
    for chapter in chapters:
        found.setdefault(max(number for number in begins if number <= chapter.number), []).append(chapter)
    return [Part(*PARTS[number], tuple(found[number])) for number in begins if number in found]


def paths(chapters: Sequence[Chapter]) -> list[Path]:
    """Return the shorter paths, those that lead anywhere."""
    by_number = {chapter.number: chapter for chapter in chapters}
    ways = (
        ("An evening", "What a convolution is, and the trade that every library makes.", EVENING),
        ("A weekend", "One notebook of each idea, on a processor and on a GPU.", WEEKEND),
        ("Two days to the interview", "What the course’s own plan has you read.", _planned(chapters)),
    )
    held = [(*said, tuple(by_number[n] for n in numbers if n in by_number)) for *said, numbers in ways]
    return [Path(name, about, way) for name, about, way in held if way]


def _planned(chapters: Sequence[Chapter]) -> list[str]:
    """Return what somebody of whom nothing is known reads in the two days, and where they are planned."""
    if INTERVIEW not in (chapter.number for chapter in chapters):  # another course than ours
        return []
    walks = [make() for make in WALKS.values()]
    queues = {
        days.READ: needs.readings([], chapters, walks),
        days.CODE: needs.tasks([]),
        days.WALK: needs.walked([], walks),
    }
    planned, _ = days.two([], queues)
    return [item.file[:2] for day in planned for _, item in day.rows if item.file] + [INTERVIEW]


def time_text(minutes: float) -> str:
    """Return minutes as a reader plans them; of more than a hundred, in hours.

    >>> time_text(43.5), time_text(174)
    ('44 min', 'about 3 h')
    """
    return f"{minutes:.0f} min" if minutes < 100 else f"about {minutes / 60:.0f} h"
