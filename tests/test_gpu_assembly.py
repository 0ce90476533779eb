"""What the compiler makes of the kernels: no spills, no float64, loads of four, mostly multiply-adds."""

import numpy as np
import pytest
from effort import in_turns

from convlab import ConvProblem
from convlab.algorithms.depthwise import gpu_sliding
from convlab.algorithms.direct import gpu_filter_lines, gpu_filter_patch
from convlab.algorithms.im2row import gpu
from convlab.gpu.assembly import assemble
from convlab.gpu.availability import assembly_fault
from convlab.gpu.gemm import simple

TROUBLE = assembly_fault()
pytestmark = [
    pytest.mark.skipif(TROUBLE is not None, reason=f"no assembly: {TROUBLE}"),
    pytest.mark.parametrize("arch", ["sm_80", "sm_90"]),
]
FLAT = np.zeros(1, np.float32)


def check(built, registers, loads, stores):
    """Hold what every fast kernel promises; `loads` and `stores` of 128 bits, by memory."""
    assert built.spill_bytes == built.stack_bytes == 0
    assert not built.float64
    assert built.registers <= registers
    assert (built.count("LDG.E.128"), built.count("STG.E.128")) == (loads, stores)


@in_turns
def test_filter_of_7x7(arch):
    """Each line of pixels is 3 loads and 196 multiply-adds; once for the inside and once for the border."""
    problem = ConvProblem(1, 4000, 4000, 1, 1, 7, 7, padding=3)
    tall, registers = gpu_filter_patch.plan_for(problem)
    kernel = gpu_filter_patch.patch("float32", 7, 7, 3, tall, registers, 4, 4)
    built = assemble(kernel, *[FLAT] * 3, *[1] * 7, arch=arch)
    check(built, 128, loads=2 * (tall + 6) * 3 + 49 // 4, stores=tall)
    assert built.multiply_adds == 2 * tall * 4 * 49
    assert built.share("FFMA") > 0.75
    assert built.occupancy(256).blocks == 2


@in_turns
def test_lines_of_a_filter_of_7x7(arch):
    """Two lines a turn, each two copies, 3 loads, 196 multiply-adds and a store; and a wait for both.

    A loop without a branch inside, that fits where instructions come from.
    """
    built = assemble(gpu_filter_lines.lines(7, 7, 3, 4), *[FLAT] * 3, *[1] * 8, arch=arch)
    check(built, 128, loads=49 // 4, stores=2)
    (loop,) = built.loops
    assert loop.multiply_adds == built.multiply_adds == 2 * 4 * 49
    parts = loop.count("LDGSTS"), loop.count("LDS.128"), loop.count("STG"), loop.count("DEPBAR")
    assert parts == (4, 6, 2, 1)
    assert sum(operation.leaves for operation in loop.operations) == 1
    assert loop.share("FFMA") > 0.87
    assert 16 * len(loop) < 8 << 10  # bytes
    assert built.occupancy(gpu_filter_lines.LANES).blocks == 16


@in_turns
def test_depthwise_of_3x3(arch):
    kernel = gpu_sliding.sliding("float32", 3, 3)
    built = assemble(kernel, *[FLAT] * 3, *[1] * 12, arch=arch)
    check(built, 128, loads=6 * 6 + 9, stores=16)
    assert built.multiply_adds == 4 * 4 * 4 * 9
    assert built.occupancy(gpu_sliding.THREADS).blocks == 2


@in_turns
def test_register_tile_of_the_product(arch):
    built = assemble(simple.register_tile("float32", "k", True, True), *[FLAT] * 3, *[1] * 8, arch=arch)
    check(built, 128, loads=2, stores=4)
    loop = built.main_loop
    assert loop.multiply_adds == 16 * 16
    assert loop.count("LDS.128") == 2 * 16
    assert loop.share("FFMA") > 0.75


def test_im2row_copies_four_at_once(arch):
    built = assemble(gpu.unfold("float32", 4), FLAT, FLAT, *[1] * 16, arch=arch)
    check(built, 64, loads=gpu.RUN, stores=gpu.RUN)
