"""The machine code of the CPU engine's hot loops, for AVX-512, AVX2 and ARM: what LLVM gives is guarded here.

A kernel promises on paper how many multiply-adds it does for each load. Whether the sums stay in registers is
up to LLVM, and a new version of it may see it otherwise. What it is depends on the versions that are locked,
hardly on the machine these tests run on.
"""

import re
from contextlib import contextmanager

import llvmlite.binding as llvm
import numba
import numpy as np
import pytest
from effort import in_turns
from numba.core.codegen import JITCodeLibrary

from convlab.algorithms.depthwise import cpu_kernel as depthwise
from convlab.algorithms.indirect import cpu as indirect
from convlab.algorithms.precomputed_gemm import cpu as precomputed
from convlab.algorithms.winograd import cpu as winograd
from convlab.algorithms.winograd.transforms import in_steps, transforms
from convlab.cpu import complex_gemm, gathered_gemm, gemm, product_tile, sliding_window, tile_size
from convlab.cpu.assembly import Loop, loops
from convlab.cpu.epilogue import Output, output
from convlab.cpu.small_matmul import Transform
from convlab.cpu.tile_model import TileBounds
from convlab.cpu.tile_size import VectorTile
from convlab.errors import UnsupportedError
from convlab.gradients import wgrad_product_cpu as wgrad
from convlab.machine import asked_target
from tools import cross_compile
from tools.cross_compile import HERE, Machine, listing

pytestmark = pytest.mark.inside

LINUX, ARM = "x86_64-unknown-linux-gnu", "aarch64-unknown-linux-gnu"
MACHINES = {  # and what LLVM says there of the processor that it runs on
    "icelake-server": (Machine(LINUX, "icelake-server"), "x86_64", ("avx512f", "avx2", "fma")),
    "znver4": (Machine(LINUX, "znver4"), "x86_64", ("avx512f", "avx2", "fma")),
    "haswell": (Machine(LINUX, "haswell"), "x86_64", ("avx2", "fma")),
    "neoverse-n1": (Machine(ARM, "neoverse-n1"), "aarch64", ("neon",)),
    "apple-m1": (Machine("arm64-apple-macosx", "apple-m1"), "arm64", ("neon",)),
}
ONE_OF_EACH = ("icelake-server", "haswell", "neoverse-n1")
REGISTERS = {"icelake-server": 32, "znver4": 32, "haswell": 16, "neoverse-n1": 32, "apple-m1": 32}
WHOLE = {64: r"%zmm\d", 32: r"%ymm\d", 16: r"\bq\d|\.[42][sd]|\.16b"}  # a vector register in full
PART = re.compile(r"%[xyz]mm\d|\bv\d+\.|\bq\d")


@contextmanager
def tile_model_of(name):
    """Let the model choose tiles inside a ``with`` as it would on that machine."""
    machine, architecture, features = MACHINES[name]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("platform.machine", lambda: architecture)
        patch.setattr(llvm, "get_host_cpu_features", lambda: dict.fromkeys(features, True))
        patch.setattr(llvm, "get_host_cpu_name", lambda: machine.cpu)
        for variable in asked_target.VARIABLES:
            patch.delenv(variable, raising=False)
        try:
            _forget()
            yield
        finally:
            _forget()


def _forget():
    tile_size.vector_bytes.cache_clear()
    product_tile.forget()
    sliding_window.window_for.cache_clear()
    sliding_window.window_tile.cache_clear()


def tile_on(name, dtype="float32", vectors=None):
    with tile_model_of(name):
        usual = tile_size.tile_for(dtype)
        return usual if vectors is None else product_tile.product_tile(dtype, vectors * usual.lanes)


def made(name, kernel, arguments) -> list[Loop]:
    """Return the loops of a kernel as it is compiled for a machine."""
    try:
        return loops(listing(MACHINES[name][0], kernel, tuple(map(numba.typeof, arguments))))
    except UnsupportedError as error:
        pytest.skip(str(error))


def hot_loop(name, kernel, arguments) -> Loop:
    """Return the loop in which a kernel spends its time: no tests at edges, and most of the multiply-adds.

    Where vectors are not full, or the window leaves the picture, are other loops: longer ones, or with jumps.
    """
    straight = [loop for loop in made(name, kernel, arguments) if loop.jumps == 1]
    return min(straight, key=lambda loop: (-loop.on_vectors, len(loop.lines)))


def check_vectors(loop, tile):
    """All multiply-adds work on full vectors, and nothing is called."""
    assert loop.multiply_adds == loop.on_vectors
    assert loop.calls == 0
    whole = WHOLE[tile.lanes * np.dtype(tile.dtype).itemsize]
    assert [line for line in loop.lines if PART.search(line) and not re.search(whole, line)] == []


# -- the listing is what would run -------------------------------------------------------------------------


def _code(binary: bytes) -> bytes:
    """Return the machine code in an object file: no names in it, no addresses yet."""
    return b"".join(part.data() for part in llvm.ObjectFileRef.from_data(binary).sections() if part.is_text())


def test_for_this_machine_it_yields_the_bytes_that_numba_runs(monkeypatch):
    kernel, *arguments = products(tile_size.tile_for())["complex_gemm"]
    signature = tuple(map(numba.typeof, arguments))
    begin = JITCodeLibrary.__init__

    def keeping(self, *given):
        begin(self, *given)
        self.enable_object_caching()

    monkeypatch.setattr(JITCodeLibrary, "__init__", keeping)
    fresh = cross_compile._anew(kernel)
    fresh.compile(signature)
    runs = _code(fresh.overloads[signature].library._get_compiled_object())
    emit_object = lambda library: library._codegen._tm.emit_object(library._final_module)  # noqa: E731
    monkeypatch.setattr(cross_compile._Library, "_emit", emit_object)
    assert _code(listing(HERE, kernel, signature)) == runs != b""


def test_what_was_compiled_for_another_machine_does_not_stay():
    array, total = np.ones(40, np.float32), numba.njit(lambda a: a.sum())
    tile_on("neoverse-n1")
    assert sum(loop.calls == 0 for loop in made("neoverse-n1", total, (array,))) > 0
    assert total(array) == 40
    assert tile_size.tile_for().lanes == tile_size.vector_bytes() // 4


def test_a_machine_that_llvm_does_not_know():
    with pytest.raises(UnsupportedError, match="triple='nowhere-none'"):
        listing(Machine("nowhere-none", "8008"), gemm.whole_panels, ())


@pytest.mark.parametrize(
    ("name", "rows", "lanes"),
    [("icelake-server", 7, 16), ("haswell", 6, 8), ("neoverse-n1", 7, 4), ("apple-m1", 7, 4)],
)
def test_tile_that_the_model_chooses(name, rows, lanes):
    """On all of them it fits; four multiply-adds a cycle, as on Apple's cores, want more sums than 7x2."""
    tile = tile_on(name)
    assert (tile.rows, tile.vectors, tile.lanes) == (rows, 2, lanes)
    bounds = TileBounds(tile.rows, tile.vectors, REGISTERS[name])
    assert (bounds.spilled, bounds.limit) == (0, "units")
    assert TileBounds(7, 2, 32, units=4).share == 14 / 16


# -- products on the register tile -------------------------------------------------------------------------


def products(tile):
    """Return kernel and arguments of every product; only the types matter."""
    a, panels = np.ones(9, tile.dtype), np.ones((2, 9), tile.dtype)
    out, added = (output(np.ones((1, 1, 1, 9), tile.dtype), residual=one) for one in (None, panels))
    places, masks = np.ones(9, np.int64), np.ones((2, 9), np.uint8)
    offsets = np.ones((2, 2, 2), np.int32)
    part, three, five, six = (0, 1, 0, 1), (1,) * 3, (1,) * 5, (1,) * 6
    listed, masked = (tile, a, offsets, places, a, panels), (tile, a, places, masks, a, a, out)
    return {
        "gemm": (gemm._block, *part, tile, None, a, 1, None, a, out, 0, *three, None),
        "gemm, next weights fetched": (gemm._block, *part, tile, None, a, 1, None, a, out, 0, *three, 0),
        "gemm of Winograd": (gemm._block, *part, tile, None, a, 1, None, a, Output(a, 1), 0, *three, 1),
        "gemm of long sums": (gemm._block, *part, tile, (0, 1), a, 1, None, a, out, 0, *three, None),
        "gathered_gemm": (gathered_gemm._add, *part, 0, 1, tile, a, 1, a, out, 0, None, *three),
        "complex_gemm": (complex_gemm._real, 0, 1, tile, a, 1, places, a, a, *three),
        "indirect": (indirect._block, *part, *listed, out, None, 0, five, None),
        "indirect, next weights fetched": (indirect._block, *part, *listed, out, None, 0, five, 0),
        "indirect, with a residual": (indirect._block, *part, *listed, added, None, 0, five, None),
        "precomputed_gemm": (precomputed._block, *part, *masked, six, 16, three, None),
        "precomputed_gemm, next weights fetched": (precomputed._block, *part, *masked, six, 16, three, 0),
        "wgrad": (wgrad._add, tile, *part, 1, a, *three, a, 1, 1, a, 1, 1),
    }


CASES = [(name, product) for name in ONE_OF_EACH for product in products(tile_on(name))]
CASES += [("znver4", "indirect"), ("apple-m1", "indirect")]


@in_turns
@pytest.mark.parametrize(("name", "product"), CASES)
def test_products_keep_their_sums_in_registers(name, product):
    """As many multiply-adds for each load as the tile promises, in one straight loop."""
    # Of float32 a product of rows is the next one too.
    check_product(name, product, tile_on(name, "float64" if product == "gemm" else "float32"))


WIDE = [(name, "gemm") for name in ("icelake-server", "znver4", "neoverse-n1")]
WIDE += [("icelake-server", product) for product in ("gathered_gemm", "indirect", "precomputed_gemm")]


@in_turns
@pytest.mark.parametrize("vectors", [3, 4])
@pytest.mark.parametrize(("name", "product"), WIDE)
def test_so_do_those_on_a_wide_tile(name, product, vectors):
    tile = tile_on(name, vectors=vectors)
    assert tile.vectors == vectors
    check_product(name, product, tile)


def check_product(name, product, tile):
    kernel, *arguments = products(tile)[product]
    loop, bounds = hot_loop(name, kernel, arguments), TileBounds(tile.rows, tile.vectors)
    check_vectors(loop, tile)
    steps, rest = divmod(loop.on_vectors, bounds.multiply_adds)  # LLVM may unroll
    assert rest == 0 < steps
    assert (loop.loads, loop.stores, loop.spills) == (steps * bounds.fetched, 0, 0)


@in_turns
@pytest.mark.parametrize("group", [2, 4, 8])
@pytest.mark.parametrize("name", ["icelake-server", "znver4", "neoverse-n1"])
def test_groups_side_by_side_keep_their_sums_in_registers(name, group):
    """A pixel is loaded once, or once for as many turns as 16 bytes have numbers; weights once a turn."""
    usual = tile_on(name)
    if group >= usual.lanes:
        pytest.skip("groups that fill a vector need nothing handed from lane to lane")
    tile = VectorTile(usual.rows, usual.vectors, usual.lanes, usual.dtype, group)
    kernel, *arguments = products(tile)["indirect"]
    loop = max(made(name, kernel, arguments), key=lambda loop: (loop.on_vectors, -loop.jumps))
    assert loop.multiply_adds == loop.on_vectors == tile.rows * tile.vectors * group
    assert (loop.stores, loop.spills) == (0, 0)
    if not name.startswith("neoverse"):  # there a part of a vector is loaded number by number, beside
        assert loop.loads <= tile.vectors * (tile.rows * -(-group // 4) + group)


# -- depthwise ---------------------------------------------------------------------------------------------


def depthwise_loops(name, taps, stride, outputs):
    """Return the loops over channels on a machine, of whole tiles and of the last in a line; window, tile."""
    with tile_model_of(name):
        window = sliding_window.window_for(taps, taps, (stride, stride), (1, 1))
        tile = sliding_window.window_tile("float32", window, outputs)
    (a,) = np.ones((1, 9), np.float32)
    sizes = depthwise.Sizes(*(1,) * 14)
    arguments = 0, 1, 0, 1, window, tile, a, a, output(a.reshape(1, 1, 1, 9)), a, sizes
    found = made(name, depthwise.windows, arguments)
    return [loop for loop in found if loop.jumps == 1 and loop.on_vectors], window, tile


@in_turns
@pytest.mark.parametrize("name", [*ONE_OF_EACH, "znver4", "apple-m1"])
@pytest.mark.parametrize(("taps", "stride", "outputs"), [(3, 1, 56), (3, 2, 56), (3, 2, 7), (5, 1, 56)])
def test_depthwise_keeps_its_sums_in_registers(name, taps, stride, outputs):
    """Each vector of a pixel is loaded once, of the weights once for either line, and once of the bias."""
    found, window, tile = depthwise_loops(name, taps, stride, outputs)
    taps, pixels = np.prod(window.taps), np.prod(window.under(tile.rows))
    assert len(found) == 2
    for loop in found:
        check_vectors(loop, tile)
        assert loop.on_vectors == 2 * tile.rows * tile.vectors * taps
        assert (loop.loads, loop.spills) == ((pixels + 2 * taps + 1) * tile.vectors, 0)
        many = name == "icelake-server" and stride == 2 and outputs == 7  # streams, each line new
        assert loop.prefetches == (pixels * tile.vectors if many else 0)
    assert max(loop.stores for loop in found) == 2 * tile.rows * tile.vectors


# -- Winograd's transforms ---------------------------------------------------------------------------------


MORE_MOVES = pytest.mark.xfail(
    strict=True,
    reason="LLVM reads all cells of a window before it transforms the first column, so sums and cells go to "
    "the stack and back more than once: 106 moves for 36 cells on 16 registers, 196 for 64 cells on 32",
)


@in_turns
@pytest.mark.parametrize(
    ("name", "m"),
    [
        ("icelake-server", 4),
        pytest.param("icelake-server", 6, marks=MORE_MOVES),
        ("haswell", 2),
        pytest.param("haswell", 4, marks=MORE_MOVES),
        ("neoverse-n1", 2),
        ("neoverse-n1", 4),
    ],
)
def test_transforms_touch_every_cell_once(name, m):
    """Each cell is loaded and stored once, in whole vectors; between columns and rows it may wait once.

    On the way out a vector of the bias comes along.
    """
    tile, (a, y) = tile_on(name), np.ones((2, 9), np.float32)
    AT, _, BT = transforms(m)
    there, back = (Transform(in_steps(matrix), tile.lanes) for matrix in (BT, AT))
    sizes = winograd.Sizes(*[1] * 9)
    windows = winograd._transform_windows, (there, back, 0, 1, 0, 1, a, sizes, y, a)
    out = winograd._transform_products, (back, tile, 0, 1, 0, 1, a, output(y), sizes, a)
    cells = there.inputs**2
    for (kernel, arguments), counts in zip((windows, out), ((cells, cells), (cells + 1, m**2)), strict=True):
        every = made(name, kernel, arguments)
        found = [loop for loop in every if (loop.loads, loop.stores) == counts]
        loop = min(found, key=lambda loop: len(loop.lines))
        assert loop.on_vectors == loop.multiply_adds
        assert loop.calls == 0
        assert loop.spills <= (2 * cells if cells > REGISTERS[name] / 2 else 0)
