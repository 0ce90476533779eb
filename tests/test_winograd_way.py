"""A direct sum is not Winograd's way, however it is written; an unusual way through the tiles is."""

import numpy as np
import pytest
from numpy.lib.stride_tricks import sliding_window_view

from convlab.algorithms.winograd.transforms import matrices
from convlab.lessons import check


def tile(d, g, AT, G, BT):
    return AT @ ((G @ g @ G.T) * (BT @ d @ BT.T)) @ AT.T


def sums(x, g):
    return np.einsum("pqrs,rs->pq", sliding_window_view(x, (3, 3)), g)


def sums_of_lists(x, g):
    P, Q, x, g = x.shape[0] - 2, x.shape[1] - 2, x.tolist(), g.tolist()
    return [
        [sum(x[p + r][q + s] * g[r][s] for r in range(3) for s in range(3)) for q in range(Q)]
        for p in range(P)
    ]


def sums_of_shifted(x, g):
    P, Q = x.shape[0] - 2, x.shape[1] - 2
    return sum(g[r, s] * x[r : r + P, s : s + Q] for r in range(3) for s in range(3))


def sums_by_fft(x, g):
    return np.fft.ifft2(np.fft.fft2(x) * np.fft.fft2(g, x.shape).conj()).real[:-2, :-2]


def along_rows(x, g, m, AT, G, BT):
    P, Q = x.shape[0] - 2, x.shape[1] - 2
    x = np.pad(x, ((0, 0), (0, m)))
    y = np.zeros((P, Q + m))
    for p, q in np.ndindex(P, Q):
        if q % m == 0:
            y[p, q : q + m] = sum(AT @ ((G @ g[r]) * (BT @ x[p + r, q : q + m + 2])) for r in range(3))
    return y[:, :Q]


def in_tiles(x, g, m, *others, one=tile, at_the_edge="zeros"):
    P, Q = x.shape[0] - 2, x.shape[1] - 2
    padded = np.pad(x, ((0, m), (0, m)), constant_values=0 if at_the_edge == "zeros" else 7)
    y = np.zeros((P, Q))
    for p in range(0, P, m):
        for q in range(0, Q, m):
            whole = p + m <= P and q + m <= Q
            d = padded[p : p + m + 2, q : q + m + 2]
            part = one(d, g, *others) if whole or at_the_edge != "sums" else sums(d, g)
            y[p : p + m, q : q + m] = part[: P - p, : Q - q]
    return y


def shifted_back(x, g, m, AT, G, BT):
    """The last tiles reach back over the ones before them, so that none hangs over."""
    P, Q = x.shape[0] - 2, x.shape[1] - 2
    if m > P or m > Q:
        return in_tiles(x, g, m, AT, G, BT)
    y = np.empty((P, Q))
    for p in (*range(0, P - m, m), P - m):
        for q in (*range(0, Q - m, m), Q - m):
            y[p : p + m, q : q + m] = tile(x[p : p + m + 2, q : q + m + 2], g, AT, G, BT)
    return y


def everywhere(x, g, m, AT, G, BT):
    P, Q = x.shape[0] - 2, x.shape[1] - 2
    x = np.pad(x, ((0, m), (0, m)))
    return [[tile(x[p : p + m + 2, q : q + m + 2], g, AT, G, BT)[0, 0] for q in range(Q)] for p in range(P)]


def all_at_once(x, g, m, AT, G, BT, early=True):
    """Transform a window at every pixel; take those of the tiles before they are multiplied, or after."""
    P, Q = x.shape[0] - 2, x.shape[1] - 2
    V = BT @ sliding_window_view(np.pad(x, ((0, m), (0, m))), BT.shape) @ BT.T
    M = V[:P:m, :Q:m] * (G @ g @ G.T) if early else (V * (G @ g @ G.T))[:P:m, :Q:m]
    tiles = np.einsum("ia,pqab,jb->piqj", AT, M, AT)
    return tiles.reshape(len(tiles) * m, -1)[:P, :Q]


def tensor(d, g, AT, G, BT):
    """The formula, with pixels and weights multiplied before they are transformed."""
    made = np.einsum("ia,jb,ak,bl,ac,bd->klcdij", AT, AT, G, G, BT, BT, optimize=True)
    return np.einsum("kl,cd,klcdij->ij", g, d, made)


TILES = {
    "one einsum": lambda d, g, AT, G, BT: np.einsum(
        "ia,jb,ak,bl,kl,ac,bd,cd->ij", AT, AT, G, G, g, BT, BT, d, optimize=True
    ),
    "an einsum with both": lambda d, g, AT, G, BT: np.einsum(
        "ia,ab,ab,jb->ij", AT, G @ g @ G.T, BT @ d @ BT.T, AT
    ),
    "Kronecker products": lambda d, g, AT, G, BT: (
        np.kron(AT, AT) @ ((np.kron(G, G) @ g.ravel()) * (np.kron(BT, BT) @ d.ravel()))
    ).reshape(len(AT), -1),
    "dot": lambda d, g, AT, G, BT: AT.dot(G.dot(g).dot(G.T) * BT.dot(d).dot(BT.T)).dot(AT.T),
    "turned": lambda d, g, AT, G, BT: AT @ (AT @ ((G @ (G @ g).T) * (BT @ (BT @ d).T))).T,
    "float32": lambda *a: tile(*(array.astype(np.float32) for array in a)),
}
PICTURES = {
    "anything beside the picture": lambda *a: in_tiles(*a, at_the_edge="sevens"),
    "shifted back": shifted_back,
    "all at once": all_at_once,
}


@pytest.mark.parametrize("answer", TILES.values(), ids=TILES)
def test_unusual_ways_through_a_tile(answer):
    assert check("winograd_tile", answer).good
    assert check("winograd_picture", lambda *a: in_tiles(*a, one=answer)).good


@pytest.mark.parametrize("answer", PICTURES.values(), ids=PICTURES)
def test_unusual_ways_through_a_picture(answer):
    assert check("winograd_picture", answer).good


@pytest.mark.parametrize("direct", [sums, sums_of_lists, sums_of_shifted, sums_by_fft])
def test_a_direct_sum_is_refused(direct):
    for answer in (
        lambda d, g, *a: direct(d, g),
        lambda d, g, *a: direct(d, g) + 0 * tile(d, g, *a),
    ):
        said = check("winograd_tile", answer)
        assert said.good is False
        assert "does not come from these matrices" in said.diagnosis
    for answer in (
        lambda x, g, *a: direct(x, g),
        lambda x, g, m, *a: in_tiles(x, g, m, one=lambda d, g: np.array(direct(d, g))),
    ):
        said = check("winograd_picture", answer)
        assert said.good is False
        assert "does not come from these matrices" in said.diagnosis


@pytest.mark.parametrize(
    ("name", "answer", "words"),
    [
        ("winograd_tile", lambda d, g, *a: sums(d, g), "in 36 products; 16 are enough"),
        ("winograd_tile", lambda d, g, *a: tile(d, g, *matrices(len(d) - 2)), "not come from these matrices"),
        ("winograd_tile", lambda d, g, *a: along_rows(d, g, len(d) - 2, *a), "along the rows"),
        ("winograd_tile", lambda d, g, *a: along_rows(d.T, g.T, len(d) - 2, *a).T, "along the columns"),
        ("winograd_tile", tensor, "in 144 products; 16 are enough"),
        ("winograd_tile", lambda d, g, AT, G, BT: tile(d, g, AT, G, matrices(len(AT))[2]), "both sides"),
        ("winograd_picture", along_rows, "along the rows"),
        ("winograd_picture", everywhere, "in 1536 products; 384 are enough"),
        ("winograd_picture", lambda *a: all_at_once(*a, early=False), "384 are enough"),
        ("winograd_picture", lambda *a: in_tiles(*a, at_the_edge="sums"), "hang over"),
        (
            "winograd_picture",
            lambda x, g, m, *a: sums(x, g) if (x.shape[0] - 2) % m else in_tiles(x, g, m, *a),
            "hang over",
        ),
    ],
)
def test_what_is_missing_is_said(name, answer, words):
    said = check(name, answer)
    assert said.good is False
    assert said.title.startswith("Right numbers")
    assert words in said.diagnosis
