"""Measure the speeds that come with convlab, and write `data/speeds/`: one file a class of processors.

    python -m tools.shipped_speeds              all classes that this processor can stand for, of its maker
    python -m tools.shipped_speeds AVX2 SSE2    only these
    python -m tools.shipped_speeds --runs 3     fewer runs; by default nine

"auto" goes by them on a machine that was not measured (`convlab.auto.shipped`). A processor with wide vectors
stands for those with narrower ones, too: Numba is told to compile for a processor that has no others, and the
register tile is as wide as theirs. It is the library's own code that is measured, as `convlab bench speeds`
does, in a process for each run; of all runs the best counts, for what disturbs can only slow down.

Run it while nothing else runs: it takes about two minutes.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from datetime import UTC, datetime

from convlab.auto.shipped import BY_VECTORS, FILES, INTEL, WHAT, of_the_maker, processor_class
from convlab.machine import system
from convlab.machine.facts import version
from convlab.support import another_python
from convlab.support.files import data_path, write_atomically
from convlab.support.version import VERSION

# What Numba is told to compile for. Without the features it would add this processor's own to them.
TARGETS = {
    "AVX-512": {},
    "AVX2": {"NUMBA_CPU_NAME": "haswell", "NUMBA_CPU_FEATURES": ""},
    "SSE2": {"NUMBA_CPU_NAME": "x86-64-v2", "NUMBA_CPU_FEATURES": ""},
}

_ONE_RUN = """
import json, sys
from convlab.auto.measure import measure
from convlab.cpu import tile_size
tile_size.vector_bytes = lambda: int(sys.argv[1])
print(json.dumps(measure(quick=False)))
"""


def measured(name: str, runs: int) -> dict[str, dict]:
    """Return the best roofs and overheads of several processes that compile for a class."""
    width = next(width for width, each in BY_VECTORS.items() if each == name)
    with tempfile.TemporaryDirectory() as kernels:  # compiled once, and left out of the usual cache
        environment = os.environ | TARGETS[name] | {"NUMBA_CACHE_DIR": kernels}
        command = [sys.executable, *another_python.program(_ONE_RUN), str(width)]
        found = []
        for run in range(runs):
            print(f"{name}: run {run + 1} of {runs}", end="\r", file=sys.stderr, flush=True)
            done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, check=True, text=True)
            found.append(json.loads(done.stdout))
    print(file=sys.stderr)
    return best_of(found)


def best_of(found: list[dict[str, dict]]) -> dict[str, dict]:
    """Return of several measurements the highest of each speed and the lowest of each overhead."""
    roofs, overheads = [one["roofs"] for one in found], [one["overheads"] for one in found]
    copies = {
        level: [size, max(one["copies"][level][1] for one in roofs)]
        for level, (size, _) in roofs[0]["copies"].items()
    }
    return {
        "roofs": {
            "flops": max(one["flops"] for one in roofs),
            "flops_all": max(one["flops_all"] for one in roofs),
            "threads": roofs[0]["threads"],
            "copies": copies,
        },
        "overheads": {name: min(one[name] for one in overheads) for name in overheads[0]},
    }


def write(name: str, runs: int) -> None:
    """Measure a class of processors, by its vectors, and write its file."""
    target, of_the_class = TARGETS[name].get("NUMBA_CPU_NAME"), of_the_maker(name)
    told = {
        "what": WHAT,
        "class": of_the_class,
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "processor": system.processor(),
        "target": target or system.compiler_target(),
        "how": f"python -m tools.shipped_speeds: the best of {runs} runs of `convlab.auto.measure`"
        + (f", compiled for {target}" if target else ""),
        "convlab": VERSION,
        "libraries": {library: version(library) for library in ("numpy", "numba", "llvmlite")},
    }
    path = data_path("speeds", FILES[of_the_class])
    path.parent.mkdir(exist_ok=True)
    found = measured(name, runs)
    write_atomically(path, json.dumps(told | found, indent=1) + "\n")
    print(path)
    roofs = found["roofs"]
    times, threads = roofs["flops_all"] / roofs["flops"], roofs["threads"]
    if times < 0.9 * threads:
        print(f"{threads} threads reach {times:.2f} times what one does: did something else run?")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument(
        "classes", nargs="*", metavar="CLASS", help=f"of {', '.join(TARGETS)}; by default all"
    )
    parser.add_argument("--runs", type=int, default=9)
    given = parser.parse_args()
    here = processor_class()
    if here not in FILES:
        parser.error(f"this is a processor of the class {here}, which stands for no other")
    narrower = list(TARGETS)[list(TARGETS).index(here.removeprefix(INTEL)) :]
    for name in given.classes or narrower:
        if name not in narrower:
            parser.error(f"{name} cannot be measured here; expected some of {', '.join(narrower)}")
        write(name, given.runs)


if __name__ == "__main__":
    main()
