"""The lane simulator: runs the source of a real kernel, every thread of it, and watches its memory.

    trace = simulator.run(kernel, grid, block, x, y, 7)
    trace.check()                        # a race, a barrier not all reach, a read of nothing: KernelError
    print(trace.report())                # what each line asked of the memory
    trace.sites()                        # the same as records; trace.requests(site): lane by lane

Neither a GPU nor a CUDA toolkit is needed. Every thread runs the kernel's own Python source until it has to
wait; every element it reads or writes is looked at and written down. Threads of a warp that do so at the same
place of the source, in the same iteration of every loop around it, made one request.

It shows what the *source* asks for. The compiler may still merge, move or drop accesses: its assembly is the
other half of the picture. Whole numbers are Python's, and wrap around where they are cast or stored, where
the source says that unsigned meets unsigned (`number_types`), and everywhere in a kernel that counts with
uint32 by rule (`convlab.gpu.kernels`). Numbers with a fraction are rounded to their own type after every
operation. A thread runs until it waits at a barrier or for its warp, or has gone round in a `while` for long:
then others have a turn. One that spins until another *block* has done something spins for ever, and is
stopped.

Read in this order:

    simulation            one launch: arguments, memory, one block after the other
    launch_checks         grid, block and arguments that no device could run
    kernel_source         the kernel's own source, made to run; loops count their iterations (`loop_paths`)
    bind                  the names in it: `cuda_names`, `instructions`, `casts`
    thread_block          the threads, each of which runs until it has to wait
    traced_arrays         global, shared and constant arrays: accesses are checked, and go to `access_log`
    global_memory         where they lie; beside it `shared_memory`, `local_arrays` and `async_copies`
    tensor_sums           how a tensor core adds: rounded, or cut off as on a device
    requests              what a warp asks for at once: sectors; `bank_conflicts` of shared memory
    access_table, trace   all of it by the place in the source
    races_within_block    two threads at one element, by `vector_clocks`: who has waited for whom
    races_between_blocks  the same between blocks, which run in any order
    wraparound_rewrite    asks after numbers below zero, by their `number_types`; `wraparound_checks` answers
    array_sizes           sizes that the compiler could not know
    errors                how all this is told
"""

from __future__ import annotations

from typing import Any

from convlab.gpu.simulator.errors import KernelError, Mistake
from convlab.gpu.simulator.global_memory import poisoned
from convlab.gpu.simulator.requests import Request, Site
from convlab.gpu.simulator.trace import Trace
from convlab.support.checked import check_hint

__all__ = ["KernelError", "Mistake", "Request", "Site", "Trace", "poisoned", "run"]


def run(
    kernel: Any,
    grid: Any,
    block: Any,
    *arguments: Any,
    blocks: Any = None,
    traced: bool = True,
    shared_bytes: int = 0,
    most_rounds: int = 1 << 16,
    accumulate: str = "rounded",
) -> Trace:
    """Run a kernel on NumPy arrays, thread by thread.

    Parameters
    ----------
    kernel
        As `cuda.jit` made it, or a plain function.
    grid, block : int or tuple of int
        Blocks, and threads of a block, along x, y and z.
    *arguments
        NumPy arrays (written in place, as on the device), numbers, and tuples of numbers.
    blocks : collection of int or tuple of int, optional
        Run these blocks alone, so that a large launch is seen through one of them; by default all.
    traced : bool
        False: look for mistakes, and keep no requests.
    shared_bytes : int
        Bytes of dynamic shared memory: what ``kernel[grid, block, stream, bytes]`` says on the device.
    most_rounds : int
        How often a thread may go round in one `while`, before it is taken for one that never ends. Rounds
        that only look at a few elements, always the same, count 16 times.
    accumulate : str
        How a tensor core's sums are kept to float32's bits: "rounded" by IEEE's rules, or "truncated", as was
        found on devices.

    Returns
    -------
    Trace

    Raises
    ------
    ConvError
        If an argument is wrong.
    KernelError
        At once where the kernel cannot go on: an access out of bounds or misaligned, threads that wait for
        each other, or go round in a loop, for ever; a size that the compiler could not know. All other
        mistakes are in the trace; `Trace.check` raises them.
    """
    from convlab.gpu.simulator.simulation import Simulation

    check_hint("traced", traced, bool)
    return Simulation(
        kernel, grid, block, arguments, blocks, traced, shared_bytes, most_rounds, accumulate
    ).run()
