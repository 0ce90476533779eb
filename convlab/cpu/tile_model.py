"""How fast can a register tile be? Three counts on paper, before anything is measured.

For each k a tile of rows x vectors sums does rows*vectors multiply-adds. Three things set the pace:

    units      multiply-adds / (multiply-adds that a core begins in a cycle)
    latency    each sum takes one product a step and must wait for its last: `latency` cycles
    loads      (rows + vectors) / (loads that a core does in a cycle)

and the slowest of them wins, as long as everything fits into the registers. Counts of this kind are how Goto
& van de Geijn, "Anatomy of High-Performance Matrix Multiplication" (ACM TOMS 34(3), 2008), size their tile.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

from convlab.errors import ParameterError
from convlab.support.checked import Count, checked
from convlab.support.checks import check_whole, said

LATENCY = 4  # cycles until a sum takes its next product; what most present x86 and ARM cores are near
LOADS = {1: 2, 2: 2, 4: 3}  # in a cycle, on cores that begin so many multiply-adds in one


def _known_units(name: str, value: Any) -> int:
    if check_whole(name, value, least=1) not in LOADS:
        raise ParameterError(f"{name}={said(value)}; expected one of {', '.join(map(str, LOADS))}")
    return value


@checked
@dataclass(frozen=True)
class TileBounds:
    """What one step k costs a tile of `rows` x `vectors` registers, by count.

    Parameters
    ----------
    rows, vectors : int
    registers : int
        Vector registers of the processor: 32 (AVX-512, ARM) or 16 (AVX2).
    units : int
        Multiply-adds on vectors that it begins in a cycle: 1 or 2, or 4 on some ARM cores.
    """

    rows: Count
    vectors: Count
    registers: Count = 32
    units: Annotated[int, _known_units] = 2

    @property
    def multiply_adds(self) -> int:
        """Multiply-adds in a step: one for each sum."""
        return self.rows * self.vectors

    @property
    def used(self) -> int:
        """Registers it wants: the sums, a row of weights, and the number that is spread over all lanes."""
        return self.multiply_adds + self.vectors + 1

    @property
    def spilled(self) -> int:
        """Sums that find no register: they must be fetched from memory and put back at every step."""
        return max(0, self.used - self.registers)

    @property
    def fetched(self) -> int:
        """Loads in a step: a number from each row, and the vectors of weights."""
        return self.rows + self.vectors

    @property
    def cycles(self) -> dict[str, float]:
        """Cycles that a step takes at least, by each of the three."""
        return {
            "units": self.multiply_adds / self.units,
            "latency": float(LATENCY),
            "loads": self.fetched / LOADS[self.units],
        }

    @property
    def limit(self) -> str:
        """What sets the pace: "units" (the best), "latency", "loads", or "registers" if it spills."""
        if self.spilled:
            return "registers"
        return max(self.cycles, key=self.cycles.get)  # of equals the first: units

    @property
    def share(self) -> float:
        """The best share of the peak that it can reach, 0 to 1, if nothing spills."""
        return self.cycles["units"] / max(self.cycles.values())
