"""What a kernel runs before a notebook that is only tested: its times say nothing there, so few are taken.

Other tests run beside it. Nothing is timed more than three times, or again because the times disagree, roofs
take a quarter of their rounds, and no call is made only to warm up; all outputs are checked as ever.
`tests/notebook_tools.py` gives it to a kernel.
"""

import math

from convlab.auto import autotune, disturbance, roofs, timing

MOST_ROUNDS = 3


def few_turns(timers, rounds=MOST_ROUNDS, *, all_turns=timing.take_turns, **options):
    """Call every timer a few times."""
    return all_turns(timers, min(rounds, MOST_ROUNDS), **options | {"budget": 0.0})


def seconds_at_once(call, warm=0, threads=1, *, seconds_of=timing.seconds_of):
    """Return the seconds of a call that none comes before."""
    return seconds_of(call, 0, threads)


def quick_roofs(cls, quick=True, *, here=roofs.Roofs.here, **options):
    """Measure the roofs in a quarter of the rounds."""
    return here(quick=True, **options)


timing.OPEN = math.inf
timing.seconds_of = seconds_at_once
timing.take_turns = autotune.take_turns = few_turns
disturbance.LONGEST_REST = 0.0
roofs.Roofs.here = classmethod(quick_roofs)
