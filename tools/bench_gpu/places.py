"""Where a run takes place: on the GPU of this machine; or nowhere near one, where every step is only tried.

    gpu           the times are real
    simulator     the lane simulator runs the source of every kernel, and finds races
    executor      what the compiler made of every kernel for an H100 is run, as it would be there

The last two take no time and keep none: what they say is that every step can be taken, and computes what it
should.
"""

from __future__ import annotations

from convlab.gpu.availability import assembly_fault
from convlab.gpu.device import gpu_trouble

GPU, SIMULATOR, EXECUTOR = "gpu", "simulator", "executor"
ARCH = "sm_90"  # what the executor is given code for
NAMES = {SIMULATOR: "lane simulator", EXECUTOR: f"executor of {ARCH} code"}
HOW = {SIMULATOR: "lane by lane", EXECUTOR: f"as compiled for {ARCH}"}  # it was that candidates were run
OTHERS = "--simulate and --execute try every step without one"


def trouble(place: str) -> str | None:
    """Return why a run cannot take place there, or None if it can."""
    if place == EXECUTOR and (fault := assembly_fault()):
        return f"--execute needs the compiler: {fault}"
    if place == GPU and (reason := gpu_trouble()):
        return f"there is no GPU to measure: {reason}; {OTHERS}"
    return None


def clock_at(place: str):
    """Return the clock of a place; those where nothing is timed have a `StandIn`."""
    from convlab.benchmark.gpu import clock

    if place == GPU:
        return clock.EventClock()
    if place == SIMULATOR:
        return clock.StandIn()
    from tools.ptx.device import Executor

    return clock.StandIn(Executor(ARCH))


def facts_of(place: str) -> dict:
    """Return what is known of the device there."""
    from tools.bench_gpu.facts import gpu_facts

    return gpu_facts() if place == GPU else {"name": NAMES[place]}
