"""Plans of gradients that run on a device: arrays of the device stay there, NumPy arrays go there and back.

    prepared = plan_wgrad(problem, backend="gpu")
    dw = prepared(x, dy)               # both of PyTorch, CuPy or Numba on the GPU: so is dw
    dw = prepared(x, dy)               # both of NumPy: so is dw

They are to `GradientPlan` what `DevicePlan` is to `Plan`, and take what that takes.
"""

from __future__ import annotations

from typing import Any

from convlab.gpu.device import Gpu, using
from convlab.gpu.simulated_gpu import Simulator
from convlab.gradients.plan import AXES, DataGradient, GradientPlan, WeightGradient, shapes
from convlab.machine.memory import Memory
from convlab.plans.device_plan import across, wait_for, waiting
from convlab.problem import ConvProblem
from convlab.support import device_arrays
from convlab.support.checks import check_array


class OnDevice(GradientPlan):
    """A gradient made ready on a device: what both kinds have in common.

    Attributes
    ----------
    device : Gpu or Simulator
        Where it was made, and where it runs: also outside the ``with`` of a simulator.
    """

    def __init__(self, device: Gpu | Simulator, *chosen):
        self.device = device
        with using(device):
            super().__init__(*chosen)
        self._form = waiting(device, self._form)

    def _empty(self, shape, dtype):  # type: ignore[override]
        return self.device.empty(shape, dtype)

    def _packed(self, w: Any, *rest: Any) -> Any:
        with using(self.device):
            packed = super()._packed(w, *rest)
        wait_for(self.device)
        if device_arrays.described("w", w) is not None:
            self.device.hand_back(w)
        return packed

    def _check(self, given: tuple, out: Any) -> None:
        named, inside = dict(zip(self.takes, given, strict=True)), self.workspace | {"packed": self.packed}
        check_operands(self.device, self.problem, self.makes, out, named, inside)

    def _compute(self, given: tuple, out: Any) -> Any:
        def run(*arrays):
            self._run(arrays[:-1], arrays[-1])

        return across(self.device, run, given, out, self._shapes[self.makes], self.problem.dtype)

    def _memory(self) -> Memory:
        return Memory(device=self.device)


class DeviceDataGradient(OnDevice, DataGradient):
    """The gradient of the input on a device; `update` takes weights of either side."""

    def _check_weights(self, w: Any) -> None:
        check_operand(self.device, self.problem, "w", w)


class DeviceWeightGradient(OnDevice, WeightGradient):
    """The gradient of the weights on a device."""


MADE = {DataGradient: DeviceDataGradient, WeightGradient: DeviceWeightGradient}


def check_operand(device, problem: ConvProblem, name: str, array: Any) -> bool:
    """Refuse an operand that does not fit a problem; say if it lies on the device.

    Raises
    ------
    ArrayError, ShapeError
    """
    there, axes = device_arrays.described(name, array), AXES[name]
    expected = shapes(problem)[axes], axes, (problem.dtype,)
    if there is None:
        check_array(name, array, *expected)
    else:
        device_arrays.check_described(name, there, device, *expected)
    return there is not None


def check_operands(
    device, problem: ConvProblem, makes: str, out: Any, given: dict, others: dict | None = None
) -> bool:
    """Refuse operands, by their names, or an `out` that do not fit; say if they lie on the device.

    Weights may lie on either side, all else on that of the first.

    Raises
    ------
    ArrayError, ShapeError
    """
    first = next(iter(given))
    on_device = check_operand(device, problem, first, given[first])
    for name, array in given.items():
        if name not in (first, "w"):
            device_arrays.check_same_side(name, array, first, on_device)
        check_operand(device, problem, name, array)
    if out is not None:
        shape, axes = shapes(problem)[makes], {"axes": makes, "beside": first}
        named: dict[str, Any] = axes | given | (others or {})
        device_arrays.check_out_beside(on_device, out, shape, problem.dtype, device, **named)
    return on_device
