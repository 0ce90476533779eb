"""Measure the roofs of this machine, in turns with the same loops in C where a compiler is found."""

from __future__ import annotations

import sys

from convlab.auto.roofs import Roofs
from convlab.support.tables import as_text
from tools import roofs_in_c


def main() -> int:
    """Print what came of it, and return the exit code."""
    compiler = roofs_in_c.find_compiler()
    if compiler is None:
        print(Roofs.here().describe())
        names = ", ".join(roofs_in_c.COMPILERS)
        print(f"No C compiler is here ({names}), so there is nothing to hold them against.")
        return 0
    try:
        with roofs_in_c.compiled(compiler) as loops:
            print(as_text(roofs_in_c.table(roofs_in_c.compare(loops))))
    except roofs_in_c.CompilerError as error:
        print(f"convlab: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
