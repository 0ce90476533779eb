"""The passes backwards on a GPU: each candidate checked against float64, then timed in turns.

What is held against the reference is some of the output that shows every mistake: of dx two pictures, of dw
some filters; and all of it against "was not written". Weights are laid out before: that is a kernel of its
own, which runs once for new ones, and no part of these times.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial

import numpy as np

from convlab.auto.timing import check_output
from convlab.benchmark.baselines import Call
from convlab.benchmark.comparison import Comparison, Effort
from convlab.benchmark.layers import Workload
from convlab.benchmark.passes import IN_FLOAT64, PASSES, limit_of, shape_of
from convlab.errors import ConvError
from convlab.gpu.device import using
from convlab.gradients.api import plan_dgrad, plan_wgrad

FILTERS = 8  # of dw that are held against the reference


class DevicePass(Comparison):
    """Candidates for the gradient of a layer's input, or of its weights.

    Parameters
    ----------
    workload : Workload
    pass_ : str
        "dgrad" or "wgrad".
    effort, clock, **told
        As in `Comparison`; the clock is a device's.
    """

    def __init__(self, workload: Workload, pass_: str, effort: Effort, clock, **told):
        self.pass_ = pass_
        super().__init__(workload, effort, clock, **told)

    def prepare(self) -> None:
        """Make the two operands, and what some of the output is held against."""
        problem = self.workload.problem
        rng = np.random.default_rng(0)
        first, second = (rng.standard_normal(shape_of(problem, name), np.float32) for name in self.reads)
        self.limit = limit_of(problem, self.pass_, first, second)
        if self.pass_ == "dgrad":
            self.some = [0, problem.N - 1]
            some, small = (first[self.some], second), replace(problem, N=2)
        else:
            every = range(problem.K) if problem.groups > 1 else range(min(FILTERS, problem.K))
            self.some = list(every)
            some, small = (first, second[..., self.some]), replace(problem, K=len(every))
        self.expected = IN_FLOAT64[self.pass_](*some, small)
        self.lay_out((first, second))

    @property
    def reads(self) -> tuple[str, str]:
        """The names of the two operands."""
        return PASSES[self.pass_].reads

    def lay_out(self, operands: tuple[np.ndarray, np.ndarray]) -> None:
        """Put on the device what the candidates read, and make room for what they write."""
        self.operands, problem = operands, self.workload.problem
        given = operands[:1] if self.pass_ == "dgrad" else operands  # weights are laid out by the plan
        self.there = [self.clock.put(array) for array in given]
        self.y_there = self.clock.device.empty(shape_of(problem, PASSES[self.pass_].writes), problem.dtype)

    def check(self, name: str, call: Call, rounding: float = 1.0) -> None:
        """Run a candidate once, and refuse it if its output is wrong."""
        name = f"{name} on {self.workload.name}, {self.pass_}"
        self.clock.spoil(self.y_there)
        output = call.array(call.run())  # compiles, too
        if unwritten := int(np.isnan(output).sum()):
            raise ConvError(f"{name} is wrong: {unwritten} numbers are not written")
        check_output(name, output[self.some], self.expected, self.limit * rounding)

    def enter_ours(self, algorithms: Mapping | None = None) -> None:
        """Take in all of ours that have a form for the GPU and serve this layer."""
        for name, one in (algorithms or PASSES[self.pass_].algorithms).items():
            if "gpu" in one.forms and not one.supports(self.workload.problem):
                self.attempt(name, partial(self._planned, name), ours=True)

    def _planned(self, name: str) -> Call:
        how = {"algorithm": name, "backend": "gpu"}
        with using(self.clock.device):
            if self.pass_ == "dgrad":
                prepared = plan_dgrad(self.workload.problem, self.operands[1], **how)
            else:
                prepared = plan_wgrad(self.workload.problem, **how)
        return Call(lambda: prepared(*self.there, self.y_there), self.clock.get)
