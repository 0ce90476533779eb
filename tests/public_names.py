"""What is public: the names that the doors export, and what the notebooks import or take from a module."""

import ast
import importlib
import inspect
import json
from functools import cache
from pathlib import Path
from types import ModuleType

from numba.core.extending import _Intrinsic

DOORS = (
    "",
    ".networks",
    ".distributed",
    ".figures",
    ".widgets",
    ".lessons",
    ".interview",
    ".gpu",
    ".gpu.simulator",
)
NOTEBOOKS = Path(__file__).parents[1] / "notebooks"


@cache
def public() -> dict:
    """Return every public function and class by its full name."""
    found = {}
    for thing in (*_exported(), *_taught()):
        plain = inspect.isclass(thing) or inspect.isfunction(
            inspect.unwrap(thing) if callable(thing) else thing
        )
        if plain and thing.__module__.startswith("convlab") and not _is_kernel(thing) and _takes(thing):
            found[_name(thing)] = thing
    return dict(sorted(found.items()))


def _is_kernel(thing) -> bool:
    """Numba compiles it: its arguments are looked at by no Python."""
    return not inspect.isclass(thing) and (hasattr(thing, "py_func") or isinstance(thing, _Intrinsic))


def _takes(thing) -> bool:
    """Does it take arguments, and is it neither an error nor private?"""
    if thing.__name__.startswith("_") or (inspect.isclass(thing) and issubclass(thing, Exception)):
        return False
    return bool(inspect.signature(thing).parameters)


def _name(thing) -> str:
    return f"{thing.__module__}.{thing.__qualname__}".removeprefix("convlab.")


def methods(things: dict) -> dict:
    """Return the public methods that take arguments, of the classes among some things."""
    found = {}
    for thing in things.values():
        for base in thing.__mro__ if isinstance(thing, type) else ():
            for name, function in vars(base).items() if base.__module__.startswith("convlab") else ():
                function = getattr(function, "__func__", function)
                shown = not name.startswith("_") or name in ("__call__", "__getitem__")
                if shown and inspect.isfunction(function) and len(inspect.signature(function).parameters) > 1:
                    found[_name(function)] = function
    return found


def _exported():
    for door in DOORS:
        module = importlib.import_module(f"convlab{door}")
        for name in getattr(module, "__all__", None) or vars(module):
            thing = getattr(module, name)
            if hasattr(module, "__all__") or getattr(thing, "__module__", "") == module.__name__:
                yield thing
    from convlab.algorithms.spec import Algorithm

    yield Algorithm  # what ALGORITHMS holds


def _taught():
    for path in sorted(NOTEBOOKS.glob("*.ipynb")):
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        code = "".join("".join(cell["source"]) + "\n" for cell in cells if cell["cell_type"] == "code")
        lines = [line for line in code.splitlines() if not line.lstrip().startswith(("%", "!"))]
        yield from _used(ast.parse("\n".join(lines)))


def _used(tree):
    """Yield what a notebook imports of convlab, and what it takes from a module that it imported."""
    names = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("convlab"):
            module = importlib.import_module(node.module)
            for alias in node.names:
                if not hasattr(module, alias.name):
                    importlib.import_module(f"{node.module}.{alias.name}")
                names[alias.asname or alias.name] = getattr(module, alias.name)
        elif isinstance(node, ast.Import) and any(alias.name == "convlab" for alias in node.names):
            names["convlab"] = importlib.import_module("convlab")

    def thing(node):
        if isinstance(node, ast.Name):
            return names.get(node.id)
        base = thing(node.value) if isinstance(node, ast.Attribute) else None
        return getattr(base, node.attr, None) if isinstance(base, ModuleType) else None

    yield from names.values()
    yield from (thing(node) for node in ast.walk(tree) if isinstance(node, ast.Attribute))
