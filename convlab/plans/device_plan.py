"""Plans that run on a device: arrays of the device stay there, NumPy arrays are copied there and back.

    prepared = plan(problem, w, bias, backend="gpu")
    y = prepared(x)                    # x of PyTorch, CuPy or Numba on the GPU: y is Numba's, on the GPU
    y = prepared(x)                    # x of NumPy: y is NumPy's
    torch.as_tensor(y, device="cuda")  # the same memory, for PyTorch

Work is put on CUDA's default stream and not waited for; only a copy to NumPy waits. So a workspace can go
from one thread's call to the next one's: what the stream was given first is done first. Where x comes from
another stream, as inside ``with torch.cuda.stream(side):``, kernels wait for that one, and it waits for them:
a call is in order with what was put on that stream before and after it (`convlab.gpu.streams`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, cast

from convlab.gpu.device import Gpu, using
from convlab.gpu.simulated_gpu import Simulator
from convlab.machine.memory import Memory
from convlab.plans.epilogue import EPILOGUES, check_wanted
from convlab.plans.plan import Plan, Ready
from convlab.support import device_arrays


class DevicePlan(Plan):
    """A convolution made ready on a device; see `Plan`.

    It is called with an x of NumPy, which is copied to the device, or of the device (anything with
    `__cuda_array_interface__`), C-contiguous, which is read where it lies. `out` is on the same side as x,
    and so is what a call returns; without `out`, on the device, that is one of Numba's arrays.

    Attributes
    ----------
    device : Gpu or Simulator
        Where it was made, and where it runs: also outside the ``with`` of a simulator.
    """

    def __init__(self, device: Gpu | Simulator, problem, w, bias, *chosen, epilogue: str | None = None):
        self.device = device
        with using(device):
            super().__init__(problem, w, None, *chosen, epilogue=epilogue)
        self.bias = None if bias is None else device.put(bias)
        self._form = waiting(device, self._form)

    def resize(self, **sizes) -> str:
        with using(self.device):
            return super().resize(**sizes)

    def with_weights(self, w) -> Plan:
        return super().with_weights(device_arrays.on_host("w", w, self.device))

    def repacked(self, w) -> Plan:
        with using(self.device):
            return super().repacked(w)

    def twin(self) -> Plan:
        with using(self.device):
            return super().twin()

    def _check(self, x, out, residual, ready: Ready) -> None:
        problem, there = ready.problem, device_arrays.described("x", x)
        if there is None:
            super()._check(x, None, residual, ready)
        else:
            with self._hinting(there, problem):
                shape, dtypes = problem.x_shape, (problem.dtype,)
                device_arrays.check_described("x", there, self.device, shape, "(N, H, W, C)", dtypes)
        beside = {"x": x} | self._inside(ready)
        if residual is not None or EPILOGUES[self.epilogue].adds:
            check_wanted(self.epilogue, residual)
            lies = device_arrays.check_same_side("residual", residual, "x", there is not None)
            if lies is not None:
                shape, dtypes = problem.y_shape, (problem.dtype,)
                device_arrays.check_described("residual", lies, self.device, shape, "(N, P, Q, K)", dtypes)
                beside["residual"] = residual  # y is complete before anything is added to it
        if out is not None:
            on_device, expected = there is not None, (problem.y_shape, problem.dtype)
            device_arrays.check_out_beside(on_device, out, *expected, self.device, **beside)

    def _compute(self, ready: Ready, x, out, residual=None):
        def run(x, *rest):
            *added, y = rest
            self._run(ready, x, y)
            if self.bias is not None or self.epilogue is not None:
                from convlab.gpu.epilogue import apply

                apply(y, self.bias, *(added or [None]), EPILOGUES[self.epilogue].floor)

        problem = ready.problem
        given = (x,) if residual is None else (x, residual)
        return across(self.device, run, given, out, problem.y_shape, problem.dtype)

    def _memory(self, output: int = 0) -> Memory:
        return Memory(output=output, device=self.device)


def across(device: Gpu | Simulator, run: Callable, given: tuple, out, shape: tuple[int, ...], dtype):
    """Run ``run(*given, out)`` on a device, and return the output on the side that `given` lies on.

    Arrays of NumPy are copied there and back; those of a device are taken as they are.
    """
    on_host = device_arrays.described("", given[0]) is None
    there = [device.put(one) if on_host else device.adopt(one) for one in given]
    result = device.empty(shape, dtype) if on_host or out is None else device.adopt(out)
    with using(device):
        run(*there, result)
    if on_host:
        return device.get(result, out)
    device.hand_back(*given, *([] if out is None else [out]))
    return result if out is None else out


def waiting(device: Gpu | Simulator, form: Any) -> Any:
    """Return the form whose run waits for the device, where another thread's call would not wait for it."""
    if not device.stream_per_thread:
        return form

    def run(*arguments) -> None:
        form.run(*arguments)
        wait_for(device)

    return replace(form, run=run)


def wait_for(device: Gpu | Simulator) -> None:
    """Wait for what was asked of a device whose threads have a stream each."""
    if device.stream_per_thread:
        cast(Gpu, device).wait()
