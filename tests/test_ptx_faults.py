"""Faults planted in what the compiler made of shipped kernels: the executor finds each.

A fault is found if the executor tells of it, or if what comes out is wrong. The same launches without it are
right, and nobody tells of anything.
"""

import re

import pytest
from cases import CASES, arrays, assert_close, in_parts
from effort import in_turns
from ptx_tools import Edited, needs_compiler

from convlab import plan
from convlab.algorithms.implicit_gemm.gpu import rung
from convlab.algorithms.tensor_core import KINDS, TILES, rounded, tensor_core
from convlab.algorithms.tensor_core import gpu as on_gpu
from convlab.algorithms.tensor_core.gpu import Plan
from convlab.benchmark.gpu.ladders import ladders
from convlab.gpu.device import using
from convlab.gpu.gemm.tile import Tile
from convlab.gpu.simulator.errors import (
    BARRIER,
    BOUNDS,
    DIVERGENT_WARP,
    MISALIGNED,
    RACE,
    SPIN,
    UNWRITTEN,
)
from tools.ptx import wave
from tools.ptx.memory import Fault
from tools.ptx.text import PtxError

pytestmark = pytest.mark.workshop

WRONG = "wrong numbers"
UNREADABLE = "cannot be read"
RUNGS = {name: one for ladder in ladders() for name, one in ladder.rungs().items()}
# Some edits name registers: so the tile is one of ours, whatever the library would choose.
OURS = "a tile of 32 by 32"
RUNGS[OURS] = rung(OURS, Tile(32, 32, 8, 4, 4, pairs=False), "", "").algorithm("implicit_gemm")
CASE = "one pixel of padding"
LARGE = "more filters than a tile"
LONG = "three channels"  # more pieces along its sums than shared memory holds at a time
SEEN = CASE, LARGE, LONG
CUT = "fp16, sums in two parts"


def outcome(algorithm, kernel, edit):
    """Return what comes of an algorithm of which one kernel was edited: a kind of fault, WRONG, or ""."""
    device = Edited(edit, kernel)
    found = ""
    inputs = "fp16" if algorithm == CUT else algorithm if algorithm in KINDS else None
    for problem in [in_parts(2, 2)] if algorithm == CUT else map(CASES.get, SEEN):
        x, w, bias = arrays(problem)
        chosen = tensor_core(inputs, TILES[-1]) if inputs else RUNGS.get(algorithm, algorithm)
        try:
            with using(device):
                y = plan(problem, w, bias, algorithm=chosen, backend="gpu")(x)
        except Fault as fault:
            found = fault.kind
        except PtxError:
            found = UNREADABLE
        seen = (rounded(x, inputs), rounded(w, inputs)) if inputs else (x, w)
        if not found:
            try:
                assert_close(y, *seen, problem, bias, rounding=getattr(RUNGS.get(algorithm), "rounding", 1.0))
            except AssertionError:
                found = WRONG
    assert device.edits, "nothing was edited"
    return found


def change(pattern, by, which=0):
    """Return an edit: the match number `which` of a pattern becomes something else; all with which=None."""

    def edit(ptx):
        matches = list(re.finditer(pattern, ptx, re.MULTILINE))
        if which is not None:
            matches = matches[which : which + 1 or None]
        for match in reversed(matches):
            new = by(match) if callable(by) else match.expand(by)
            ptx = ptx[: match.start()] + new + ptx[match.end() :]
        return ptx

    return edit


GEMM, TENSOR = (OURS, "product"), ("fp16", "tensor_core")
PARTS = CUT, "tensor_core"
TILED = ("im2row 1: one sum a thread", "shared_tile")

FAULTS = {
    # barriers
    "the first barrier is missing": (GEMM, change(r"bar\.sync \t0;", ""), RACE),
    "the second barrier is missing": (GEMM, change(r"bar\.sync \t0;", "", 1), RACE),
    "no barrier before the tile is filled anew": (TILED, change(r"bar\.sync \t0;", "", -1), RACE),
    "a barrier for some threads": (
        GEMM,
        change(r"bar\.sync \t0;", r"mov.u32 %r1, %tid.x;\nsetp.lt.u32 %p1, %r1, 7;\n@%p1 bar.sync \t0;"),
        RACE,
    ),
    "half of the threads leave before a barrier": (
        TILED,
        change(
            r"bar\.sync \t0;", r"mov.u32 %r1, %tid.x;\nsetp.lt.u32 %p1, %r1, 7;\n@%p1 ret;\nbar.sync \t0;"
        ),
        BARRIER,
    ),
    # widths and signs
    "four numbers are loaded where eight bytes are": (
        GEMM,
        change(r"ld\.shared\.v4\.f32", "ld.shared.v2.f32"),
        UNREADABLE,
    ),
    "an index as if it had a sign": (
        GEMM,
        change(r"setp\.ge\.u32(?=.*, %r53;)", "setp.ge.s32", None),
        BOUNDS,
    ),
    "a step of eight bytes for numbers of four": (
        GEMM,
        change(r"(mul\.wide\.u32 .*), 4;", r"\1, 8;"),
        BOUNDS,
    ),
    "a step of two bytes": (GEMM, change(r"(mul\.wide\.u32 .*), 4;", r"\1, 2;"), MISALIGNED),
    "an index is cut to its last bit": (
        ("direct 1: one thread per output", "direct"),
        change(r"(and\.b64  \t%rd\d+, %rd\d+), 4294967295;", r"\1, 1;", None),
        WRONG,
    ),
    "the sign of eight bits goes on": (
        ("im2row", "unfold"),
        change(r"mul\.wide\.u32 \t(%rd\d+), (%r\d+), 4;", r"cvt.s32.s8 \2, \2;\nmul.wide.s32 \1, \2, 4;", -1),
        BOUNDS,
    ),
    "the lower 16 bits of a product": (
        GEMM,
        change(r"mul\.lo\.s32 \t(%r\d+), (%r\d+), (%r\d+);", r"mov.u32 \1, 7;"),
        WRONG,
    ),
    # predicates
    "a predicate is negated": (GEMM, change(r"^\t@%p(\d+) bra", r"\t@!%p\1 bra"), UNWRITTEN),
    "one too many is let in": (GEMM, change(r"setp\.ge\.u32(?=.*, %r73;)", "setp.gt.u32", 1), WRONG),
    "or becomes and": (GEMM, change(r"or\.pred", "and.pred", None), BOUNDS),
    "a selection is the other way round": (
        GEMM,
        change(r"selp\.b32 \t(%r\d+), 0, (%r\d+),", r"selp.b32 \1, \2, 0,"),
        BOUNDS,
    ),
    # numbers
    "two lanes of a vector are exchanged": (
        GEMM,
        change(r"(ld\.shared\.v4\.f32 \t)\{(%f\d+), (%f\d+),", r"\1{\3, \2,"),
        WRONG,
    ),
    "a sum begins anew": (GEMM, change(r"(fma\.rn\.f32 .*), %f\d+;", r"\1, 0f00000000;", -1), WRONG),
    "a product is taken away": (
        GEMM,
        change(r"fma\.rn\.f32 \t(%f\d+), (%f\d+), (%f\d+), (%f\d+);", r"neg.f32 \1, \2;"),
        WRONG,
    ),
    # memory
    "a number is not stored": (GEMM, change(r"st\.global\.f32 .*", ""), UNWRITTEN),
    "a piece is stored four bytes further on": (
        GEMM,
        change(r"st\.shared\.f32 \t\[(%rd\d+)\+144\]", r"st.shared.f32 [\1+148]"),
        UNWRITTEN,
    ),
    "the shared array is a row too short": (
        GEMM,
        change(r"(_cudapy_smem_\d+)\[(\d+)\]", lambda m: f"{m[1]}[{int(m[2]) - 128}]"),
        BOUNDS,
    ),
    "a thread's sums go to its neighbour's place": (GEMM, change(r"%tid\.x", "%laneid", None), RACE),
    # control
    "a loop that never ends": (GEMM, change(r"(add\.s32 \t%r\d+, %r\d+), -2;", r"\1, 0;"), SPIN),
    "an instruction that nobody knows": (
        GEMM,
        change(r"cvta\.to\.global\.u64", "cvta.to.nowhere.u64"),
        UNREADABLE,
    ),
    # tensor cores
    "a copy is not waited for": (TENSOR, change(r"cp\.async\.wait_group 2;", ""), UNWRITTEN),
    "one group too few is waited for": (
        TENSOR,
        change(r"cp\.async\.wait_group 2;", "cp.async.wait_group 3;"),
        UNWRITTEN,
    ),
    "no group is closed": (TENSOR, change(r"cp\.async\.commit_group;", ""), UNWRITTEN),
    "the barrier behind the copies is missing": (TENSOR, change(r"bar\.sync \t0;", ""), RACE),
    "the next copies begin before the barrier": (
        TENSOR,
        change(r"bar\.sync \t0;((.|\n)*?cp\.async\.commit_group;)", r"\1\nbar.sync \t0;"),
        RACE,
    ),
    "padding is read, not filled with zeros": (
        TENSOR,
        change(r"(cp\.async\.ca.*), 16, %r\d+;", r"\1, 16, 16;"),
        BOUNDS,
    ),
    "two registers of A are exchanged": (
        TENSOR,
        change(r"(mma\..*\}, )\{(%r\d+),(%r\d+),", r"\1{\3,\2,"),
        WRONG,
    ),
    "the registers of B are exchanged": (
        TENSOR,
        change(r"(mma\..*), \{(%r\d+),(%r\d+)\},", r"\1, {\3,\2},"),
        WRONG,
    ),
    "ldmatrix points at the rows of half the lanes": (
        TENSOR,
        change(r"(and\.b32  \t%r\d+, %r\d+), 15;", r"\1, 7;"),
        WRONG,
    ),
    "half a warp multiplies": (
        TENSOR,
        change(r"(mma\.sync)", r"mov.u32 %r1, %laneid;\nsetp.lt.u32 %p1, %r1, 16;\n@%p1 \1"),
        DIVERGENT_WARP,
    ),
    "a copy goes where its part is not looked for": (
        TENSOR,
        change(r"xor\.b32  \t(%r\d+), (%r\d+), (%r\d+);", r"mov.u32 \1, \3;"),
        WRONG,
    ),
    "each step multiplies the same part of a row": (
        TENSOR,
        change(r"(xor\.b32  \t%r\d+, %r\d+), 8;", r"\1, 0;"),
        WRONG,
    ),
    "a pixel behind the last one is copied": (
        TENSOR,
        change(r"(selp\.b32 \t%r\d+, %r\d+), 1073741824,", r"\1, 0,", None),
        BOUNDS,
    ),
    "both arrays in shared memory are held at the same place": (
        TENSOR,
        change(r"(_cudapy_smem_\d+);((.|\n)*?)_cudapy_smem_\d+;", r"\1;\2\1;"),
        WRONG,
    ),
    "two numbers that are stored at once are exchanged": (
        TENSOR,
        change(r"(st\.global\.v2\.f32 .*)\{(%f\d+), (%f\d+)\}", r"\1{\3, \2}"),
        WRONG,
    ),
    "two numbers are stored at once at an odd place": (
        TENSOR,
        change(r"st\.global\.v2\.f32 \t\[(%rd\d+)\]", r"st.global.v2.f32 \t[\1+4]"),
        MISALIGNED,
    ),
    "every part adds up the first": (PARTS, change(r"(mov\.u32 \t%r\d+), %ctaid\.y;", r"\1, 0;"), WRONG),
    "every part is stored as the first": (
        PARTS,
        change(r"(mov\.u32 \t%r\d+), %ctaid\.y;", r"\1, 0;", 1),
        RACE,
    ),
    "a pair of float16 is the wrong way round": (
        ("fp16", "round_words"),
        change(r"(cvt\.rn\.f16x2\.f32 %r\d+), (%f\d+), (%f\d+);", r"\1, \3, \2;", -1),
        WRONG,
    ),
    "numbers go to tensor cores as they are": (
        ("tf32", "round_words"),
        change(r"cvt\.rna\.tf32\.f32 (%r\d+), (%f\d+);", r"mov.b32 \1, \2;"),
        WRONG,
    ),
}


KERNELS = sorted({kernel for kernel, _, _ in FAULTS.values()})


def cut(monkeypatch, algorithm):
    """Let a loop that never ends end soon, and the sums have two parts where they shall."""
    monkeypatch.setattr(wave, "MOST_BLOCKS", 2000)
    if algorithm == CUT:
        monkeypatch.setattr(on_gpu, "plan_for", lambda *given: Plan(TILES[-1], 2))


@in_turns
@needs_compiler
@pytest.mark.parametrize(("algorithm", "kernel"), KERNELS, ids=str)
def test_nothing_is_found_where_nothing_was_planted(monkeypatch, algorithm, kernel):
    """Else a fault might be found that was there before."""
    cut(monkeypatch, algorithm)
    assert outcome(algorithm, kernel, lambda ptx: ptx + "\n") == ""


@in_turns
@needs_compiler
@pytest.mark.parametrize("name", FAULTS)
def test_a_planted_fault_is_found(monkeypatch, name):
    (algorithm, kernel), edit, expected = FAULTS[name]
    cut(monkeypatch, algorithm)
    assert outcome(algorithm, kernel, edit) == expected
