"""The other kernels that convlab ships, and those of learners with their mistakes, as they are compiled.

The lane simulator and the executor know nothing of each other: one runs the source, the other what the
compiler made of it. So what both say of a kernel is held against each other.
"""

import numpy as np
import pytest
from effort import in_turns, share, spread
from ptx_tools import needs_compiler
from right_kernels import RIGHT

from convlab import bgrad
from convlab.benchmark.gpu import roofs
from convlab.errors import ConvError
from convlab.gpu.device import simulated, using
from convlab.gpu.numba_cuda import cuda
from convlab.gpu.ptx import store2, store4
from convlab.gpu.simulator.errors import BOUNDS, DIVERGENT_WARP, MISALIGNED, NEGATIVE, KernelError
from convlab.gpu.tensor_cores.fragments import one_product
from convlab.interview.coding.tasks import TASKS
from convlab.lessons import EXERCISES
from convlab.lessons.kernel_exercise import KernelExercise
from tools.ptx.device import Executor
from tools.ptx.memory import Fault

pytestmark = pytest.mark.workshop


def launched(kernel, grid, block, arguments):
    """Run a kernel; ("empty", shape, dtype) is an output. Return the device, and the arguments there."""
    device = Executor()
    there = []
    for argument in arguments:
        if isinstance(argument, tuple) and argument and argument[0] == "empty":
            there.append(device.empty(*argument[1:]))
        else:
            there.append(device.put(argument) if isinstance(argument, np.ndarray) else argument)
    device.launch(kernel, grid, block, *there)
    return device, there


# -- kernels that are right --------------------------------------------------------------------------------

# What orders these is a fence, or that one thread waits for what another writes: the executor knows barriers.
FENCES = {
    "sum by the last block",
    "last block where all threads fence",
    "last warp of a block",
    "sum under a lock",
    "blocks in a chain",
    "one warp waits for another",
}
# Numba for a device does not take them as they are written there.
SOURCE_ONLY = {
    "last block where one thread fences for all",
    "matrix product in tiles",
    "double buffer",
    "triple buffer",
}


@in_turns
@needs_compiler
@pytest.mark.parametrize("name", sorted(set(RIGHT) - FENCES - SOURCE_ONLY))
def test_right_kernels(name):
    kernel, grid, block, arguments, expected = RIGHT[name]
    device, there = launched(kernel, grid, block, arguments)
    if expected is not None:
        np.testing.assert_array_equal(device.get(there[-1]), expected)


# -- kernels of the exercises, and the mistakes that are known ---------------------------------------------

KERNELS = {name: one for name, one in EXERCISES.items() if isinstance(one, KernelExercise)}
KERNELS |= {name: one.exercise for name, one in TASKS.items() if isinstance(one.exercise, KernelExercise)}
# The source is wrong, and what the compiler makes of it is right by chance or by choice.
NOT_IN_THE_PTX = {
    ("tail", "takes the remainder for the last count, and puts nothing else in its place where it is 0"),
    ("register_tile", "begins its sums with whatever is there"),  # the compiler takes zeros
}


def by_executor(exercise, kernel):
    """Return what the executor says of a kernel: a kind of fault, "wrong", or ""."""
    for case in exercise.cases():
        names, empty = list(case.arguments), ("empty", case.expected.shape, case.expected.dtype)
        arguments = [empty if name == "y" else case.arguments[name] for name in names]
        try:
            device, there = launched(kernel, case.grid, case.block, arguments)
            y = device.get(there[names.index("y")])
        except Fault as fault:
            return fault.kind
        if not np.allclose(y, case.expected, atol=1e-4):
            return "wrong"
    return ""


def by_simulator(exercise, kernel):
    """Return what the lane simulator says: kinds of mistakes, "wrong", or nothing."""
    for case in exercise.cases():
        try:
            y, trace = case.run(kernel)
            trace.check()
        except KernelError as error:
            return {mistake.kind for mistake in error.mistakes}
        if not np.allclose(np.asarray(y), case.expected, atol=1e-4):
            return {"wrong"}
    return set()


@in_turns
@needs_compiler
@pytest.mark.parametrize("name", KERNELS)
def test_solutions_of_exercises(name):
    assert by_executor(KERNELS[name], KERNELS[name].solution) == ""


@in_turns
@needs_compiler
@pytest.mark.parametrize("name", KERNELS)
def test_both_find_the_same_mistakes(name):
    """Where the simulator finds nothing, the executor finds nothing; where it does, so does the executor.

    Of many mistakes every second one, for each is compiled anew; and those that the executor cannot see.
    """
    mistakes = KERNELS[name].mistakes
    some = spread(len(mistakes), max(3, len(mistakes) // 2))
    for number, mistake in share(enumerate(mistakes), list(KERNELS).index(name)):
        if number not in some and (name, mistake.name) not in NOT_IN_THE_PTX:
            continue
        kernel = KERNELS[name].wrong(mistake)
        kernel = kernel if hasattr(kernel, "py_func") else cuda.jit(kernel)
        kinds, found = by_simulator(KERNELS[name], kernel), by_executor(KERNELS[name], kernel)
        missed = kinds and not found
        assert bool(missed) == ((name, mistake.name) in NOT_IN_THE_PTX), (mistake.name, kinds, found)
        assert bool(kinds) or not found, (mistake.name, found)
        assert found != BOUNDS or kinds & {BOUNDS, NEGATIVE}, (mistake.name, kinds)


# -- the rest ----------------------------------------------------------------------------------------------


@needs_compiler
def test_the_kernels_of_the_roofs():
    """They check by themselves what they copied and added up."""

    class NoClock:
        device, l2_bytes = Executor(), None

        def timer(self, run):
            return lambda: run() or 1.0

    with using(NoClock.device):
        roofs.measure(NoClock(), 1, rounds=1, sizes=roofs.SMALL)
    assert len(NoClock.device.programs) >= 6


@needs_compiler
def test_the_gradient_of_the_bias():
    dy = np.random.default_rng(0).standard_normal((3, 7, 5, 6)).astype(np.float32)
    with using(Executor(fused=False)) as device:
        found = device.get(bgrad_there(device.put(dy)))
    np.testing.assert_array_equal(found, bgrad(dy))
    with simulated(traced=False) as device:
        np.testing.assert_array_equal(found, device.get(bgrad_there(device.put(dy))))


def bgrad_there(dy):
    from convlab.gradients.bgrad_gpu import bgrad

    return bgrad(dy)


@needs_compiler
@pytest.mark.parametrize("row", [16, 20])
def test_one_product_on_tensor_cores(row):
    x, w = np.random.default_rng(0).integers(-9, 9, (2, 16, 16)).astype(np.float32)
    device, there = launched(
        one_product(row), 1, 32, (x.view(np.uint32), w.view(np.uint32), ("empty", (16, 16), np.float32))
    )
    np.testing.assert_array_equal(device.get(there[-1]), x @ w.T)
    with pytest.raises(Fault, match=DIVERGENT_WARP):
        launched(one_product(row), 1, 31, (x.view("u4"), w.view("u4"), ("empty", (16, 16), np.float32)))


@needs_compiler
@pytest.mark.parametrize("store", [store2, store4], ids=["two", "four"])
def test_numbers_stored_at_once_begin_where_they_may(store):
    many = 2 if store is store2 else 4

    @cuda.jit
    def kernel(x, y, first):
        i = many * cuda.threadIdx.x
        if many == 2:
            store2(y, i + first, x[i], x[i + 1])
        else:
            store4(y, i + first, x[i], x[i + 1], x[i + 2], x[i + 3])

    x = np.arange(32 * many, dtype=np.float32)
    device, there = launched(kernel, 1, 32, (x, ("empty", x.shape, x.dtype), 0))
    np.testing.assert_array_equal(device.get(there[1]), x)
    with pytest.raises(Fault, match=MISALIGNED):
        launched(kernel, 1, 16, (x, ("empty", x.shape, x.dtype), 1))


@needs_compiler
def test_it_can_do_what_its_code_is_compiled_for():
    assert [Executor(arch).capability for arch in ("sm_80", "sm_90")] == [(8, 0), (9, 0)]


@needs_compiler
def test_it_refuses_what_it_is_not_for():
    with pytest.raises(ConvError, match="expected one of sm_80, sm_90"):
        Executor("sm_75")
    with pytest.raises(ConvError, match="no arrays of other libraries"):
        Executor().adopt(None)
    with pytest.raises(ConvError, match="bytes of memory"):
        Executor().empty(1 << 40, np.uint8)
