"""Winograd on the GPU: the functions written out from the matrices, and the transforms, lane by lane."""

import inspect

import numpy as np
import pytest
from cases import arrays, assert_close
from effort import sampled

from convlab import ConvProblem
from convlab.algorithms.winograd import gpu
from convlab.algorithms.winograd.gpu_transforms import source, written_out
from convlab.algorithms.winograd.transforms import in_steps, operations, transforms
from convlab.gpu.assembly import assemble
from convlab.gpu.availability import assembly_fault
from convlab.gpu.device import simulated
from convlab.gpu.gemm import batched

pytestmark = pytest.mark.inside

TROUBLE = assembly_fault()
SIZES = (2, 4, 6)
sizes = pytest.mark.parametrize("m", SIZES)


@sizes
@pytest.mark.parametrize("which", ["AT", "BT"])
def test_what_is_written_out_is_the_matrix(m, which):
    matrix = getattr(transforms(m), which)
    function = written_out(
        in_steps(matrix), f"test_{which}_{m}", "float64"
    ).py_func.__wrapped__  # as it was written
    numbers = np.random.default_rng(m).standard_normal(len(matrix[0]))
    cells = np.zeros(3 * numbers.size)
    cells[1::3] = numbers
    with np.errstate(all="raise"):
        function(cells, 1, 3)  # as NumPy runs it
    expected = np.array(matrix, float) @ numbers
    np.testing.assert_allclose(cells[1::3][: len(expected)], expected, rtol=1e-12)


def test_what_is_written_out_can_be_read():
    text = source(in_steps(transforms(2).BT), "into")
    assert "a0 = d0 - d2\n" in text
    assert "number" not in text  # F(2, 3) has ones only
    function = written_out(in_steps(transforms(2).BT), "into", "float32")
    assert inspect.getsource(function.py_func) == text
    for m in SIZES:
        for matrix in (transforms(m).AT, transforms(m).BT):
            text = source(in_steps(matrix), "f")
            done = text.count(" + ") + text.count(" - ") + text.count("number(") - text.count("at + ")
            assert done == operations(in_steps(matrix)), text


@sizes
def test_every_request_of_the_transforms_is_as_wide_as_can_be(m):
    """With 32 channels and filters, 32 lanes read and write 128 bytes that lie side by side: four sectors."""
    problem = ConvProblem(1, 2 * m, m, 32, 32, 3, 3, padding=1)
    products = gpu.products_of(m, problem)
    V, x = (np.ones(shape, np.float32) for shape in (products.x_shape, problem.x_shape))
    with simulated() as device:
        gpu.transform_windows(m, problem, x.reshape(-1), V.reshape(-1))
        gpu.transform_products(m, problem, V.reshape(-1), x.reshape(-1))
    for trace in device.traces:
        assert len(trace.sites()) == 2
        for site in trace.sites():
            assert site.sectors == 4 * site.requests, site


def test_one_block_of_the_shipped_tile():
    """The products of one place, with as many tiles and filters as nearly fill a block."""
    layer = ConvProblem(8, 56, 56, 128, 128, 3, 3, padding=1)
    tile = batched.tile_for(gpu.products_of(4, layer))
    assert (tile.block_m, tile.block_n) == (64, 64)
    few = batched.as_convolution(16, 36, 64, 64, "float32")  # a strip of a larger tile
    assert batched.tile_for(few) == batched.SMALL
    one_place = batched.as_convolution(60, 1, 20, 60, "float32")
    a, w, _ = arrays(one_place)
    with simulated(traced=False) as device:
        y = device.empty(one_place.y_shape, "float32")
        arguments = batched.implicit_loader, batched.shape(one_place, tile), a, a
        packed = batched.pack(one_place, w)
        batched.launch.multiply(one_place, tile, 1, *arguments, packed, None, y)
    assert_close(y, a, w, one_place)


@sampled(3)
@pytest.mark.skipif(TROUBLE is not None, reason=f"no assembly: {TROUBLE}")
@pytest.mark.parametrize("arch", ["sm_80", "sm_90"])
@sizes
def test_windows_stay_in_registers(m, arch):
    n, numbers = m + 2, np.zeros(1, np.float32)
    AT, _, BT = transforms(m)
    for kernel, count, most, stored in (
        (gpu.input_transform(m, "float32"), 8, operations(in_steps(BT)) * 2 * n, n * n),
        (gpu.output_transform(m, "float32"), 6, operations(in_steps(AT)) * (n + m), m * m),
    ):
        built = assemble(kernel, numbers, numbers, *[1] * count, arch=arch)
        assert (built.stack_bytes, built.spill_bytes, built.float64) == (0, 0, {})
        assert built.memory == {"LDG.E": n * n, "STG.E": stored}
        done = built.count("FADD") + built.count("FMUL") + 2 * built.count("FFMA")
        assert 0.9 * most < done <= most  # no multiplication by 0, 1 or -1
