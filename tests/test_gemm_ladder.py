"""The ladder of notebook 03: every rung is right for every shape, and its machine code can be read."""

import numpy as np
import pytest
from effort import in_turns, sampled

from convlab import ConvError
from convlab.auto.roofs import multiply_add, multiply_adds
from convlab.auto.timing import compare
from convlab.cpu import gemm
from convlab.cpu.assembly import hottest_loop, loops
from convlab.cpu.gemm_ladder import pack
from convlab.cpu.gemm_rungs import rungs
from convlab.cpu.product_tile import product_tile
from convlab.cpu.register_tile import VectorTile, tile_for
from convlab.cpu.tile_model import TileBounds

RUNGS = {rung.name: rung for rung in rungs()}
rng = np.random.default_rng(1)


def factors(M, N, K, dtype="float32"):
    """Return a (M, K) and b (K, N) with whole numbers: every sum is exact."""
    return tuple(rng.integers(-8, 9, shape).astype(dtype) for shape in ((M, K), (K, N)))


@sampled(4)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", RUNGS)
def test_every_rung_is_a_product(name, dtype):
    rung = next(rung for rung in rungs(dtype) if rung.name == name)
    for M, N, K in [(1, 1, 1), (3, 5, 2), (4, 16, 8), (7, 33, 9), (9, 130, 50), (29, 70, 101)]:
        a, b = factors(M, N, K, dtype)
        assert np.array_equal(rung.prepare(a, b)(), a @ b), (M, N, K)


def test_a_rung_says_what_is_new():
    changes = [rung.change for rung in RUNGS.values()]
    assert len(set(changes)) == len(changes) == len(RUNGS)
    assert all(change.endswith(".") and len(change) < 90 for change in changes)


def test_packing_is_the_librarys():
    columns = 6 * tile_for("float32").cols  # whole panels, of two, three and four vectors
    tile = product_tile("float32", columns)
    _, b = factors(1, columns, 5)
    assert np.array_equal(pack(b, tile.cols).reshape(-1), gemm.pack(np.ascontiguousarray(b.T)[None])[0])
    panels = pack(b[:, : tile.cols + 1], tile.cols)
    assert panels.shape == (2, 5, tile.cols)
    assert not panels[1, :, 1:].any()


@in_turns
@pytest.mark.inside
@pytest.mark.filterwarnings("error")  # Numba warns of options that it does not know
def test_hottest_loop_of_every_rung():
    a, b = factors(8, 64, 64)
    found = {}
    for name, rung in RUNGS.items():
        found[name] = hottest_loop(rung.kernel, *rung.arguments(a, b, np.empty((8, 64), np.float32)))
    first, last = found["one by one: i, j, k"], list(found.values())[-1]
    assert first.multiply_adds > 0 == first.on_vectors
    assert found["along the row: i, k, j"].stores >= found["along the row: i, k, j"].on_vectors > 0
    tile = list(RUNGS.values())[-1].tile
    assert last.on_vectors % (tile.rows * tile.vectors) == 0 < last.on_vectors
    assert (last.stores, last.spills) == (0, 0)
    assert last.loads / last.multiply_adds < first.loads / first.multiply_adds


def test_a_tile_that_does_not_fit_spills():
    tile = tile_for("float32")
    a, b = factors(8, 64, 64)
    large = RUNGS[f"tile of {tile.rows} × 2 vectors"]
    large = type(large)(large.name, large.change, large.kernel, VectorTile(tile.rows, 5, tile.lanes))
    loop = hottest_loop(large.kernel, *large.arguments(a, b, np.empty((8, 64), np.float32)))
    assert loop.spills > 0


X86 = """
\t.text
outer:
.LBB0_1:
\txorl\t%ecx, %ecx
.LBB0_2:
\tvmovups\t(%rdi,%rcx,4), %zmm1   # a comment
\tvmovups\t64(%rsp), %zmm2
\tvfmadd231ps\t(%rsi){1to16}, %zmm1, %zmm2
\tvfmadd231ss\t(%rsi), %xmm1, %xmm2
\tvmovups\t%zmm2, 64(%rsp)
\tvmovups\t%zmm2, (%rdx)
\tmovq\t8(%rsp), %rbp
\tjne\t.LBB0_2
\tjne\t.LBB0_1
\tretq
"""
ARM = """
.LBB0_2:
\tldr q1, [x0], #16
\tldr q2, [sp, #32]
\tfmla v0.4s, v1.4s, v2.s[0]
\tfmadd s0, s1, s2, s0
\tstr q0, [sp, #48]
\tstr q0, [x1]
\tldp q3, q4, [x3]
\tsubs x2, x2, #1
\tb.ne .LBB0_2
\tret
"""


# Without AVX a product is made first and added afterwards, in place of the register it was made in.
SSE = """
.LBB0_2:
\tmovups (%rax), %xmm1
\tmovaps %xmm1, %xmm2
\tmulps (%rdx), %xmm2
\taddps %xmm2, %xmm0
\tmovss 4(%rax), %xmm3
\tmulss %xmm3, %xmm4
\taddss %xmm4, %xmm5
\tmovaps 16(%rsp), %xmm6
\tmovaps %xmm0, 32(%rsp)
\tmovaps %xmm0, (%rcx)
\tjne .LBB0_2
"""


@pytest.mark.parametrize("listing", [X86, SSE, ARM], ids=["x86", "sse", "arm"])
def test_instructions_are_counted(listing):
    (loop,) = loops(listing)
    counts = loop.multiply_adds, loop.on_vectors, loop.stores, loop.spills
    assert counts == (2, 1, 1, 2)
    assert loop.loads == 3  # on x86 a multiply-add may read memory itself; on ARM `ldp` fills two registers


def test_a_kernel_without_multiply_adds_is_refused():
    from convlab.cpu.jit import njit

    def nothing(a):
        return a

    with pytest.raises(ValueError, match="nothing has no loop"):
        hottest_loop(njit(nothing), 1)


def test_bounds():
    best = TileBounds(7, 2)
    assert (best.multiply_adds, best.used, best.fetched, best.limit, best.share) == (14, 17, 9, "units", 1)
    assert TileBounds(1, 1).share == 1 / 8
    assert TileBounds(4, 1, units=1).limit == "units"
    assert (TileBounds(4, 1).limit, TileBounds(4, 1).share) == ("latency", 0.5)
    assert (TileBounds(14, 1).limit, TileBounds(14, 1).share) == ("loads", pytest.approx(14 / 15))
    assert (TileBounds(7, 4).spilled, TileBounds(7, 4).limit) == (1, "registers")
    assert (TileBounds(7, 2, units=4).limit, TileBounds(7, 2, units=4).share) == ("latency", 14 / 16)
    assert TileBounds(7, 2, registers=16).spilled == 1
    assert TileBounds(6, 2, registers=16).spilled == 0


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_speed_of_any_tile(dtype):
    tile = VectorTile(3, 1, tile_for(dtype).lanes, dtype)
    assert multiply_add(1000, tile) == 1000 // (2 * 3 * tile.lanes) * 2 * 3 * tile.lanes
    assert 1e8 < multiply_adds(rounds=2, seconds=1e-4, tile=tile) < 1e12


def test_compare_refuses_a_wrong_rung():
    a, b = factors(8, 8, 8)
    with pytest.raises(ConvError, match="half is wrong"):
        compare({"half": lambda: a @ b / 2}, expected=a @ b, limit=1e-3)
