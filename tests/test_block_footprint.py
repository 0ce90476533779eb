"""The order of blocks, and what each touches."""

import re

import numpy as np
import pytest
from cases import CASES, arrays
from effort import examples, sampled
from hypothesis import given, settings
from hypothesis import strategies as st

from convlab import ConvError, ConvProblem, im2row
from convlab.inspect.block_footprint import GemmBlock, count, implicit_gemm_blocks, precomputed_gemm_blocks

pytestmark = pytest.mark.inside

sizes = st.integers(1, 9)


@sampled(1)
@settings(deadline=None, max_examples=examples(60))
@given(problem=st.sampled_from(list(CASES.values())), m=sizes, n=sizes, k=sizes)
@pytest.mark.parametrize("order", [implicit_gemm_blocks, precomputed_gemm_blocks])
def test_blocks_cover_every_product_once(order, problem, m, n, k):
    products = np.zeros(problem.gemm, int)  # (M, N, K) of a group
    blocks = order(problem, m, n, k)
    for block in blocks:
        products[tuple(slice(r.start, r.stop) for r in block)] += 1
    assert (products == 1).all()
    assert sum(count(problem, block).flops for block in blocks) * problem.groups == problem.flops
    assert blocks == sorted(blocks, key=lambda b: (b.m.start, b.n.start))  # pieces of a sum come together


@pytest.mark.parametrize("order", [implicit_gemm_blocks, precomputed_gemm_blocks])
@pytest.mark.parametrize("wrong", [0, -1, 1.5, "2", True, None])
def test_a_block_that_is_none_is_refused(order, wrong):
    for place in range(3):
        blocks = [2, 2, 2]
        blocks[place] = wrong
        with pytest.raises(ConvError, match=re.escape(f"={wrong!r}; expected an integer above 0")):
            order(CASES["plain"], *blocks)


@pytest.mark.parametrize("problem", [p for p in CASES.values() if p.groups == 1])
def test_counts_are_those_of_the_matrix(problem):
    x = np.arange(1, 1 + np.prod(problem.x_shape), dtype="f8").reshape(problem.x_shape)  # no zeros, no twins
    matrix = im2row(x, problem)
    for block in implicit_gemm_blocks(problem, 7, 4, 11):
        cells = matrix[block.m.start : block.m.stop, block.k.start : block.k.stop]
        found, weights = count(problem, block), len(block.n) * len(block.k)
        assert found.cells == cells.size
        assert found.padding == (cells == 0).sum()
        assert found.numbers == len(set(cells[cells > 0]))
        assert found.bytes == (found.numbers + weights) * arrays(problem)[0].itemsize
        assert found.intensity == found.flops / found.bytes


def test_a_block_worked_out_by_hand():
    problem = ConvProblem(1, 4, 5, 2, 4, 3, 3, padding=1)
    found = count(problem, GemmBlock(range(6), range(2), range(6, 12)))  # the middle row of taps
    # Pixel (0, 0): s = 0 on padding; (0, 4): s = 2; (1, 0): s = 0. They read 5 pixels of row 0, 2 of row 1.
    assert (found.cells, found.padding, found.numbers) == (36, 6, 14)
    assert found.reuse == 30 / 14
    assert found.intensity == 2 * 6 * 2 * 6 / (4 * (14 + 12))
    nothing = count(ConvProblem(1, 2, 2, 1, 1, 1, 1, padding=3), GemmBlock(range(2), range(1), range(1)))
    assert (nothing.numbers, nothing.reuse) == (0, 0)
