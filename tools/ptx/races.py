"""Two threads at one place with nothing between them: a race.

Each grain of memory (as many bytes as the kernel's smallest access to it has) knows who wrote it last, who
read it last, and when. Time is counted by barriers, for each block by itself::

    now = start of the launch + intervals since * blocks + block

so a time tells its block, too. What another thread of my block did in an earlier interval came before me;
what it did in the same one did not, and what another block did in this launch never did. Of several who read
a grain in one interval no names are kept. That is the rule of FastTrack (Flanagan & Freund, PLDI 2009) for
clocks that only barriers move. In a kernel whose warps wait for themselves, a warp counts as one thread; and
atomics are in order with everything.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

SEVERAL, EVERYONE = -1, -2  # SEVERAL: of one block, in one interval; EVERYONE: of many blocks


@dataclass
class Party:
    """Who makes an access, for every lane: `me` its number in the launch, `now` its time."""

    me: np.ndarray
    now: np.ndarray
    start: int
    blocks: int

    def before(self, when: np.ndarray) -> np.ndarray:
        """Say which of some times in this launch lie before the present one of the same block."""
        return ((self.now - when) % self.blocks == 0) & (when < self.now)


class Races:
    """Who used the grains of a space last.

    Parameters
    ----------
    grains : int
        How many there are.
    width : int
        The bytes of one.
    """

    def __init__(self, grains: int, width: int):
        self.width = width
        self.writer, self.reader = np.zeros(grains, np.int32), np.zeros(grains, np.int32)
        self.written, self.read = np.zeros(grains, np.int64), np.zeros(grains, np.int64)  # when; 0: never

    def look(self, places, width: int, me, now, start: int, blocks: int, stores: bool) -> np.ndarray | None:
        """Note accesses of `width` bytes; return which clash with another's, for each grain, or None."""
        party = Party(me, now, start, blocks)
        return (self.after_store if stores else self.after_load)(places, width, party)

    def after_load(self, places: np.ndarray, width: int, party: Party) -> np.ndarray | None:
        """Note who read; return which accesses are not in order with somebody's write, or None."""
        grains, party = self._grains(places, width, party)
        bad = self._clash(grains, self.writer, self.written, party)
        reader, read, me, now = self.reader[grains], self.read[grains], party.me, party.now
        alone = (read < party.start) | (reader == me)
        code = me.copy()
        if not alone.all():
            together = np.where(read == now, SEVERAL, np.where(party.before(read), me, EVERYONE))
            code = np.where(alone, me, np.where(reader == EVERYONE, EVERYONE, together)).astype(np.int32)
        self.reader[grains], self.read[grains] = code, now
        mixed = self.reader[grains] != code  # somebody else reads it in the same step
        if mixed.any():
            self.reader[grains[mixed]] = SEVERAL
            apart = (self.read[grains] != now) | (code == EVERYONE)
            self.reader[grains[apart]] = EVERYONE
        return bad

    def after_store(self, places: np.ndarray, width: int, party: Party) -> np.ndarray | None:
        """Note who wrote; return which accesses are not in order with somebody's, or None."""
        grains, party = self._grains(places, width, party)
        bad = self._clash(grains, self.writer, self.written, party)
        by_reader = self._clash(grains, self.reader, self.read, party)
        self.writer[grains], self.written[grains] = party.me, party.now
        twice = self.writer[grains] != party.me  # somebody else writes it in the same step
        found = [clash for clash in (bad, by_reader, twice if twice.any() else None) if clash is not None]
        return np.logical_or.reduce(found) if found else None

    def _clash(self, grains, who, when, party: Party) -> np.ndarray | None:
        times = when[grains]
        bad = times >= party.start
        if not bad.any():
            return None
        parties = who[grains]
        bad &= (parties != party.me) & ((parties == EVERYONE) | ~party.before(times))
        return bad if bad.any() else None

    def _grains(self, places: np.ndarray, width: int, party: Party) -> tuple[np.ndarray, Party]:
        """Return the grains that accesses touch, and who touches each."""
        each = width // self.width
        if each == 1:
            return places, party
        grains = (places[:, None] * each + np.arange(each)).ravel()
        me, now = (np.repeat(part, each) for part in (party.me, party.now))
        return grains, Party(me, now, party.start, party.blocks)
