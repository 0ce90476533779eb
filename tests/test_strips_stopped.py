"""A run that is stopped: nothing has the result's name, the same call goes on, and another one does not."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from effort import in_turns
from test_strips import BORDERS, three_layers

from convlab import ParameterError, WorkspaceError
from convlab.distributed import Layers, run
from convlab.distributed.tile_runner import Tiles
from convlab.distributed.unfinished import delete

pytestmark = pytest.mark.inside

HOW = {"progress": False, "backend": "cpu", "algorithm": "im2row", "height": 2}
NOTED = ("recompute", "exchange")  # with "keep" nothing is noted
SUFFIXES = (".npy", ".zarr")


class Stopped(Exception):
    """Stands for whatever ends a run."""


@pytest.fixture
def counted(monkeypatch):
    """Count the tiles that are computed, by the layers that they are of; stop the run before one of them."""
    counts = {"computed": 0, "stop before": None}
    compute = Tiles.compute

    def counting(self, *rest):
        if counts["computed"] == counts["stop before"]:
            raise Stopped
        counts["computed"] += 1
        return compute(self, *rest)

    monkeypatch.setattr(Tiles, "compute", counting)

    def computed(*arguments, stop_before=None, **how):
        """Return how many tiles a run computes, until it ends or is stopped."""
        counts.update({"computed": 0, "stop before": stop_before})
        if stop_before is None:
            run(*arguments, **HOW | how)
        else:
            with pytest.raises(Stopped):
                run(*arguments, **HOW | how)
        return counts["computed"]

    return computed


@pytest.fixture
def case(tmp_path):
    """Return layers, the picture's file, and what comes out."""
    layers, x = three_layers(60, 50)
    np.save(tmp_path / "x.npy", x)
    return layers, tmp_path / "x.npy", run(layers, x, **HOW | {"height": layers.shape[1]}).result


def check(target, wanted):
    """Assert that a result is right, and that nothing else is left."""
    if target.suffix == ".npy":
        y = np.load(target)
    else:
        y = pytest.importorskip("zarr").open_array(target, mode="r")[...]
    np.testing.assert_array_equal(y, wanted)
    assert sorted(os.listdir(target.parent)) == ["x.npy", target.name]


def named(folder, suffix):
    if suffix == ".zarr":
        pytest.importorskip("zarr")
    return folder / f"y{suffix}"


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("pictures", [1, 3])
@pytest.mark.parametrize("borders", NOTED)
def test_the_same_call_goes_on(borders, pictures, suffix, tmp_path, counted):
    rng = np.random.default_rng(0)
    w = rng.standard_normal((4, 3, 3, 4)).astype(np.float32)
    layers = Layers.on((pictures, 21, 9, 4)).conv(w, padding=1).conv(w, padding=1)
    x = rng.random(layers.picture_shape, np.float32)
    np.save(tmp_path / "x.npy", x)
    wanted, target = run(layers, x, **HOW | {"height": 21}).result, named(tmp_path, suffix)
    strips = 11 * pictures
    before = strips if borders == "exchange" else 0  # those of the first layer are computed each time
    for stop in (1, 4):  # twice: the second one goes on where the first one was
        done = 0 if stop == 1 else 1
        stopped = counted(
            layers, tmp_path / "x.npy", target, borders=borders, stop_before=before + stop - done
        )
        assert stopped == before + stop - done
        assert not target.exists()
        assert "y" + suffix + ".part.between" not in os.listdir(tmp_path)
    assert counted(layers, tmp_path / "x.npy", target, borders=borders) == before + strips - 4
    check(target, wanted)
    assert counted(layers, tmp_path / "x.npy", target, borders=borders) == before + strips  # done is done


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_line_buffers_begin_anew(suffix, case, counted):
    layers, source, wanted = case
    target = named(source.parent, suffix)
    everything = counted(layers, source, borders="keep")
    counted(layers, source, target, borders="keep", stop_before=everything - 1)
    assert os.listdir(source.parent) == ["x.npy"]  # for nobody could go on with it
    assert counted(layers, source, target, borders="keep") == everything
    check(target, wanted)


def test_an_array_cannot_be_told_from_another(case, counted):
    layers, source, wanted = case
    target, strips = source.parent / "y.npy", counted(layers, source)
    counted(layers, np.load(source), target, stop_before=3)
    assert os.listdir(source.parent) == ["x.npy"]
    assert counted(layers, np.load(source), target) == strips
    check(target, wanted)


def other_pixels(layers, source, how):
    """Change the picture, and set its time back."""
    times = source.stat()
    x = np.load(source, mmap_mode="r+")
    x[0, 30] += 1
    x.flush()
    os.utime(source, ns=(times.st_atime_ns, times.st_mtime_ns))
    return layers, source, how


def other_weights(layers, source, how):
    name = layers.nodes[1].name
    w, bias = layers.weights[name]
    changed = Layers(layers.nodes, layers.weights | {name: (w, bias + 1)}, layers.title)
    return changed, source, how


def one_layer_less(layers, source, how):
    last = layers.nodes[-1]
    w, bias = layers.weights[last.name]
    rest = {name: one for name, one in layers.weights.items() if name != last.name}
    return Layers(layers.nodes[:-1], rest).conv(w, bias, padding=2, dilation=2, relu=True), source, how


def other_offset(layers, source, how):
    """Another picture in the same file: nothing but the place differs."""
    return layers, np.load(source.parent / "two.npy", mmap_mode="r")[1:], how


CHANGES = {
    "pixels": other_pixels,
    "weights": other_weights,
    "layers": one_layer_less,
    "offset": other_offset,
    "height": lambda layers, source, how: (layers, source, how | {"height": 3}),
    "borders": lambda layers, source, how: (layers, source, how | {"borders": "exchange"}),
    "algorithm": lambda layers, source, how: (layers, source, how | {"algorithm": "indirect"}),
    "backend": lambda layers, source, how: (layers, source, how | {"backend": "numpy"}),
}


@pytest.mark.parametrize("change", CHANGES)
def test_another_call_begins_anew(change, case, counted, tmp_path_factory):
    layers, source, _ = case
    if change == "offset":
        two = np.concatenate([np.load(source), np.load(source) + 1])
        np.save(source.parent / "two.npy", two)
        first = np.load(source.parent / "two.npy", mmap_mode="r")[:1]
    else:
        first = source
    target = source.parent / "y.npy"
    counted(layers, first, target, stop_before=5)
    assert (source.parent / "y.npy.part.json").is_file()
    layers, picture, how = CHANGES[change](layers, source, {})
    everything = counted(layers, picture, **how)
    assert counted(layers, picture, target, **how) == everything
    np.testing.assert_array_equal(np.load(target), run(layers, picture, **HOW | how).result)


def shorter(part):
    os.truncate(part, part.stat().st_size - 1)


def a_chunk_less(part):
    min(one for one in (part / "c").rglob("*") if one.is_file()).unlink()


def a_chunk_cut(part):
    os.truncate(sorted(one for one in (part / "c").rglob("*") if one.is_file())[-1], 3)


def no_notes(part):
    part.with_name(part.name + ".json").write_text('{"run": ')


def strange_notes(part):
    part.with_name(part.name + ".json").write_text("[3]")


def gone(part):
    delete(part)


SPOILT = [(".npy", shorter), (".zarr", a_chunk_less), (".zarr", a_chunk_cut)]
SPOILT += [(suffix, one) for suffix in SUFFIXES for one in (no_notes, strange_notes, gone)]


@pytest.mark.parametrize(("suffix", "spoil"), SPOILT)
def test_what_is_not_as_it_was_left_is_not_trusted(suffix, spoil, case, counted):
    layers, source, wanted = case
    target, strips = named(source.parent, suffix), counted(layers, source)
    counted(layers, source, target, stop_before=5)
    spoil(target.with_name(target.name + ".part"))
    assert counted(layers, source, target) == strips
    check(target, wanted)


# -- other processes ---------------------------------------------------------------------------------------

CHILD = """
import os, resource, signal, sys
from pathlib import Path
from test_strips_stopped import HOW
from test_strips import three_layers
from convlab.distributed import run
from convlab.distributed.tile_runner import Tiles

layers, _ = three_layers(60, 50)
source, target, borders = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]
compute, calls = Tiles.compute, []

def hooked(self, *rest):
    calls.append(rest)
    hook()
    return compute(self, *rest)

Tiles.compute = hooked
again = lambda: run(layers, source, target, borders=borders, **HOW)
"""


def child(code, source, target, borders="recompute"):
    """Start another process that runs the same."""
    paths = [str(Path(__file__).parent), str(Path(__file__).parents[1])]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(paths)}
    command = [sys.executable, "-c", CHILD + code, source, target, borders]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen(command, env=environment, **pipes)


@in_turns
@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no signals")
@pytest.mark.parametrize("borders", BORDERS)
def test_a_run_that_is_killed(borders, case, counted):
    layers, source, wanted = case
    target, everything = source.parent / "y.npy", counted(layers, source, borders=borders)
    stop = everything - 2
    killed = child(
        f"hook = lambda: len(calls) == {stop + 1} and os.kill(os.getpid(), signal.SIGKILL)\nagain()",
        *(source, target, borders),
    )
    assert killed.wait(60) < 0, killed.stderr.read()
    left = os.listdir(source.parent)
    assert "y.npy" not in left
    assert "y.npy.part" in left
    strips = -(-layers.shape[1] // HOW["height"])
    spared = 0 if borders == "keep" else stop - (everything - strips)
    assert counted(layers, source, target, borders=borders) == everything - spared
    check(target, wanted)


@in_turns
@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such limit")
@pytest.mark.parametrize(("suffix", "borders"), [*((".npy", one) for one in NOTED), (".zarr", "recompute")])
def test_a_disk_that_fills(suffix, borders, case):
    """No file may become larger than half of the result: that is as if there were no more room.

    Of Zarr's files, which are small, from some strip on none may become as large as a chunk.
    """
    layers, source, wanted = case
    target, result = named(source.parent, suffix), layers.nodes[-1].nbytes
    from_tile, most = (4, 64) if suffix == ".zarr" else (1, result // 2)
    filled = child(
        f"""
import json
from convlab import WorkspaceError
hook = lambda: None
first = run(layers, source, borders=borders, **HOW)  # to an array: all is compiled, and kept on the disk
everything = len(calls)
calls.clear()
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
def limit():
    before = everything - {-(-layers.shape[1] // 2)} if borders == "exchange" else 0
    if len(calls) == before + {from_tile}:
        resource.setrlimit(resource.RLIMIT_FSIZE, ({most}, hard))
hook = limit
try:
    again()
except WorkspaceError as error:
    said = str(error)
stopped, left = len(calls), sorted(os.listdir(source.parent))
resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
hook = lambda: None
calls.clear()
again()
print(json.dumps([said, everything, stopped, len(calls), left]))
""",
        *(source, target, borders),
    )
    told, errors = filled.communicate(timeout=60)
    assert filled.returncode == 0, errors
    said, everything, stopped, then, left = json.loads(told)
    row = 2 * (stopped - (everything - -(-layers.shape[1] // 2)) - 1)
    assert f"File too large at row {row} of picture 0; what is written stays" in said
    assert 0 < row < layers.shape[1]
    assert then == everything - row // 2
    assert left == ["x.npy", f"y{suffix}.part", f"y{suffix}.part.json"]
    check(target, wanted)


@in_turns
@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_second_run_to_the_same_target(suffix, case, counted):
    """It is refused while the first one is at it, and does no harm to that."""
    layers, source, wanted = case
    target = named(source.parent, suffix)
    first = child(
        "hook = lambda: len(calls) == 3 and (print('here', flush=True), sys.stdin.readline())\nagain()",
        *(source, target),
    )
    assert first.stdout.readline() == "here\n", first.stderr.read()
    with pytest.raises(ParameterError, match="is being written by another run"):
        run(layers, source, target, **HOW)
    assert not target.exists()
    _, errors = first.communicate("go on\n", timeout=60)
    assert first.returncode == 0, errors
    check(target, wanted)


def test_a_target_that_is_no_file_says_where_it_was_full(case, monkeypatch):
    """An array that is mapped may be a file with holes, and the disk has no room for what goes there."""
    layers, source, _ = case
    target = np.lib.format.open_memmap(source.parent / "y.npy", "w+", np.float32, layers.shape)

    def full(file, numbers):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("convlab.distributed.targets.write_all", full)
    with pytest.raises(WorkspaceError, match="No space left on device at row 0 of picture 0"):
        run(layers, source, target, **HOW)
