"""Test and measure the NVIDIA GPU of this machine: its roofs, ladders of kernels, real layers beside cuDNN.

    python -m tools.bench_gpu --save FILE

`convlab bench gpu` is the same, with a new file in work/measurements/ where none is named.
"""

from __future__ import annotations

import argparse
import sys
from datetime import datetime
from pathlib import Path

from convlab.benchmark import saved
from convlab.errors import ConvError, UnsupportedError
from convlab.support.tables import as_text
from convlab.workspace import folders
from tools.bench_gpu import places, report, steps
from tools.bench_gpu.run import INTERRUPTED, bench_gpu

MEASUREMENTS = Path(__file__).parents[2] / "work" / "measurements"


def main(arguments: list[str] | None = None) -> int:
    """Measure, print what came of it, and return the exit code."""
    parser = argparse.ArgumentParser(prog="convlab bench gpu", description=__doc__.split("\n")[0])
    parser.add_argument("--save", type=Path, metavar="FILE", help="where the times go")
    parser.add_argument("--layers", default="", metavar="NAME", help="only layers whose name holds this")
    parser.add_argument("--minutes", type=float, default=8.0, help="then it ends")
    parser.add_argument("--no-baselines", action="store_true", help="without cuDNN")
    parser.add_argument("--no-tests", action="store_true", help="without the device tests")
    tried = parser.add_mutually_exclusive_group()
    for option, place, how in (
        ("--simulate", places.SIMULATOR, "only try every step, lane by lane"),
        ("--execute", places.EXECUTOR, "only try every step, with what the compiler makes of it for an H100"),
    ):
        tried.add_argument(option, dest="place", action="store_const", const=place, help=f"no GPU: {how}")
    parser.set_defaults(place=places.GPU)
    asked = parser.parse_args(arguments)
    options = {
        "words": asked.layers,
        "baselines": not asked.no_baselines,
        "place": asked.place,
    }
    name = f"{asked.place}-{datetime.now():%Y%m%d-%H%M%S}.csv"
    try:
        steps.check_words(asked.layers, asked.place)
        path = folders.replaceable(asked.save or MEASUREMENTS / name, "--save", saved.is_ours, saved.OURS)
        if trouble := places.trouble(asked.place):
            raise UnsupportedError(trouble)
        measurement, stopped = bench_gpu(path, options, asked.minutes, not asked.no_tests)
    except ConvError as error:
        print(f"convlab: {error}", file=sys.stderr)
        return 2
    except OSError as error:
        print(f"convlab: {error.filename!r} cannot be written: {error.strerror}", file=sys.stderr)
        return 1
    for table in report.tables(measurement):
        print(as_text(table))
    print("\n".join([*report.notes(measurement), f"saved in {path}"]))
    if stopped:
        print(f"convlab: {stopped}", file=sys.stderr)
    return 130 if stopped == INTERRUPTED else int(bool(stopped))


if __name__ == "__main__":
    sys.exit(main())
