"""Plans that run on a device: arrays of the device stay there, NumPy arrays are copied there and back.

    prepared = plan(problem, w, bias, backend="gpu")
    y = prepared(x)                    # x of PyTorch, CuPy or Numba on the GPU: y is Numba's, on the GPU
    y = prepared(x)                    # x of NumPy: y is NumPy's
    torch.as_tensor(y, device="cuda")  # the same memory, for PyTorch

Work is put on CUDA's default stream and not waited for; only a copy to NumPy waits. So a workspace can go
from one thread's call to the next one's: what the stream was given first is done first.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from convlab.auto.select import Memory
from convlab.backends import choose_backend
from convlab.errors import ArrayError, ShapeError
from convlab.gpu import arrays
from convlab.gpu.device import current, using
from convlab.plans.plan import Plan, prepare
from convlab.problem import ConvProblem
from convlab.support.checks import check_array, check_out


class DevicePlan(Plan):
    """A convolution made ready on a device; see `Plan`.

    Attributes
    ----------
    device : Gpu or Simulator
        Where it was made, and where it runs: also outside the ``with`` of a simulator.
    """

    def __init__(self, problem, w, bias, algorithm, backend, threads):
        self.device = current()
        super().__init__(problem, w, None, algorithm, backend, threads)
        self.bias = None if bias is None else self.device.put(bias)
        if self.device.stream_per_thread:  # another thread's call would not wait for this one's
            self._form = replace(self._form, run=self._run_and_wait)

    def _run_and_wait(self, *arguments) -> None:
        self.algorithm.forms[self.backend].run(*arguments)
        self.device.wait()

    def resize(self, **sizes) -> str:
        with using(self.device):
            return super().resize(**sizes)

    def __call__(self, x, out=None):
        """Return the convolution of x, written into `out` if it is given.

        Parameters
        ----------
        x : array, (N, H, W, C)
            Of NumPy: copied to the device. Or of the device (anything with `__cuda_array_interface__`),
            C-contiguous: read where it lies.
        out : array, (N, P, Q, K), optional
            On the same side as x.

        Returns
        -------
        array, (N, P, Q, K)
            `out`, or a new array on the side of x; one of Numba's on the device.

        Raises
        ------
        ConvError
            If x or out does not fit the plan.
        """
        ready, device = self._ready, self.device
        problem = ready.problem
        there = arrays.described("x", x)
        if there is None:
            self._check(x, problem)
        else:
            self._check_described(there, problem)
        inside = {"packed": ready.packed, "bias": self.bias} | ready.workspace
        check_one_out(out, problem, device, there, x=x, **inside)
        on_device = device.put(x) if there is None else device.adopt(x)
        new = there is None or out is None
        y = device.empty(problem.y_shape, problem.dtype) if new else device.adopt(out)
        with using(device):
            self._run(ready, on_device, y)
            if self.bias is not None:
                from convlab.gpu import bias

                bias.add(y, self.bias)
        self.rebuilt = "nothing"
        if there is None:
            return device.get(y, out)
        return y if out is None else out

    def _check_described(self, x: arrays.Described, problem: ConvProblem) -> None:
        try:
            shape, dtypes = problem.x_shape, (problem.dtype,)
            arrays.check_described("x", x, self.device, shape, "(N, H, W, C)", dtypes)
        except ShapeError as error:
            raise self._with_hint(error, x.shape, problem) from None

    def _memory(self, output: int) -> Memory:
        return Memory(output, 0, self.threads, self.device)


def plan_on_device(problem, w, bias, algorithm, threads, output=None, copied=0) -> DevicePlan:
    """Do what `plan` does, on a device; `output` and `copied` as in `convlab.plans.plan.prepare`."""
    choose_backend("gpu")
    device = current()
    w, bias = on_host("w", w, device), on_host("bias", bias, device)
    return prepare(problem, w, bias, algorithm, "gpu", threads, output, copied, DevicePlan, device)


def conv2d_on_device(x, w, bias, parameters: dict, algorithm, threads, out):
    """Do what `conv2d` does, on a device; `parameters` are those of `ConvProblem`."""
    choose_backend("gpu")
    device = current()
    there = arrays.described("x", x)
    if there is None:
        check_array("x", x)
        like = x
    else:
        arrays.check_described("x", there, device)
        like = np.broadcast_to(np.empty((), there.dtype), there.shape)  # takes no memory
    w = on_host("w", w, device)
    problem = ConvProblem.of(like, w, **parameters)
    check_one_out(out, problem, device, there, x=x)
    output = problem.y_bytes if there is None or out is None else 0
    copied = problem.x_bytes if there is None else 0
    return plan_on_device(problem, w, bias, algorithm, threads, output, copied)(x, out)


def on_host(name: str, array, device) -> np.ndarray | None:
    """Return weights or a bias as a NumPy array: they are packed there, once."""
    there = arrays.described(name, array)
    if there is None:
        return array
    arrays.check_described(name, there, device)
    return device.get(device.adopt(array))


def check_one_out(out, problem: ConvProblem, device, there, **others) -> None:
    """Refuse an `out` that is on another side than x, or that does not fit, or that is another array too."""
    if out is None:
        return
    if there is not None:
        arrays.check_device_out(out, problem.y_shape, problem.dtype, device, **others)
        return
    if arrays.described("out", out) is not None:
        raise ArrayError("out lies on a device, and x is a NumPy array; expected both on one side")
    check_out(out, problem.y_shape, problem.dtype, **others)
