"""The process that takes the steps of `convlab bench gpu`; `bench.py` starts it, and starts it again.

    python -m convlab.measure.gpu.worker FILE UNTIL OPTIONS

What it was told of the run so far is in the file.
"""

from __future__ import annotations

import gc
import json
import os
import sys
import time
from pathlib import Path

from convlab.measure.gpu import rivals
from convlab.measure.gpu.bench import LOST, Options
from convlab.measure.gpu.contest import DeviceLost
from convlab.measure.gpu.parts import DeviceParts
from convlab.measure.saved import read, write


def work(path: Path, until: float, options: Options) -> int:
    """Take the steps that are not done yet, and write the file after each. Returns the exit code."""
    start, parent = time.time(), os.getppid()
    measurement = read(path)
    header = measurement.header
    clock = _clock(options.simulate, header)
    reason = rivals.missing(options.rivals, options.simulate)
    header["skipped"] = dict.fromkeys(rivals.RIVALS, reason) if reason else {}
    here = [] if reason else list(rivals.RIVALS.values())
    parts = DeviceParts(clock, header, here, options.words, lambda: write(path, measurement))
    steps = parts.steps()
    for number, step in enumerate(steps, 1):
        label = f"{step.part}: {step.label}"
        if label in header["done"]:
            continue
        if os.getppid() != parent:  # nobody waits for this any more
            return 1
        if time.time() > until:
            header["failed"][label] = "time was up"
            continue
        print(f"[{number:3}/{len(steps)} {time.time() - start:4.0f} s] {label}", flush=True)
        header["at"] = [label, None]
        write(path, measurement)
        try:
            measurement.rows += step.run(measurement.rows)
        except DeviceLost:
            write(path, measurement)
            return LOST
        except Exception as error:  # one step is lost, the others need not be
            header["failed"][label] = f"{type(error).__name__}: {error}".partition("\n")[0]
            if not clock.is_alive():
                write(path, measurement)
                return LOST
        header["done"].append(label)
        header["at"] = None
        write(path, measurement)
        _give_back_memory()
    header["complete"] = not (options.simulate or header["wrong"] or header["failed"])
    if not options.simulate:
        from convlab.measure.gpu.facts import clocks

        header["device"]["then"] = clocks()
    write(path, measurement)
    return 0


def _give_back_memory() -> None:
    """Let the next layer have what this one took, from PyTorch's pool too."""
    gc.collect()
    if "torch" in sys.modules:
        sys.modules["torch"].cuda.empty_cache()


def _clock(simulate: bool, header: dict):
    from convlab.measure.gpu import clock

    if simulate:
        header["device"] = {"name": "lane simulator"}
        return clock.StandIn()
    from convlab.measure.gpu.facts import gpu_facts

    header["device"] = header["device"] or gpu_facts()
    return clock.EventClock()


if __name__ == "__main__":
    file, until, options = sys.argv[1:]
    code = work(Path(file), float(until), Options(**json.loads(options)))
    if code == LOST:
        os._exit(code)  # an ordinary end would ask the lost device to give its memory back
    sys.exit(code)
