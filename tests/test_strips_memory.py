"""The memory that is stated is what the system sees, of a picture many times larger, in another process.

The system knows the most that a process ever had at once. That is set back before the run, so what was there
before, the compiler above all, does not hide what the run takes.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from effort import in_turns
from test_strips import BORDERS

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="the peak can be set back on Linux alone"),
    pytest.mark.inside,
]
SLACK = 3 << 20  # bytes: what Python takes for its objects, a MiB at a time, and code that is run at last

CHILD = """
import gc, json, sys, tempfile
from pathlib import Path
import numpy as np
from convlab.distributed import Layers, run
from convlab.machine.freed_memory import give_back

def layers(H, W):
    rng = np.random.default_rng(0)
    w = [rng.standard_normal(shape).astype(np.float32) for shape in ((4, 3, 3, 3), (4, 5, 5, 4))]
    return Layers.on((1, H, W, 3)).conv(w[0], padding=1, relu=True).max_pool(3, 2, 1).conv(w[1], padding=2)

def peak():
    # Not getrusage: its figure began with that of the process that started this one.
    return int(Path("/proc/self/status").read_text().partition("VmHWM:")[2].split()[0]) << 10

def zarr_picture(path, shape, dtype):
    import zarr
    chunks = (1, min(shape[1], 500), min(shape[2], 500), 3)  # a chunk that is not there is all zeros
    array = zarr.create_array(path, shape=shape, dtype=dtype, chunks=chunks)
    for row in range(0, shape[1], 500):  # so that there are some
        array[0, row : row + 500] = 1
    return path

def picture(path, shape, dtype):
    if path.endswith(".zarr"):
        return zarr_picture(path, shape, dtype)
    np.lib.format.open_memmap(path, "w+", dtype, shape)  # a hole: it takes no room on the disk
    return path

borders, algorithm, suffix = sys.argv[1:4]
found = []
with tempfile.TemporaryDirectory() as folder:
    for number, (dtype, budget, height) in enumerate(json.loads(sys.argv[4])):
        for H, W in ((300, 400), (height, 3000)):  # the small one first: it imports, and compiles
            path = picture(f"{folder}/{number}-{H}{suffix}", (1, H, W, 3), dtype)
            gc.collect()
            give_back()
            Path("/proc/self/clear_refs").write_text("5")  # the peak is what there is now
            before = peak()
            how = {"borders": borders, "algorithm": algorithm, "backend": "cpu", "progress": False}
            amount = {"height": 8} if H == 300 else {"memory": budget}
            done = run(layers(H, W), path, f"{folder}/y{suffix}", **amount, **how)
            grown = peak() - before
        found.append([dtype, budget, H * W * 3 * np.dtype(dtype).itemsize, done.memory, grown])
print(json.dumps(found))
"""


def measured(borders, algorithm, suffix, pictures):
    """Return for each picture its dtype, the budget, and bytes: the picture's, those stated, those grown."""
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parents[1])}
    command = [sys.executable, "-c", CHILD, borders, algorithm, suffix, json.dumps(pictures)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)
    if "clear_refs" in done.stderr:
        pytest.skip("this system does not let the peak be set back")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@in_turns
@pytest.mark.parametrize("borders", BORDERS)
def test_the_memory_that_is_stated_is_what_the_system_sees(borders):
    pictures = [("float32", "32 MiB", 6000), ("float32", "64 MiB", 6000), ("uint8", "32 MiB", 6000)]
    for dtype, budget, size, stated, grown in measured(borders, "indirect", ".npy", pictures):
        assert size > 200 << 20 or dtype == "uint8"
        assert stated <= int(budget[:2]) << 20
        assert grown <= stated + SLACK, f"{dtype}, {budget}: {stated:,} stated, {grown:,} grown"
        assert grown > 0.7 * stated, f"{dtype}, {budget}: {stated:,} stated, and no more than {grown:,} grown"


@in_turns
@pytest.mark.parametrize("borders", ["recompute", "exchange"])
def test_zarr_takes_what_is_stated(borders):
    """Its threads each keep some of what they gave back: how much depends on how busy the machine is."""
    pytest.importorskip("zarr")
    for _, _, _, stated, grown in measured(borders, "indirect", ".zarr", [("float32", "32 MiB", 2000)]):
        assert grown <= stated + 2 * SLACK


def test_the_measure_sees_an_array_too_many(monkeypatch):
    """If the arrays of the strip before were kept, the system would see it."""
    keeping = CHILD.replace(
        "def peak",
        "from convlab.distributed import tile_runner\n"
        "kept, ready = [], tile_runner.Prepared\n"
        "tile_runner.Prepared = lambda *rest: kept.append(ready(*rest)) or kept[-1]\n\ndef peak",
    )
    monkeypatch.setitem(globals(), "CHILD", keeping)
    [(_, _, _, stated, grown)] = measured("recompute", "indirect", ".npy", [("float32", "32 MiB", 1500)])
    assert grown > 1.5 * stated
