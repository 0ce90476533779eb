"""Another Python on this very library, that imports nothing from the current folder.

The current folder may hold a learner's own `random.py`, or another convlab, and both ``-c`` and ``-m`` look
there first. ``-P`` leaves it out. A checkout that is not installed would then not be found, so the other
Python is told where this one lies.
"""

from __future__ import annotations

from pathlib import Path

_FIND = """
import sys
from importlib.util import spec_from_file_location

class ThisConvlab:
    @staticmethod
    def find_spec(name, path=None, target=None):
        return spec_from_file_location(name, {files!r}[name]) if name in {files!r} else None

sys.meta_path.insert(0, ThisConvlab)
"""
_RUN = "import runpy\nrunpy.run_module({name!r}, run_name='__main__', alter_sys=True)"


def program(code: str) -> tuple[str, ...]:
    """Return arguments for `sys.executable` that run `code`; arguments of its own may follow."""
    return "-P", "-c", _FIND.format(files=_files()) + code


def _files() -> dict[str, str]:
    root = Path(__file__).parents[2]
    files = {name: root / name / "__init__.py" for name in ("convlab", "tools")}
    return {name: str(file) for name, file in files.items() if file.is_file()}


def module(name: str) -> tuple[str, ...]:
    """Return arguments for `sys.executable` that run a module, as ``-m name`` does."""
    return program(_RUN.format(name=name))
