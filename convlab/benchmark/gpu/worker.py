"""The process that takes the steps of `convlab bench gpu`; `supervise.py` starts it, and starts it again.

    python -m convlab.benchmark.gpu.worker FILE UNTIL OPTIONS PARENT

What it was told of the run so far is in the file.
"""

from __future__ import annotations

import gc
import json
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from convlab.benchmark.gpu import rivals
from convlab.benchmark.gpu.bench import Options
from convlab.benchmark.gpu.contest import DeviceLost
from convlab.benchmark.gpu.parts import SHARES, DeviceParts, Step
from convlab.benchmark.gpu.supervise import LOST, TIME_UP, UNWRITABLE, end_with
from convlab.benchmark.saved import UnwritableError, read, write

LAST = 0.05  # of the minutes, in which no step begins: so the last one can end


def work(path: Path, until: float, options: Options) -> int:
    """Take the steps that are not done yet, and write the file after each. Returns the exit code."""
    measurement = read(path)
    header = measurement.header
    clock = _clock(options.simulate, header)
    reason = rivals.missing(options.rivals, options.simulate)
    header["skipped"] = dict.fromkeys(rivals.RIVALS, reason) if reason else {}
    here = [] if reason else list(rivals.RIVALS.values())
    parts = DeviceParts(clock, header, here, options.words, lambda: write(path, measurement))
    steps = [step for step in parts.steps() if step.name not in header["done"]]
    for number, step in enumerate(in_turn(steps, header["spent"], until - LAST * 60 * options.minutes), 1):
        print(f"[{number:3}/{len(steps)}, {until - time.time():4.0f} s left] {step.name}", flush=True)
        header["at"] = [step.name, None]
        write(path, measurement)
        start = time.time()
        try:
            measurement.rows += step.run(measurement.rows)
        except UnwritableError:
            raise
        except DeviceLost:
            write(path, measurement)
            return LOST
        except Exception as error:  # one step is lost, the others need not be
            header["failed"][step.name] = f"{type(error).__name__}: {error}".partition("\n")[0]
            if not clock.is_alive():
                write(path, measurement)
                return LOST
        header["spent"][step.part] = header["spent"].get(step.part, 0.0) + time.time() - start
        header["done"].append(step.name)
        header["at"] = None
        write(path, measurement)
        _give_back_memory()
    late = [step.name for step in steps if step.name not in header["done"]]
    header["failed"] |= dict.fromkeys(late, TIME_UP)
    header["complete"] = not (options.simulate or header["wrong"] or header["failed"])
    if not options.simulate:
        from convlab.benchmark.gpu.facts import clocks

        header["device"]["then"] = clocks()
    write(path, measurement)
    return 0


def in_turn(steps: list[Step], spent: dict[str, float], until: float) -> Iterator[Step]:
    """Yield the steps while there is time: first each part's within its share, then what had to wait.

    Parameters
    ----------
    steps : list of Step
    spent : dict of str to float
        Seconds that were spent on each part so far; kept up to date by the caller.
    until : float
        No step begins later.
    """
    parent, whole = os.getppid(), until - time.time() + sum(spent.values())
    waiting = list(steps)
    for generous in (False, True):
        for step in tuple(waiting):
            if time.time() > until or os.getppid() != parent:  # then nobody waits for this any more
                return
            if generous or spent.get(step.part, 0.0) < SHARES[step.part] * whole:
                waiting.remove(step)
                yield step


def _give_back_memory() -> None:
    """Let the next layer have what this one took, from PyTorch's pool too."""
    gc.collect()
    if "torch" in sys.modules:
        sys.modules["torch"].cuda.empty_cache()


def _clock(simulate: bool, header: dict):
    from convlab.benchmark.gpu import clock

    if simulate:
        header["device"] = {"name": "lane simulator"}
        return clock.StandIn()
    from convlab.benchmark.gpu.facts import gpu_facts

    header["device"] = header["device"] or gpu_facts()
    return clock.EventClock()


if __name__ == "__main__":
    file, until, options, parent = sys.argv[1:]
    end_with(int(parent))
    try:
        code = work(Path(file), float(until), Options(**json.loads(options)))
    except UnwritableError as error:
        print(error, flush=True)
        code = UNWRITABLE
    if code == LOST:
        os._exit(code)  # an ordinary end would ask the lost device to give its memory back
    sys.exit(code)
