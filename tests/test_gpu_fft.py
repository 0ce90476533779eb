"""Convolution by Fourier transform on the GPU: cut, products, paste, and the library in between."""

import numpy as np
import pytest
from cases import arrays, assert_close
from effort import in_turns

from convlab import ALGORITHMS, ConvProblem, UnsupportedError, conv2d, plan
from convlab.algorithms.fft import gpu
from convlab.algorithms.fft.tiles import tile_size, tiles
from convlab.gpu import fft_library
from convlab.gpu.device import Gpu, simulated, using

pytestmark = pytest.mark.inside


@in_turns
@pytest.mark.inside
def test_several_tiles_of_a_larger_picture():
    problem = ConvProblem(2, 40, 37, 2, 2, 3, 5, padding=((1, 0), (0, 3)))
    assert len(tiles(problem, tile_size(problem))) == 8
    x, w, bias = arrays(problem)
    with simulated(traced=False) as device:
        made = plan(problem, w, bias, algorithm="fft_tiled", backend="gpu")
        y = made(x)
    assert_close(y, x, w, problem, bias, rounding=ALGORITHMS["fft_tiled"].rounding)
    assert sum(array.nbytes for array in made.workspace.values()) == made.cost.workspace_bytes
    assert made.packed.nbytes == made.cost.packed_bytes
    assert len(device.traces) == 4  # cut, multiply, paste, bias


def test_cut_and_paste_touch_neighbours_in_memory():
    problem = ConvProblem(1, 6, 6, 32, 32, 3, 3)
    pictures = gpu.pictures_of("whole", problem)
    x, y = np.ones(problem.x_shape, np.float32), np.ones(problem.y_shape, np.float32)
    cut_out = np.ones((pictures.rows * pictures.cols * 32,), np.float32)
    with simulated() as device:
        gpu.cut_all(pictures, problem, x.reshape(-1), cut_out)
        gpu.paste_all(pictures, problem, cut_out, y.reshape(-1))
    for trace in device.traces:
        for site in trace.sites():
            assert site.sectors == 4 * site.requests, site


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_complex_product_as_one_of_real_numbers(dtype):
    """Weights are squares of real numbers: the products of one frequency, held against NumPy's."""
    problem = ConvProblem(3, 4, 4, 4, 6, 2, 2, groups=2, dtype=dtype)
    _, w, _ = arrays(problem)
    pictures, products = gpu.pictures_of("whole", problem), gpu.products_of("whole", problem)
    complex_type = np.result_type(dtype, 1j)
    rng = np.random.default_rng(5)
    a = rng.standard_normal(products.x_shape).astype(dtype)
    with simulated(traced=False) as device:
        y = device.empty((np.prod(products.y_shape),), dtype)
        gpu.batched.multiply(products, a.reshape(-1), gpu.pack("whole", problem, w), y)
    y = y.view(complex_type).reshape(3, pictures.frequencies, 2, 3)
    a = a.view(complex_type).reshape(3, pictures.frequencies, 2, 2)
    weights = gpu.packed_spectra(problem, w, (pictures.rows, pictures.cols))  # (F, G, C/G, K/G)
    expected = np.einsum("bfgc,fgck->bfgk", a, weights)
    np.testing.assert_allclose(y, expected, atol=20 * np.finfo(dtype).eps * np.abs(expected).max())


def test_there_and_back_again():
    library = fft_library.NumPyTransforms()
    for dtype in ("float32", "float64"):
        pictures = np.random.default_rng(1).standard_normal((2, 6, 10, 3)).astype(dtype)
        spectra = library.forward(pictures)
        assert (spectra.shape, spectra.dtype) == ((2, 6, 6, 3, 2), dtype)
        back = library.backward(spectra, 10)
        assert back.dtype == dtype
        np.testing.assert_allclose(back, pictures, atol=100 * np.finfo(dtype).eps)


def test_a_missing_library_is_named(monkeypatch):
    monkeypatch.setattr(fft_library, "find_spec", lambda name: None)
    problem = ConvProblem(1, 4, 4, 1, 1, 3, 3)
    x, w, _ = arrays(problem)
    monkeypatch.setattr(Gpu, "free", lambda self: 1 << 40)  # there is no driver to ask
    for algorithm in "fft", "fft_tiled":
        with using(Gpu()), pytest.raises(UnsupportedError, match="pip install cupy-cuda13x"):
            conv2d(x, w, algorithm=algorithm, backend="gpu")
