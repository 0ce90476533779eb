"""A picture of any size that is computed where it is looked at."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from convlab import ConvError
from convlab.distributed import Mosaic

TILE = np.arange(4 * 5 * 3, dtype=np.uint8).reshape(4, 5, 3)


def written_out(H, W):
    """Return the same picture, put together from whole tiles."""
    two = np.concatenate([TILE, TILE[::-1]])
    four = np.concatenate([two, two[:, ::-1]], axis=1)
    return np.tile(four, (H // 8 + 1, W // 10 + 1, 1))[None, :H, :W]


def test_neighbours_fit():
    """Rows on both sides of a seam between two tiles are the same row."""
    y = Mosaic(TILE, 20, 20)[0]
    np.testing.assert_array_equal(y[3], y[4])
    np.testing.assert_array_equal(y[:, 4], y[:, 5])


@settings(deadline=None)
@given(st.integers(1, 30), st.integers(1, 30), st.data())
def test_a_part_is_that_part_of_the_whole(H, W, data):
    whole, mosaic = written_out(H, W), Mosaic(TILE, H, W)
    assert mosaic.shape == whole.shape
    parts = (st.slices(H) | st.integers(-H, H - 1), st.slices(W) | st.integers(-W, W - 1))
    where = 0, *(data.draw(one) for one in parts)
    np.testing.assert_array_equal(mosaic[where], whole[where])
    np.testing.assert_array_equal(mosaic[:], whole)


def test_it_is_written_some_rows_at_a_time(tmp_path, monkeypatch):
    monkeypatch.setattr("convlab.distributed.mosaic.AT_ONCE", 100)
    path = Mosaic(TILE, 23, 17).save(tmp_path / "m.npy", progress=False)
    np.testing.assert_array_equal(np.load(path), written_out(23, 17))
    assert [one.name for one in tmp_path.iterdir()] == ["m.npy"]


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("folder.npy", "is no ordinary file"),
        ("m.tif", r"ends with \.npy$"),
        ("none/m.npy", "there is no folder"),
        ("m\0.npy", "expected the name of a file"),
    ],
)
def test_where_it_cannot_be_saved(name, words, tmp_path):
    (tmp_path / "folder.npy").mkdir()
    with pytest.raises(ConvError, match=words):
        Mosaic(TILE, 23, 17).save(tmp_path / name, progress=False)


def test_numbers_become_bytes():
    numbers = np.linspace(0, 1, 12, dtype=np.float32).reshape(1, 2, 2, 3)
    assert Mosaic(numbers, 2, 2)[:].tolist() == np.rint(numbers * 255).astype(np.uint8).tolist()


@pytest.mark.parametrize("tile", [TILE[..., 0], TILE[:0], TILE.astype(np.float32), TILE.astype(int)])
def test_what_is_no_tile_is_refused(tile):
    with pytest.raises(ConvError, match="tile"):
        Mosaic(tile, 9, 9)
