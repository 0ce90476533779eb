"""Two of Dask's workers against one, and what was foretold: what notebook 18 measures, several times over.

    python -m tools.two_workers              five times
    python -m tools.two_workers --times 9

The notebook's own lines are run, as they stand there. What is foretold comes from runs on one worker. Run it
on two free cores: the scheduler and this process want a core now and then, and anything else takes from both.
"""

from __future__ import annotations

import argparse
import ast
import io
from contextlib import redirect_stdout
from importlib.util import find_spec
from pathlib import Path
from statistics import median

from convlab.support.install import install_extra
from tools.needed_lines import lines_of, needed_lines, run_lines

NOTEBOOK = Path(__file__).resolve().parents[1] / "notebooks" / "18_many_machines.ipynb"


def measured_and_foretold(notebook: Path) -> tuple[dict[int, float], dict[int, float]]:
    """Return the seconds of many tiles on one worker and on two, as they are and as they were foretold."""
    lines = [*lines_of(notebook), *ast.parse("measured, foretold").body]

    def is_last(line: ast.stmt) -> bool:
        return line is lines[-1]

    with redirect_stdout(io.StringIO()):  # it also says what a reader wants to know
        ((measured, foretold),) = run_lines(needed_lines(lines, is_last), is_last)
    return measured, foretold


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--times", type=int, default=5)
    times = parser.parse_args().times
    if not find_spec("distributed"):
        parser.error(f"Dask is not installed; {install_extra('cluster')}")
    found = []
    for number in range(times):
        measured, foretold = measured_and_foretold(NOTEBOOK)
        found.append([measured[1] / measured[2], *(foretold[n] / measured[n] for n in measured)])
        seconds = ", ".join(f"{n}: {measured[n]:.2f} s, foretold {foretold[n]:.2f} s" for n in measured)
        print(f"{number + 1}. {seconds}; two are {found[-1][0]:.2f} times as fast", flush=True)
    gain, one, two = (median(column) for column in zip(*found, strict=True))
    print(f"median: two workers are {gain:.2f} times as fast as one;")
    print(f"foretold over measured: {one:.3f} on one worker, {two:.3f} on two")


if __name__ == "__main__":
    main()
