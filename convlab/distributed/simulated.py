"""What a simulation of many machines tells: how long it took, who was busy, what was done twice."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from convlab.errors import ParameterError, ShapeError
from convlab.support.checks import check_number, check_numbers


class Timeline(NamedTuple):
    """What the machines computed, an entry for each piece of work, in the order in which it was handed out.

    Attributes
    ----------
    machine, tile : ndarray of int
        Who computed what: the tile's number, or in lockstep the layer's.
    start, stop : ndarray of float
        When, in seconds from the beginning of the run.
    kept : ndarray of bool
        False where the result was lost with its machine.
    """

    machine: np.ndarray
    tile: np.ndarray
    start: np.ndarray
    stop: np.ndarray
    kept: np.ndarray


@dataclass(frozen=True, eq=False)
class Simulated:
    """A run of many machines.

    Attributes
    ----------
    makespan : float
        Seconds until all results were there.
    busy : ndarray of float, (machines,)
        The share of that time in which each machine computed.
    repeated : int
        Tiles that were begun once more than was needed.
    timeline : Timeline
    """

    makespan: float
    busy: np.ndarray
    repeated: int
    timeline: Timeline

    def __repr__(self) -> str:
        return f"<{self.makespan:.4g} s, {len(self.busy)} machines, busy for {self.busy.mean():.0%} of it>"


def simulated(machines: int, makespan: float, timeline: Timeline, tiles: int) -> Simulated:
    """Return a run, given what was computed when."""
    worked = np.bincount(timeline.machine, timeline.stop - timeline.start, machines)
    busy = worked / makespan if makespan else worked
    return Simulated(makespan, busy, len(timeline.tile) - tiles, timeline)


def check_slowness(slowness: Any, machines: int) -> np.ndarray:
    """Return by which factor each machine is slower, given one number or one for each.

    Raises
    ------
    ConvError
    """
    if not isinstance(slowness, np.ndarray):
        return np.full(machines, check_number("slowness", slowness, above=0))
    check_numbers("slowness", slowness)
    if slowness.shape != (machines,):
        raise ShapeError(f"slowness has shape {slowness.shape}; expected one for each machine, ({machines},)")
    if not (np.isfinite(slowness) & (slowness > 0)).all():
        raise ParameterError("slowness has numbers that are not above 0; expected a factor for each machine")
    return slowness.astype(float)


def check_seconds(seconds: Any, axes: str) -> np.ndarray:
    """Return how long each piece of work takes, as an array; refuse what is no time.

    Raises
    ------
    ConvError
    """
    if isinstance(seconds, np.ndarray):
        check_numbers("seconds", seconds)
    found = np.asarray(seconds, float)
    if found.ndim != len(axes.split(", ")):
        raise ShapeError(f"seconds has shape {found.shape}; expected ({axes})")
    if not found.size or not (np.isfinite(found) & (found >= 0)).all():
        raise ParameterError("seconds is empty, or has numbers below 0; expected seconds for each")
    return found


def seconds_of_tiles(seconds: Any, tiles: int | None) -> np.ndarray:
    """Return how long each tile takes, given that of each, or one number and how many they are.

    Raises
    ------
    ConvError
    """
    if isinstance(seconds, Sequence | np.ndarray):
        if tiles is not None:
            raise ParameterError(f"tiles={tiles} beside the seconds of each tile; expected one of them")
        return check_seconds(seconds, "tiles")
    if tiles is None:
        raise ParameterError("tiles=None, and seconds is one number; expected how many tiles take as long")
    return np.full(tiles, float(seconds))
