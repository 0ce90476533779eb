"""What the clock of a task says in words: the figure that ticks, and the notes beside it, say the same."""

from __future__ import annotations

SENTENCES = {
    "left": "{time} of {whole} minutes left",
    "over": "{time} over {whole} minutes",
    "paused": "{said}, paused",
    "ended": "{stands} after {time} of {whole} minutes",
}
RUNS, STOPPED = "running", "paused"
ENDS = ("solved", "given up")  # how it may stand for good


def clock_text(seconds: float) -> str:
    """Return a duration as a clock shows it: '7:05', '1:00:00'."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def clock_words(used: float, stands: str, minutes: float) -> str:
    """Return what a clock shows.

    Parameters
    ----------
    used : float
        Seconds that have passed on it.
    stands : str
        "running", "paused", "solved" or "given up".
    minutes : float
        How long one has.
    """
    whole, left = clock_text(60 * minutes), 60 * minutes - used
    if stands in ENDS:
        return SENTENCES["ended"].format(stands=stands, time=clock_text(used), whole=whole)
    shown = SENTENCES["left" if left >= 0 else "over"].format(time=clock_text(abs(left)), whole=whole)
    return SENTENCES["paused"].format(said=shown) if stands == STOPPED else shown
