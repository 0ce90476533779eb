"""Pictures and results in files: read from where they lie, written where they belong, and refused."""

import os
import re
import shutil
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from effort import in_turns
from numpy.lib.stride_tricks import as_strided
from test_strips import BORDERS, three_layers

from convlab import ArrayError, ConvError, ParameterError, ShapeError, WorkspaceError
from convlab.distributed import Layers, Mosaic, run
from convlab.distributed.mapped import MAPPINGS
from convlab.distributed.rows_in import rows_of
from convlab.distributed.sources import CONVERTED, FileRows, parts, read_into
from convlab.distributed.span import Span
from convlab.distributed.targets import MappedTarget
from convlab.distributed.zarr_out import chunk_of
from convlab.support.units import bytes_text

pytestmark = pytest.mark.inside

H, W = 60, 50
HOW = {"progress": False, "backend": "cpu", "algorithm": "im2row", "height": 4}


@pytest.fixture(scope="module")
def problem():
    """Layers, a picture of numbers, the same as bytes, and what comes out of both, computed undivided."""
    layers, x = three_layers(H, W)
    small = np.rint(x * 255).astype(np.uint8)
    how = HOW | {"height": layers.shape[1]}
    wanted = run(layers, x, **how).result, run(layers, small.astype(np.float32) / 255, **how).result
    return layers, {"float32": x, "uint8": small}, dict(zip(("float32", "uint8"), wanted, strict=True))


class Slices:
    """An array that has slices, a shape and a dtype, and nothing else."""

    def __init__(self, array):
        self._array, self.shape, self.dtype = array, array.shape, array.dtype

    def __getitem__(self, where):
        return self._array[where]


def saved(folder, x):
    np.save(folder / "x.npy", x)
    return folder / "x.npy"


def mapped(folder, x):
    return np.load(saved(folder, x), mmap_mode="r")


def inside(folder, x):
    """Return x as a part of a larger array that is mapped: there are others on all sides of it."""
    around = np.pad(x, ((1, 1), (7, 2), (3, 4), (0, 0)), constant_values=77)
    return np.load(saved(folder, around), mmap_mode="r")[1:2, 7 : 7 + H, 3 : 3 + W]


def upside_down(folder, x):
    return np.load(saved(folder, x[:, ::-1]), mmap_mode="r")[:, ::-1]


def changed(folder, x):
    """Return x mapped, with changes that nobody has written to the file yet."""
    found = np.load(saved(folder, np.zeros_like(x)), mmap_mode="r+")
    found[...] = x
    return found


def changed_in_memory(folder, x):
    found = np.load(saved(folder, np.zeros_like(x)), mmap_mode="c")
    found[...] = x
    return found


def raw(folder, x):
    """Return x as it is mapped from a file of bytes, behind others."""
    (folder / "x.raw").write_bytes(b"before" + x.tobytes())
    return np.memmap(folder / "x.raw", x.dtype, "r", 6, x.shape)


def packed(folder, x):
    zarr = pytest.importorskip("zarr")
    zarr.create_array(str(folder / "x.zarr"), shape=x.shape, dtype=x.dtype, chunks=(1, 7, 9, 2))[...] = x
    return folder / "x.zarr"


def packed_and_opened(folder, x):
    return pytest.importorskip("zarr").open_array(packed(folder, x), mode="r")


FILES = [saved, mapped, inside, upside_down, changed, raw]
SOURCES = [
    *FILES,
    lambda folder, x: str(saved(folder, x)),
    lambda folder, x: np.asarray(inside(folder, x)),
    lambda folder, x: x,
    lambda folder, x: np.asfortranarray(x),
    lambda folder, x: Slices(x),
    changed_in_memory,
    packed,
    packed_and_opened,
]


@in_turns
@pytest.mark.parametrize("borders", BORDERS)
@pytest.mark.parametrize("dtype", ["float32", "uint8"])
@pytest.mark.parametrize("source", SOURCES)
def test_sources(source, dtype, borders, problem, tmp_path):
    layers, pictures, wanted = problem
    done = run(layers, source(tmp_path, pictures[dtype]), borders=borders, **HOW)
    np.testing.assert_array_equal(done.result, wanted[dtype])


@pytest.mark.parametrize("source", FILES)
def test_what_lies_in_a_file_is_read_and_not_mapped(source, problem, tmp_path):
    assert isinstance(rows_of(source(tmp_path, problem[1]["float32"])), FileRows)


def replaced(path):
    """Put another file in the place of one; who has mapped the old one still has it."""
    np.save(path.with_name("new.npy"), np.zeros_like(np.load(path)))
    path.with_name("new.npy").rename(path)


MOVED = {
    "another has its name": replaced,
    "it has another name": lambda path: path.rename(path.with_name("moved.npy")),
    "it was deleted": lambda path: path.unlink(),
}
linux = pytest.mark.skipif(not MAPPINGS.exists(), reason="only Linux tells where a mapped file is found")


@linux
@pytest.mark.parametrize("what", MOVED)
def test_what_is_mapped_is_read_though_its_file_has_moved(what, problem, tmp_path):
    layers, pictures, wanted = problem
    source = mapped(tmp_path, pictures["float32"])
    MOVED[what](tmp_path / "x.npy")
    np.testing.assert_array_equal(run(layers, source, **HOW).result, wanted["float32"])


@linux
@pytest.mark.parametrize("what", MOVED)
def test_what_is_mapped_is_written_though_its_file_has_moved(what, problem, tmp_path):
    layers, pictures, wanted = problem
    target = whole_file(tmp_path, layers.shape)
    MOVED[what](tmp_path / "y.npy")
    run(layers, pictures["float32"], target, **HOW)
    np.testing.assert_array_equal(target, wanted["float32"])
    if what == "another has its name":
        assert not np.load(tmp_path / "y.npy").any(), "a file that is not the target's was written to"


def test_columns_are_read_without_the_others(tmp_path):
    """Also of a row that is read in several parts."""
    x = np.random.default_rng(0).random((2, 3, CONVERTED // 8 + 5, 3)).astype(np.float32)
    rows, columns = Span(1, 3), Span(4, x.shape[2] - 2)
    into = np.empty((rows.size, columns.size, 3), np.float32)
    source = rows_of(saved(tmp_path, x))
    assert len(list(parts(source, rows, columns))) == 4
    read_into(source, 1, rows, columns, into)
    np.testing.assert_array_equal(into, x[1, 1:3, columns.start : columns.stop])


def test_parts_are_whole_chunks():
    """Where a chunk is packed, to read half of it twice would unpack it twice."""
    x = SimpleNamespace(shape=(1, 100, 2000, 3), dtype=np.dtype("float32"), chunk=(30, 400))
    found = list(parts(x, Span(10, 95), Span(50, 2000)))  # of seven chunks; there are five side by side
    assert found == [
        (Span(10, 30), Span(50, 2000)),
        *((Span(row, min(row + 30, 95)), Span(50, 2000)) for row in (30, 60, 90)),
    ]
    x.chunk = (60, 400)
    found = list(parts(x, Span(10, 95), Span(50, 2000)))  # of three
    rows, columns = (Span(10, 60), Span(60, 95)), (Span(50, 1200), Span(1200, 2000))
    assert found == [(some, others) for some in rows for others in columns]


# -- targets -----------------------------------------------------------------------------------------------


def filled(shape):
    return np.full(shape, 7, np.float32)


def part_of_a_file(folder, shape):
    """Return a part of an array that is mapped; all of that is 7 before."""
    N, P, Q, K = shape
    np.save(folder / "y.npy", filled((N + 1, P + 3, Q + 2, K)))
    return np.load(folder / "y.npy", mmap_mode="r+")[1:, 2:-1, 1:-1]


def whole_file(folder, shape):
    np.save(folder / "y.npy", filled(shape))
    return np.load(folder / "y.npy", mmap_mode="r+")


def zarr_array(folder, shape):
    zarr = pytest.importorskip("zarr")
    return zarr.create_array(str(folder / "y.zarr"), shape=shape, dtype="float32", chunks=(1, 3, 5, 3))


def zarr_path(folder, shape):
    pytest.importorskip("zarr")
    return folder / "y.zarr"


TARGETS = {
    "array": lambda folder, shape: filled(shape),
    "every other column": lambda folder, shape: filled((*shape[:2], 2 * shape[2], shape[3]))[:, :, ::2],
    "path": lambda folder, shape: str(folder / "y.npy"),
    "mapped": whole_file,
    "part of a mapped one": part_of_a_file,
    "Zarr": zarr_path,
    "Zarr array": zarr_array,
}


@pytest.mark.parametrize("borders", BORDERS)
@pytest.mark.parametrize("target", TARGETS)
def test_targets(target, borders, problem, tmp_path):
    layers, pictures, wanted = problem
    given = TARGETS[target](tmp_path, layers.shape)
    done = run(layers, pictures["float32"], given, borders=borders, **HOW)
    if isinstance(done.result, Path):
        assert done.result == Path(given)
        assert os.listdir(tmp_path) == [Path(given).name]
    else:
        assert done.result is given
    np.testing.assert_array_equal(read_back(done.result), wanted["float32"])


def read_back(result):
    if not isinstance(result, Path):
        return result[...]
    if result.suffix == ".npy":
        return np.load(result)
    return pytest.importorskip("zarr").open_array(result, mode="r")[...]


def test_a_mapped_target_is_written_where_it_lies(problem, tmp_path, monkeypatch):
    layers, pictures, wanted = problem
    written = []
    write = MappedTarget.write
    monkeypatch.setattr(
        MappedTarget, "write", lambda self, *rest: (written.append(rest[1]), write(self, *rest))
    )
    run(layers, pictures["float32"], part_of_a_file(tmp_path, layers.shape), **HOW)
    assert len(written) == -(-layers.shape[1] // HOW["height"])
    whole = np.load(tmp_path / "y.npy")
    np.testing.assert_array_equal(whole[1:, 2:-1, 1:-1], wanted["float32"])
    whole[1:, 2:-1, 1:-1] = 7
    assert (whole == 7).all(), "something around the result was written over"


@pytest.mark.parametrize("suffix", [".npy", ".zarr"])
def test_several_pictures_replace_what_had_the_name(suffix, problem, tmp_path):
    layers = Layers.on((3, 9, 8, 2)).conv(np.ones((4, 3, 3, 2), np.float32), padding=1)
    x = np.random.default_rng(0).random(layers.picture_shape, np.float32)
    target = tmp_path / f"y{suffix}"
    if suffix == ".zarr":
        pytest.importorskip("zarr")
    wanted = run(layers, x, **HOW | {"height": 9}).result
    for picture in (np.zeros_like(x), x):
        run(layers, picture, target, **HOW)
    np.testing.assert_array_equal(read_back(target), wanted)
    assert os.listdir(tmp_path) == [target.name]


@pytest.mark.parametrize("height", [1, 7, 12, 4096, 30_011])
@pytest.mark.parametrize("K", [1, 8, 3000])
def test_chunks_of_zarr_are_parts_of_one_strip(K, height):
    _, rows, columns, _ = chunk_of((1, 30_011, 40_000, K), np.dtype("float32"), height)
    assert height % rows == 0
    assert rows * columns * K * 4 <= CONVERTED
    assert rows == height or (rows + 1) * K * 4 > CONVERTED or height % (rows + 1)


# -- what is refused ---------------------------------------------------------------------------------------


def refused(error, match, source, target, problem, **how):
    """Assert that a run is refused before anything is read or written."""
    reads = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(FileRows, "read", lambda self, *rest: reads.append(rest))
        with pytest.raises(error, match=match) as caught:
            run(problem[0], source, target, **HOW | how)
    assert not reads
    return str(caught.value)


BAD_SOURCES = {
    "NUL": (lambda folder, x: folder / "x\0.npy", ParameterError, "expected the name of a file"),
    "no file": (lambda folder, x: folder / "none.npy", ParameterError, "No such file"),
    "text": (lambda folder, x: write(folder / "x.npy", b"hello, world"), ParameterError, "is no .npy file"),
    "half a header": (lambda folder, x: cut(saved(folder, x), 30), ParameterError, "is no .npy file"),
    "no end": (lambda folder, x: cut(saved(folder, x), -1), ArrayError, "bytes; expected"),
    "a folder": (lambda folder, x: folder, ParameterError, "is (a folder|no Zarr array)"),
    "columns": (lambda folder, x: saved(folder, np.asfortranarray(x)), ArrayError, "column by column"),
    "columns, mapped": (
        lambda folder, x: np.load(saved(folder, np.asfortranarray(x)), mmap_mode="r"),
        *(ArrayError, "do not lie row by row"),
    ),
    "other numbers": (lambda folder, x: saved(folder, x.astype(">f4")), ArrayError, "has dtype >f4"),
    "mapped doubles": (lambda folder, x: mapped(folder, x.astype("f8")), ArrayError, "has dtype float64"),
    "three axes": (lambda folder, x: saved(folder, x[0]), ShapeError, "four axes"),
    "another size": (lambda folder, x: saved(folder, x[:, 1:]), ShapeError, "expected .1, 60, 50, 3"),
    "a list": (lambda folder, x: x.tolist(), ArrayError, "is a list"),
    "a strange dtype": (
        lambda folder, x: SimpleNamespace(shape=x.shape, dtype="torch.float", __getitem__=x.__getitem__),
        *(ArrayError, "expected a NumPy array"),
    ),
}


def write(path, content):
    path.write_bytes(content)
    return path


def cut(path, size):
    return write(path, path.read_bytes()[:size])


@pytest.mark.parametrize("borders", BORDERS)
@pytest.mark.parametrize("case", BAD_SOURCES)
def test_bad_sources(case, borders, problem, tmp_path):
    make, error, words = BAD_SOURCES[case]
    refused(error, words, make(tmp_path, problem[1]["float32"]), tmp_path / "y.npy", problem, borders=borders)
    assert not list(tmp_path.glob("y.npy*"))


BAD_TARGETS = {
    "suffix": (lambda folder, shape: folder / "y.tif", ParameterError, r"ends with \.npy or \.zarr"),
    "NUL": (lambda folder, shape: folder / "y\0.npy", ParameterError, "expected the name of a file"),
    "no folder": (lambda folder, shape: folder / "none" / "y.npy", ParameterError, "there is no folder"),
    "a folder": (lambda folder, shape: made(folder / "y.npy"), ParameterError, "no ordinary file"),
    "a folder that is none of Zarr's": (
        lambda folder, shape: made(folder / "y.zarr"),
        *(ParameterError, "no Zarr array|install zarr"),
    ),
    "a file": (
        lambda folder, shape: write(folder / "y.zarr", b""),
        *(ParameterError, "no Zarr array|install zarr"),
    ),
    "shape": (lambda folder, shape: np.empty((1, 2, 3, 4), "f4"), ShapeError, "target has shape"),
    "doubles": (lambda folder, shape: np.empty(shape), ArrayError, "has dtype float64; expected float32"),
    "read-only": (
        lambda folder, shape: np.load(saved(folder, filled(shape)), mmap_mode="r"),
        *(ArrayError, "read-only"),
    ),
    "a number": (lambda folder, shape: 7, ArrayError, "target is a int"),
    "one row for all": (
        lambda folder, shape: as_strided(np.zeros(shape[1:], "f4"), shape, (0, 0, 4 * shape[3], 4)),
        *(ArrayError, "share their bytes"),
    ),
}


def made(path):
    path.mkdir()
    return path


@pytest.mark.parametrize("case", BAD_TARGETS)
def test_bad_targets(case, problem, tmp_path):
    make, error, words = BAD_TARGETS[case]
    layers, pictures, _ = problem
    source = saved(made(tmp_path / "pictures"), pictures["float32"])
    target = make(tmp_path, layers.shape)
    before = sorted(os.listdir(tmp_path))
    refused(error, words, source, target, problem)
    assert sorted(os.listdir(tmp_path)) == before


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_may_not_be_written(problem, tmp_path):
    tmp_path.chmod(0o500)
    refused(ParameterError, "cannot be written", problem[1]["float32"], tmp_path / "y.npy", problem)


def test_the_lock_says_why_nothing_can_be_written(problem, tmp_path, monkeypatch):
    monkeypatch.setattr(
        os, "open", lambda *rest, **options: (_ for _ in ()).throw(PermissionError(13, "denied"))
    )
    refused(ParameterError, "cannot be written: denied", problem[1]["float32"], tmp_path / "y.npy", problem)


def same_by_another_way(folder, x):
    (folder / "link.npy").symlink_to(saved(folder, x))
    return folder / "link.npy", folder / "x.npy"


OVERWRITTEN = {
    "name": lambda folder, x: (saved(folder, x), folder / "x.npy"),
    "link": same_by_another_way,
    "another way": lambda folder, x: (saved(folder, x), folder / ".." / folder.name / "x.npy"),
    "mapped": lambda folder, x: (mapped(folder, x), str(folder / "x.npy")),
    "both mapped": lambda folder, x: (mapped(folder, x), np.load(folder / "x.npy", mmap_mode="r+")),
    "what is unfinished": lambda folder, x: (
        saved(folder, x).rename(folder / "y.npy.part"),
        folder / "y.npy",
    ),
    "Zarr": lambda folder, x: (packed(folder, x), folder / "x.zarr"),
    "array of Zarr": lambda folder, x: (packed_and_opened(folder, x), folder / "x.zarr"),
    "array": lambda folder, x: (x, x),
    "part of an array": lambda folder, x: (x, x[:, ::-1]),
}


@pytest.mark.parametrize("case", OVERWRITTEN)
def test_the_source_is_not_written_over(case, tmp_path):
    """Of all pictures, one that has the result's shape: or another refusal would come first."""
    layers = Layers.on((1, 6, 5, 4)).conv(np.ones((4, 3, 3, 4), np.float32), padding=1)
    x = np.random.default_rng(0).random(layers.picture_shape, np.float32)
    before = x.copy()
    source, target = OVERWRITTEN[case](tmp_path, x)
    with pytest.raises(ConvError, match=r"is the source|shares memory, or its file"):
        run(layers, source, target, **HOW)
    np.testing.assert_array_equal(
        read_back(source) if isinstance(source, Path) and source.suffix == ".npy" else x, before
    )


@pytest.mark.parametrize("borders", BORDERS)
def test_a_budget_that_is_too_small_is_refused_at_once(borders, problem, tmp_path):
    source = saved(tmp_path, problem[1]["float32"])
    text = refused(
        WorkspaceError,
        "memory=3.00 KiB",
        source,
        tmp_path / "y.npy",
        problem,
        borders=borders,
        memory="3 KiB",
        height=None,
    )
    assert re.search(r"takes [1-9]\.\d+ MiB", text), text
    assert os.listdir(tmp_path) == ["x.npy"]


def test_a_result_that_no_memory_holds_is_refused_in_words():
    small = np.zeros((64, 64, 3), np.uint8)
    big = Mosaic(small, 100_000, 100_000)
    layers = Layers.on(big.shape).conv(np.ones((64, 3, 3, 3), np.float32), padding=1)
    with pytest.raises(WorkspaceError, match=r"target=None needs 2\.33 TiB .* are free; expected"):
        run(layers, big, height=1, memory="2 GiB", algorithm="im2row", backend="numpy", progress=False)
    with pytest.raises(ParameterError, match="expected fewer than 8 EiB"):
        run(layers, big, memory="9" * 400, progress=False)


def has_free(monkeypatch, size):
    monkeypatch.setattr(shutil, "disk_usage", lambda path: SimpleNamespace(free=size))


@pytest.mark.parametrize("suffix", [".npy", ".zarr"])
def test_a_disk_that_is_too_small_is_refused_at_once(suffix, problem, tmp_path, monkeypatch):
    if suffix == ".zarr":
        pytest.importorskip("zarr")
    size = problem[0].nodes[-1].nbytes
    has_free(monkeypatch, size - 1)
    source = saved(tmp_path, problem[1]["float32"])
    text = refused(WorkspaceError, "are free on its disk", source, tmp_path / f"y{suffix}", problem)
    assert bytes_text(size) in text
    assert bytes_text(size - 1) in text
    assert os.listdir(tmp_path) == ["x.npy"]


@pytest.mark.parametrize("target", ["y.npy", None])
def test_what_lies_between_the_layers_needs_room(target, problem, tmp_path, monkeypatch):
    sizes = {node.name: node.nbytes for node in problem[0].nodes}
    needed = sizes["conv1"] + sizes["conv2"] + (problem[0].nodes[-1].nbytes if target else 0)
    has_free(monkeypatch, needed - 1)
    source, target = saved(tmp_path, problem[1]["float32"]), target and tmp_path / target
    words = f"between the layers,? takes {bytes_text(needed)}, and {bytes_text(needed - 1)} are free"
    refused(WorkspaceError, words, source, target, problem, borders="exchange")
    assert os.listdir(tmp_path) == ["x.npy"]
    has_free(monkeypatch, needed)
    run(problem[0], source, target, borders="exchange", **HOW)


@pytest.mark.parametrize("borders", BORDERS)
@pytest.mark.parametrize("size", [-1, 1])
def test_a_picture_that_changes_during_the_run(size, borders, problem, tmp_path, monkeypatch):
    """What came out before the change, and after it, would not fit."""
    source = saved(tmp_path, problem[1]["float32"])
    read, calls = FileRows.read, []

    def changing(self, *rest):
        calls.append(rest)
        if len(calls) == 3:
            os.truncate(source, source.stat().st_size + size)
        return read(self, *rest)

    monkeypatch.setattr(FileRows, "read", changing)
    with pytest.raises(ArrayError, match="has changed since it was opened"):
        run(problem[0], source, tmp_path / "y.npy", borders=borders, **HOW)
    assert not (tmp_path / "y.npy").exists()
