"""A ladder of kernels: the same sums on every rung, and one idea between a rung and the next."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from convlab.algorithms import ALGORITHMS
from convlab.algorithms.spec import Algorithm
from convlab.gpu.device import current
from convlab.problem import ConvProblem


def _as_it_is(problem: ConvProblem, w):
    return current().put(w)


@dataclass(frozen=True)
class Rung:
    """One kernel of a ladder.

    Attributes
    ----------
    name : str
    change : str
        What is new on this rung, in one sentence.
    traffic : str
        What that should do to the traffic of the memory, in another.
    run : callable
        ``run(problem, x, packed, workspace, y, threads)``, as a `Form` has it; arrays of the device.
    kernel : callable
        The factory; the source of what it returns is what a learner reads.
    pack : callable
        ``pack(problem, w)`` returns the weights as the kernel reads them.
    refuses : callable
        ``refuses(problem)`` returns why this rung does not serve a problem, or None. The algorithm may.
    others : dict
        What else of the `Form` is the rung's own, for instance "allocate", "workspace_bytes" and "works".
    """

    name: str
    change: str
    traffic: str
    run: Callable
    kernel: Callable
    pack: Callable = _as_it_is
    refuses: Callable[[ConvProblem], str | None] = lambda problem: None
    others: dict = field(default_factory=dict)

    def algorithm(self, name: str) -> Algorithm:
        """Return the algorithm of this name with this kernel as its form on the GPU, for `convlab.plan`."""
        whole = ALGORITHMS[name]
        own = {"works": None} | self.others  # what another kernel asks for says nothing of this one
        form = replace(whole.forms["gpu"], run=self.run, pack=self.pack, **own)

        def refuses(problem):
            return whole.refuses(problem) or self.refuses(problem)

        return replace(whole, refuses=refuses, forms={"gpu": form})
