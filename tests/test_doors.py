"""The doors of rooms: what notebooks import from a package, found in its modules when it is asked for."""

import importlib
import subprocess
import sys

import pytest

DOORS = ("convlab.benchmark", "convlab.gpu", "convlab.inspect", "convlab.networks")


@pytest.mark.parametrize("door", [*DOORS, "convlab.interview"])
def test_what_a_door_offers_is_there(door):
    package = importlib.import_module(door)
    assert list(package.__all__) == sorted(package.__all__)
    for name in package.__all__:
        thing = getattr(package, name)
        assert getattr(thing, "__name__", name).removeprefix("numba.") == name
    with pytest.raises(AttributeError, match=rf"module '{door}' has no attribute 'no_such_name'"):
        _ = package.no_such_name


def test_a_door_takes_no_numba_before_it_is_asked():
    code = f"""
import importlib, sys
for door in {DOORS}:
    importlib.import_module(door)
assert "numba" not in sys.modules and "llvmlite" not in sys.modules
from convlab.gpu import float32
assert "numba" in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], check=True)
