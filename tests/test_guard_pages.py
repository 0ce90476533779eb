"""Arrays that lie against memory nobody may touch: one number too far, and the process is stopped."""

import os
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest
from cases import FORMS
from effort import in_turns

SCRIPT = """
import ctypes, mmap, sys
import numpy as np
from cases import CASES, arrays, assert_close
import convlab

page = mmap.PAGESIZE
libc = ctypes.CDLL(None, use_errno=True)
kept = []

def fenced(values, at_the_end):
    '''Return a copy of an array that ends where a forbidden page begins, or begins where one ends.'''
    pages = -(-values.nbytes // page)
    memory = mmap.mmap(-1, (pages + 2) * page)
    start = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    for forbidden in (start, start + (pages + 1) * page):
        assert libc.mprotect(ctypes.c_void_p(forbidden), page, 0) == 0
    kept.append(memory)
    offset = page + (pages * page - values.nbytes if at_the_end else 0)
    copy = np.frombuffer(memory, values.dtype, values.size, offset).reshape(values.shape)
    copy[...] = values
    return copy

if sys.argv[2:] == ["trespass"]:
    x = fenced(np.zeros(5, "f4"), True)
    print(np.lib.stride_tricks.as_strided(x, (6,))[5])

backend, *names = sys.argv[1:]
for name in names:
    algorithm = convlab.ALGORITHMS[name]
    served = 0
    for problem in CASES.values():
        if algorithm.supports(problem):
            continue
        x, w, _ = arrays(problem)
        for at_the_end in (False, True):
            for threads in (1, 2):
                plan = convlab.plan(problem, w, algorithm=name, backend=backend, threads=threads)
                plan.workspace = {key: fenced(array, at_the_end) for key, array in plan.workspace.items()}
                if isinstance(plan.packed, np.ndarray):
                    plan.packed = fenced(plan.packed, at_the_end)
                y = fenced(np.empty(problem.y_shape, problem.dtype), at_the_end)
                plan(fenced(x, at_the_end), y)
                assert_close(y, x, w, problem, rounding=algorithm.rounding)
        kept.clear()
        served += 1
    assert served
    print(name, flush=True)
"""


def _run(*arguments):
    tests = Path(__file__).parent
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(tests), os.environ.get("PYTHONPATH", "")])}
    command = [sys.executable, "-c", SCRIPT, *arguments]
    return subprocess.run(command, env=environment, capture_output=True, text=True)


pytestmark = [
    pytest.mark.inside,
    pytest.mark.skipif(sys.platform != "linux", reason="the pages are guarded with Linux's mprotect"),
]


@cache
def _all_of(backend):
    """Run all algorithms of a backend in one process; the first that is missing did not come through."""
    return _run(backend, *[name for name, its in FORMS if its == backend])


@in_turns("guard pages")  # one process runs them all
@pytest.mark.parametrize(("algorithm", "backend"), FORMS, ids=["-".join(form) for form in FORMS])
def test_touches_nothing_beside_its_arrays(algorithm, backend):
    done = _all_of(backend)
    assert algorithm in done.stdout.split(), done.stderr[-2000:] or f"stopped with {done.returncode}"


def test_the_guard_guards():
    assert _run("numpy", "trespass").returncode == -11
