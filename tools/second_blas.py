"""NumPy's product by the other kernel of its OpenBLAS, in a second process.

OpenBLAS holds a kernel for every family of processors and picks one when it is loaded; not always the best
(on some AVX-512 processors it takes the AVX2 kernel, at half the speed). $OPENBLAS_CORETYPE names another,
but only at the start. So a second Python does that, and times its own calls when it is asked to: just one
of the two processes computes at any moment.
"""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
from contextlib import suppress

import numpy as np

from convlab.auto.timing import Timer, on_one_core, timer
from convlab.benchmark.baselines import Baseline, Call
from convlab.errors import ConvError
from convlab.machine import system
from convlab.problem import ConvProblem
from convlab.support import another_python

NAME = "NumPy, other kernel"
# The kernel for each instruction set, and what it needs.
KERNELS = {"SkylakeX": {"avx512f", "avx512dq", "avx512bw", "avx512vl"}, "Haswell": {"avx2", "fma"}}
ALIKE = {"Zen": "Haswell", "Cooperlake": "SkylakeX", "Sapphirerapids": "SkylakeX"}


def kernel() -> str | None:
    """Return the kernel that NumPy's OpenBLAS picked in this process; None if its BLAS is another."""
    from threadpoolctl import threadpool_info

    for pool in threadpool_info():
        if pool["internal_api"] == "openblas" and "numpy" in pool["filepath"]:
            return pool.get("architecture")
    return None


def other_kernel(picked: str | None, features: set[str]) -> str | None:
    """Return the kernel this processor could run as well, or None.

    Parameters
    ----------
    picked : str or None
        From `kernel`.
    features : set of str
        From `system.processor_features`.
    """
    if picked is None:
        return None
    for name, needs in KERNELS.items():
        if name != ALIKE.get(picked, picked) and needs <= features:
            return name
    return None


class SecondBlas:
    """The second process. Use it in a ``with``, or `close` it.

    Attributes
    ----------
    kernel : str
        What its OpenBLAS runs.

    Raises
    ------
    ConvError
        If there is no other kernel here; the message says why.
    """

    def __init__(self):
        picked = kernel()
        wanted = other_kernel(picked, system.processor_features())
        if wanted is None:
            reason = "NumPy's BLAS is not OpenBLAS" if picked is None else f"only {picked} serves here"
            raise ConvError(f"no other kernel: {reason}")
        one = {name: "1" for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS")}
        with on_one_core():  # programs started here stay on that core
            self._process = subprocess.Popen(
                [sys.executable, *another_python.module("tools.second_blas")],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                env=os.environ | one | {"OPENBLAS_CORETYPE": wanted},
            )
        self.kernel = self._ask("kernel")
        if self.kernel != wanted:
            self.close()
            raise ConvError(f"no other kernel: OpenBLAS answers {self.kernel} when asked for {wanted}")

    def baseline(self) -> Baseline:
        """Return it as one that takes part in comparisons on one core."""
        refuses, needs = lambda problem: "it has no groups" * (problem.groups > 1), lambda: self
        return Baseline(NAME, "NumPy", "numpy", self.prepare, refuses, needs)

    def prepare(self, problem: ConvProblem, x: np.ndarray, w: np.ndarray, threads: int = 1) -> Call:
        """Make the NumPy baseline ready for a problem, there."""
        return Call(lambda: self._ask("prepare", problem, x, w), timer=self.timer)

    def timer(self, warm: int = 2) -> Timer:
        """Return a function that times one call for the problem last prepared, after `warm` untimed ones."""
        return lambda: self._ask("seconds", warm)

    def _ask(self, *question):
        try:
            pickle.dump(question, self._process.stdin)
            self._process.stdin.flush()
            return pickle.load(self._process.stdout)
        except (EOFError, OSError):
            raise ConvError("the process with the other BLAS kernel has ended") from None

    def close(self) -> None:
        """End the process, also one that is about to answer."""
        with suppress(OSError):  # it may have ended by itself
            self._process.stdin.close()
        self._process.stdout.close()
        self._process.wait()

    def __enter__(self) -> SecondBlas:
        return self

    def __exit__(self, *error) -> None:
        self.close()


def _serve(questions, answers) -> None:
    """Answer the first process until it closes the line."""
    from convlab.benchmark.baselines import numpy_im2col

    call = None
    while True:
        try:
            what, *with_ = pickle.load(questions)
        except EOFError:
            return
        if what == "kernel":
            answer = kernel()
        elif what == "prepare":
            call = numpy_im2col(*with_)
            answer = call.run()
        else:
            answer = timer(call.run, *with_)()
        pickle.dump(answer, answers)
        answers.flush()


if __name__ == "__main__":
    signal.signal(
        signal.SIGINT, signal.SIG_IGN
    )  # Ctrl-C is for the first process, which then closes the line
    try:
        _serve(sys.stdin.buffer, sys.stdout.buffer)
    except (BrokenPipeError, pickle.UnpicklingError):  # the first process has stopped in the middle
        os._exit(0)
