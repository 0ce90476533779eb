"""What the executor reaches of every shipped kernel: python -m tools.ptx [ALGORITHM ...]

Each algorithm convolves one small layer that it serves. A row is a kernel that was compiled for it: how many
instructions it has, and how many of them a thread came by; one that ran before is not listed again. At the
end the same by opcode, and the seconds, most of which the compiler takes. It needs `requirements-gpu.txt`,
and no GPU.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator

from convlab import ALGORITHMS, ConvProblem, plan
from convlab.algorithms.spec import Algorithm
from convlab.algorithms.tensor_core import KINDS, tensor_core
from convlab.gpu.device import using
from convlab.notebook import random_arrays
from tools.ptx.coverage import coverage
from tools.ptx.device import Executor, program_of

# Each algorithm takes the first that it serves.
LAYERS = (
    ConvProblem(2, 9, 10, 12, 20, 3, 3, padding=1),
    ConvProblem(2, 9, 10, 12, 20, 1, 1),
    ConvProblem(2, 9, 10, 12, 12, 3, 3, padding=1, groups=12),
    ConvProblem(1, 20, 30, 1, 1, 5, 5, padding=2),
)
SHIPPED = {name: one for name, one in ALGORITHMS.items() if "gpu" in one.forms}
SHIPPED |= {one.name: one for one in map(tensor_core, KINDS)}


class Listing(Executor):
    """An executor that keeps the names of the kernels it runs, in the order of their first launch."""

    def __init__(self):
        super().__init__()
        self.names: dict[str, str] = {}  # PTX -> the kernel's name in Python

    def ptx_of(self, kernel, arguments):
        ptx = super().ptx_of(kernel, arguments)
        self.names.setdefault(ptx, kernel.__name__)
        return ptx


def rows(algorithms: dict[str, Algorithm], device: Listing) -> Iterator[str]:
    """Yield a line for each kernel, and the seconds of an algorithm behind its last."""
    yield f"{'algorithm':24} {'kernel':28} {'instructions':>12} {'reached':>8}"
    for name, algorithm in algorithms.items():
        problem = next(one for one in LAYERS if not algorithm.supports(one))
        x, w = random_arrays(problem)
        before, start = len(device.names), time.perf_counter()
        with using(device):
            plan(problem, w, algorithm=algorithm, backend="gpu")(x)
        for ptx, kernel in list(device.names.items())[before:]:
            found = coverage([program_of(ptx)])
            whole = found.written.total()
            yield f"{name:24} {kernel:28} {whole:12} {found.reached.total() / whole:8.1%}"
        yield f"{name:24} {time.perf_counter() - start:.1f} seconds, with compiling"


def main(given: list[str]) -> int:
    """Run the algorithms that are named, or all."""
    parser = argparse.ArgumentParser(prog="python -m tools.ptx", description=__doc__)
    parser.add_argument("algorithm", nargs="*", help="one of " + ", ".join(SHIPPED))
    names = parser.parse_args(given).algorithm
    if unknown := set(names) - set(SHIPPED):
        parser.error(f"no such algorithm: {', '.join(sorted(unknown))}")
    device, start = Listing(), time.perf_counter()
    for line in rows({name: SHIPPED[name] for name in names or SHIPPED}, device):
        print(line, flush=True)
    print(*coverage(device.programs).lines(), sep="\n")
    print(f"{time.perf_counter() - start:.0f} seconds, with compiling")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
