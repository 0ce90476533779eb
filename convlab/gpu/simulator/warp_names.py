"""What the lanes of a warp do together: shuffles, votes, `syncwarp`."""

from __future__ import annotations

import sys

from convlab.gpu.occupancy import WARP
from convlab.gpu.simulator import errors


class WarpNames:
    """The warp's share of `cuda`; a mask has one bit for each lane that takes part."""

    def syncwarp(self, mask=0xFFFFFFFF):
        """Wait for the lanes of the mask; what they wrote can be read by all of them."""
        self._simulation.meet(mask, None, sys._getframe(1).f_lasti, ordered=True)

    def shfl_sync(self, mask, value, lane):
        """Return another lane's value."""
        return self._from(mask, value, lane % WARP, sys._getframe(1).f_lasti)

    def shfl_up_sync(self, mask, value, delta):
        """Return the value of the lane `delta` below; one's own where there is none."""
        return self._from(mask, value, self._simulation.lane.number - delta, sys._getframe(1).f_lasti)

    def shfl_down_sync(self, mask, value, delta):
        """Return the value of the lane `delta` above; one's own where there is none."""
        return self._from(mask, value, self._simulation.lane.number + delta, sys._getframe(1).f_lasti)

    def shfl_xor_sync(self, mask, value, bits):
        """Return the value of the lane whose number differs in these bits."""
        return self._from(mask, value, self._simulation.lane.number ^ bits, sys._getframe(1).f_lasti)

    def ballot_sync(self, mask, predicate):
        """Return one bit for each lane: whether its predicate is true."""
        votes = self._simulation.meet(mask, predicate, sys._getframe(1).f_lasti)
        return sum(1 << lane for lane, vote in votes.items() if vote)

    def all_sync(self, mask, predicate):
        """Return whether the predicate is true in all lanes."""
        return all(self._simulation.meet(mask, predicate, sys._getframe(1).f_lasti).values())

    def any_sync(self, mask, predicate):
        """Return whether the predicate is true in any lane."""
        return any(self._simulation.meet(mask, predicate, sys._getframe(1).f_lasti).values())

    def eq_sync(self, mask, predicate):
        """Return whether the predicate is the same in all lanes."""
        votes = self._simulation.meet(mask, predicate, sys._getframe(1).f_lasti)
        return len(set(map(bool, votes.values()))) == 1

    def match_any_sync(self, mask, value):
        """Return one bit for each lane that has the same value."""
        values = self._simulation.meet(mask, value, sys._getframe(1).f_lasti)
        return sum(1 << lane for lane, other in values.items() if other == value)

    def activemask(self):
        """Return one bit for each lane that gets here together with this one."""
        return sum(1 << lane for lane in self._simulation.meet(None, None, sys._getframe(1).f_lasti))

    def lanemask_lt(self):
        """Return one bit for each lane below this one."""
        return (1 << self._simulation.lane.number) - 1

    def _from(self, mask, value, lane, instruction):
        values = self._simulation.meet(mask, value, instruction)
        if not 0 <= lane < WARP:
            return value
        if lane not in values:
            text = (
                f"lane {self._simulation.lane.number} asks for the value of lane {lane}, which takes no part"
            )
            self._simulation.note(errors.DIVERGENT_WARP, text)
            return value
        return values[lane]
