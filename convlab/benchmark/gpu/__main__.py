"""`convlab bench gpu` for a machine that has little more than Numba: plain text, no other library.

    python -m convlab.benchmark.gpu --save FILE

It needs Numba, NumPy and threadpoolctl; PyTorch for the rivals, pytest for the device tests.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from convlab.benchmark import saved
from convlab.benchmark.gpu import report
from convlab.benchmark.gpu.bench import INTERRUPTED, Options, bench_gpu
from convlab.benchmark.gpu.parts import check_words
from convlab.benchmark.tables import as_text
from convlab.errors import ConvError
from convlab.workspace import folders


def main() -> int:
    """Measure, print what came of it, and return the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m convlab.benchmark.gpu", description=__doc__.split("\n")[0]
    )
    parser.add_argument("--save", type=Path, required=True, metavar="FILE", help="where the times go")
    parser.add_argument("--layers", default="", metavar="NAME", help="only layers whose name holds this")
    parser.add_argument("--minutes", type=float, default=Options.minutes, help="then it ends")
    parser.add_argument("--no-rivals", action="store_true", help="without cuDNN")
    parser.add_argument("--no-tests", action="store_true", help="without the device tests")
    parser.add_argument("--simulate", action="store_true", help="only try every step, without a GPU")
    given = parser.parse_args()
    options = Options(given.layers, not given.no_rivals, not given.no_tests, given.minutes, given.simulate)
    try:
        if given.layers:
            check_words(given.layers, given.simulate)
        path = folders.replaceable(given.save, "--save", saved.is_ours, saved.OURS)
        measurement, stopped = bench_gpu(path, options)
    except ConvError as error:
        print(f"convlab: {error}", file=sys.stderr)
        return 2
    for table in report.tables(measurement):
        print(as_text(table))
    print("\n".join([*report.notes(measurement), f"saved in {path}"]))
    if stopped:
        print(f"convlab: {stopped}", file=sys.stderr)
    return 130 if stopped == INTERRUPTED else int(bool(stopped))


if __name__ == "__main__":
    sys.exit(main())
