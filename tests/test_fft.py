"""What only the transforms have: sizes, spectra, edges of tiles, and the error they leave."""

from math import log2

import numpy as np
import pytest
from cases import arrays, assert_close

from convlab import ALGORITHMS, ConvProblem, plan
from convlab.algorithms import Formula
from convlab.algorithms.fft import tiles, transforms
from convlab.cost.formula import fast_size
from convlab.oracle import reference

both = pytest.mark.parametrize("algorithm", ["fft", "fft_tiled"])
backends = pytest.mark.parametrize("backend", ["numpy", "cpu"])


def close(problem, algorithm, backend, threads=1):
    x, w, _ = arrays(problem)
    y = plan(problem, w, algorithm=algorithm, backend=backend, threads=threads)(x)
    assert_close(y, x, w, problem, label=str(problem), rounding=ALGORITHMS[algorithm].rounding)


# -- sizes -------------------------------------------------------------------------------------------------


def test_fast_sizes_have_small_factors_and_none_is_left_out():
    def smooth(n):
        for factor in (2, 3, 5):
            while n % factor == 0:
                n //= factor
        return n == 1

    for least in range(1, 600):
        assert fast_size(least) == next(n for n in range(least, 2000) if smooth(n))
    assert fast_size(2**31 - 1) == 2**31  # found at once: all sizes are tried, not all numbers
    assert fast_size(2**31 + 1) > 2**31


def test_formulas_know_log2_and_fast():
    problem = ConvProblem(2, 30, 27, 3, 5, 3, 4)
    assert Formula("fast(P+R)")(problem) == 32  # 31
    assert Formula("fast((Q+S-1)/2)")(problem) == 15  # 13.5
    assert Formula("N * log2(fast(P+R))")(problem) == 10
    assert Formula("1000000 * log2(H)")(problem) == round(1e6 * log2(30))


@pytest.mark.parametrize(("pixels", "taps"), [(56, 3), (56, 7), (7, 3), (1, 1), (64, 31), (100, 50), (30, 1)])
def test_tiles_share_the_picture_evenly(pixels, taps):
    problem = ConvProblem(1, pixels + taps - 1, pixels + taps - 1, 1, 1, taps, taps)
    size = tiles.tile_size(problem)
    good = tiles.good_outputs(problem, size)
    assert size[1] % 2 == 0
    if taps <= 16:
        assert max(size) <= tiles.TILE
    assert max(size) <= max(tiles.TILE, 2.5 * taps)
    assert all(a <= b for a, b in zip(size, transforms.transform_size(problem), strict=True))
    places = tiles.tiles(problem, size)
    covered = np.zeros((problem.P, problem.Q), int)
    for _, p, q in places:
        covered[p : p + good[0], q : q + good[1]] += 1
    assert (covered == 1).all()


# -- spectra -----------------------------------------------------------------------------------------------


def test_a_spectrum_is_the_sum_of_its_definition():
    rng = np.random.default_rng(0)
    w = rng.standard_normal((2, 3, 2, 4))  # (k, R, S, c)
    rows, cols = size = 5, 6
    got = transforms.spectra_of(w, size, corner=(2, 1)).reshape(rows, cols // 2 + 1, 2, 4)
    for u in range(rows):
        for v in range(cols // 2 + 1):
            waves = [
                [np.exp(2j * np.pi * (u * (r - 2) / rows + v * (s - 1) / cols)) for s in range(2)]
                for r in range(3)
            ]
            expected = np.einsum("rs,krsc->kc", waves, w)  # exp(+...): the conjugate
            np.testing.assert_allclose(got[u, v], expected, rtol=0, atol=1e-13)


@both
def test_packed_weights_are_the_same_numbers_in_both_forms(algorithm):
    problem = ConvProblem(1, 9, 8, 4, 6, 3, 2, padding=((1, 0), (2, 1)), groups=2)
    w = arrays(problem)[1]
    form, fast = (ALGORITHMS[algorithm].forms[backend] for backend in ("numpy", "cpu"))
    spectra, panels = form.pack(problem, w), fast.pack(problem, w)
    F, G, channels, filters = spectra.shape
    lanes = panels.shape[1] // channels  # 2 * 3 columns, padded to whole vectors
    columns = panels.reshape(F, G, channels, lanes)[..., : 2 * filters]
    # Both are computed in double precision: they differ near 0, or by a last bit where that is a tie.
    np.testing.assert_allclose(columns, spectra.view(np.float32), rtol=2**-23, atol=1e-14)


def test_there_and_back_gives_the_picture():
    rng = np.random.default_rng(0)
    for dtype, limit in ((np.float32, 1e-6), (np.float64, 1e-15)):
        x = rng.standard_normal((2, 5, 7, 3)).astype(dtype)
        buffers = [np.full(2 * 6 * (8 + 2) * 3, np.nan, dtype) for _ in range(2)]
        spectra = transforms.forward(x, (6, 8), buffers)
        assert spectra.dtype == np.result_type(dtype, 1j)
        lying_first = transforms.as_complex(buffers[0], spectra.shape)
        lying_first[...] = spectra
        back = transforms.backward(lying_first, 5, (6, 8), buffers)
        assert back.shape == (2, 5, 8, 3)
        assert np.abs(back[:, :, :7] - x).max() < limit * 10
        assert np.abs(back[:, :, 7:]).max() < limit * 10  # what was appended comes back as zeros


# -- edges -------------------------------------------------------------------------------------------------


@both
@backends
@pytest.mark.parametrize(
    "sizes",
    [
        {"H": 9, "W": 8, "R": 7, "S": 5},  # more than half of the picture
        {"H": 6, "W": 5, "R": 6, "S": 5},  # all of it: one output
        {"H": 3, "W": 4, "R": 9, "S": 11, "padding": ((6, 0), (0, 7))},  # more than the picture
        {"H": 6, "W": 7, "R": 2, "S": 3, "padding": ((9, 0), (0, 13))},  # padding larger than the picture
        {"H": 40, "W": 5, "R": 1, "S": 5, "padding": ((0, 3), (2, 0))},
        {"H": 70, "W": 33, "R": 3, "S": 1, "padding": 1},
        {"H": 32, "W": 62, "R": 3, "S": 3, "padding": ((0, 0), (1, 1))},  # one tile exactly; two exactly
        {"H": 33, "W": 63, "R": 3, "S": 3, "padding": ((0, 0), (1, 1))},  # one row and column more
        {"H": 50, "W": 75, "R": 17, "S": 20, "padding": (8, (10, 9))},  # a tile larger than 32
    ],
)
def test_edges(algorithm, backend, sizes):
    if "padding" in sizes and isinstance(sizes["padding"], tuple):
        sizes = sizes | {"padding": tuple((p, p) if isinstance(p, int) else p for p in sizes["padding"])}
    close(ConvProblem(**{"N": 2, "C": 3, "K": 2} | sizes), algorithm, backend)


@both
@backends
def test_more_pictures_than_a_chunk(algorithm, backend):
    for pictures in (transforms.CHUNK, transforms.CHUNK + 1, 2 * transforms.CHUNK + 5):
        close(ConvProblem(pictures, 4, 5, 2, 3, 3, 2, padding=1), algorithm, backend)
    sizes = [len(range(*chunk.indices(89))) for chunk in transforms.chunks(89)]
    assert sum(sizes) == 89
    assert max(sizes) - min(sizes) <= len(sizes)
    assert max(sizes) <= transforms.CHUNK


@both
def test_more_threads_than_frequencies(algorithm):
    close(ConvProblem(2, 1, 2, 3, 5, 1, 1), algorithm, "cpu", threads=8)


@both
def test_what_is_refused_and_why(algorithm):
    supports = ALGORITHMS[algorithm].supports
    assert "the stride is 2x1" in supports(ConvProblem(1, 9, 9, 1, 1, 3, 3, stride=(2, 1)))
    assert "the dilation is 1x3" in supports(ConvProblem(1, 9, 9, 1, 1, 3, 3, dilation=(1, 3)))
    assert supports(ConvProblem(1, 9, 9, 4, 4, 3, 3, groups=4, padding=2)) is None


@both
@backends
def test_another_size_of_picture_gets_spectra_of_its_own(algorithm, backend):
    problem = ConvProblem(1, 9, 8, 2, 3, 3, 3, padding=1)
    w = arrays(problem)[1]
    original = w.copy()
    prepared = plan(problem, w, algorithm=algorithm, backend=backend)
    w[...] = 0  # the plan has kept its own
    for change in ({"H": 14}, {"N": 3}, {"W": 21}):
        before = prepared.packed
        assert prepared.resize(**change) == "all"
        assert (prepared.packed is before) == (change == {"N": 3})
        x = arrays(prepared.problem)[0]
        assert_close(prepared(x), x, original, prepared.problem, rounding=ALGORITHMS[algorithm].rounding)
        assert prepared.packed.nbytes == prepared.cost.packed_bytes


# -- error and cost ----------------------------------------------------------------------------------------


@pytest.mark.inside
@backends
@pytest.mark.parametrize("channels", [64, 256, 512])
def test_the_error_is_that_of_a_matrix_product(channels, backend):
    """A transform adds the channels up just as im2row does, and its own share is small."""
    problem = ConvProblem(1, 26, 26, channels, 16, 3, 3, padding=1)
    x, w, _ = arrays(problem)
    expected = reference(x, w, problem)

    def error(algorithm):
        return np.abs(plan(problem, w, algorithm=algorithm, backend=backend)(x) - expected).max()

    limit = 2 * error("im2row")
    assert 0 < error("fft") < limit
    assert 0 < error("fft_tiled") < limit


@backends
@both
@pytest.mark.parametrize("hot", [1, 1e3, 1e6])
def test_the_bound_of_the_docstring_holds_and_is_reached_nearly(algorithm, backend, hot):
    """Also far from a pixel that is much larger than the others: in `fft` it is felt in the whole picture."""
    problem = ConvProblem(1, 100, 90, 4, 3, 5, 5, padding=2)
    rng = np.random.default_rng(0)
    x = rng.uniform(0.5, 1, problem.x_shape).astype("f4")
    w = rng.standard_normal(problem.w_shape).astype("f4")
    x[0, 91, 10, 1] *= hot
    y = reference(x, w, problem)
    error = np.abs(plan(problem, w, algorithm=algorithm, backend=backend)(x) - y)
    size = (transforms.transform_size if algorithm == "fft" else tiles.tile_size)(problem)
    rms = np.sqrt(np.square(x, dtype="f8").sum() / np.prod(size) / problem.C)
    mixed = ALGORITHMS[algorithm].rounding * rms * np.linalg.norm(w.reshape(problem.K, -1), axis=1)
    eps = np.finfo("f4").eps
    assert (error <= 8 * eps * (mixed + np.abs(y))).all()
    far = (error / (8 * eps * mixed))[0, :9, 60:]
    if algorithm == "fft":
        assert far.max() > 0.05
    elif hot > 1:
        assert far.max() < 0.05  # in other tiles


def test_the_work_does_not_grow_with_the_filter():
    def flops(algorithm, taps):
        return ALGORITHMS[algorithm].flops(ConvProblem(1, 64, 64, 16, 16, taps, taps))

    assert transforms.transform_size(ConvProblem(1, 62, 62, 1, 1, 3, 3, padding=1)) == (64, 64)
    products = 8 * 64 * 33 * 16 * 16
    rows, columns = 62 * 5 * 32 * 6, 33 * 5 * 64 * 6  # of one channel, there
    back = 62 * 5 * 32 * 6 + columns
    layer = ConvProblem(1, 62, 62, 16, 16, 3, 3, padding=1)
    assert ALGORITHMS["fft"].flops(layer) == products + 16 * (rows + columns + back)
    assert flops("direct", 31) > 5 * flops("direct", 7)
    assert flops("fft", 31) <= flops("fft", 7)
