"""The command that measures a large picture: it finds what is wrong, refuses what does not fit, cleans up."""

import os
import re
import shutil
import sys
from types import SimpleNamespace

import numpy as np
import pytest

from convlab import ConvError
from convlab.distributed import run
from tools import large_picture
from tools.three_layers import POOL, SEEN, compared, places, three_layers

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="it asks the system what Linux alone says")


def measured(folder, *arguments, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["large_picture", str(folder), *arguments])
    large_picture.main()


def test_it_measures_and_leaves_nothing(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(large_picture.signal, "signal", lambda *_: None)
    measured(tmp_path, "--size", "500KiB", "--budget", "24MiB", monkeypatch=monkeypatch)
    told = dict(line.split(maxsplit=1) for line in capsys.readouterr().out.splitlines())
    assert list(told) == ["picture", "strips", "peak", "time", "checked", "computing", "the", "ratio"]
    side = int(re.search(r"(\d+) x \1", told["picture"])[1])
    assert (side - POOL) ** 2 * 3 < 500 << 10 <= side**2 * 3
    assert float(told["ratio"].split(",")[0]) > 0
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--size", "8GiB"], r"the picture, with its result, takes 18\.7 GiB, and 1\.00 GiB are free"),
        (["--size", "many"], "expected bytes, or text"),
    ],
)
def test_what_cannot_be_is_said(arguments, says, tmp_path, monkeypatch):
    monkeypatch.setattr(large_picture.signal, "signal", lambda *_: None)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: SimpleNamespace(free=1 << 30))
    with pytest.raises(SystemExit, match=says):
        measured(tmp_path, *arguments, monkeypatch=monkeypatch)
    assert os.listdir(tmp_path) == []


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Return a picture, and what the layers make of it in strips of 40 rows."""
    folder, rng = tmp_path_factory.mktemp("files"), np.random.default_rng(0)
    scan, result = folder / "x.npy", folder / "y.npy"
    np.save(scan, rng.integers(0, 256, (1, 240, 240, 3), np.uint8))
    run(three_layers(240, 240), scan, result, height=40, progress=False, algorithm="im2row")
    return scan, result


def test_the_right_result_passes(files):
    assert re.match(r"14 windows, off by \d+% at most", compared(*files, height=40))


@pytest.mark.parametrize(("row", "column"), [(0, 0), (119, 119), (39, slice(None)), (80, slice(None))])
def test_a_corner_or_a_seam_that_is_wrong_is_found(row, column, files, tmp_path):
    scan, result = files
    y = np.load(result)
    y[0, row, column] += 1e-3
    np.save(tmp_path / "y.npy", y)
    with pytest.raises(ConvError, match="the result is off by"):
        compared(scan, tmp_path / "y.npy", height=40)


def test_windows_lie_inside():
    for height, side in ((1, SEEN), (7, 100), (300, 320), (1000, 200)):
        for corner in places(height, side):
            assert all(0 <= start <= side - SEEN for start in corner)
