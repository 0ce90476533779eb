"""Wrong answers to the exercises of notebooks 12 to 14."""

from __future__ import annotations


def _fetched(M, N, K, block_m, block_n, over=lambda a, b: -(-a // b), whole=False):
    rows, cols = over(M, block_m), over(N, block_n)
    return (rows * block_m if whole else M) * K * cols + (cols * block_n if whole else N) * K * rows


def _passes(row, banks=32):
    words = [(row * i + word) % banks for i in range(8) for word in range(4)]
    return max(words.count(bank) for bank in words)


def _fit(threads, registers, shared_bytes, least=min, own=1024, most=32, units=2048):
    shared = 228 * 1024 // (shared_bytes + own) if shared_bytes + own else most
    return least(units // threads, 65536 // (registers * threads), shared, most)


WRONG = {
    "blocks_at_once": {
        "forgets the threads": lambda *a: _fit(*a, units=10**9),
        "forgets the registers": lambda threads, registers, shared: _fit(threads, 1, shared),
        "counts registers of a block": lambda threads, registers, shared: min(
            _fit(threads, 1, shared), 65536 // registers
        ),
        "forgets the shared memory": lambda threads, registers, shared: _fit(threads, registers, 0),
        "forgets the system's part": lambda *a: _fit(*a, own=0),
        "forgets the most there can be": lambda *a: _fit(*a, most=10**9),
        "takes the loosest limit": lambda *a: _fit(*a, least=max),
        "takes 48 KiB for all": lambda threads, registers, shared: min(
            _fit(threads, registers, shared), 48 * 1024 // (shared + 1024)
        ),
        "divides with a fraction": lambda t, r, s: min(
            2048 / t, 65536 / (r * t), 228 * 1024 / (s + 1024), 32
        ),
    },
    "fetched": {
        "rounds down": lambda *a: _fetched(*a, over=lambda n, block: n // block),
        "fetches past the edges": lambda *a: _fetched(*a, whole=True),
        "forgets the second matrix": lambda M, N, K, block_m, block_n: M * K * -(-N // block_n),
        "fetches each once": lambda M, N, K, block_m, block_n: (M + N) * K,
        "swaps the sides": lambda M, N, K, block_m, block_n: _fetched(M, N, K, block_n, block_m),
    },
    "table_over_matrix": {
        "makes a table for each image": lambda N, P, Q, C, R, S: C,
        "forgets the channels": lambda N, P, Q, C, R, S: N,
        "forgets the taps of the matrix": lambda N, P, Q, C, R, S: N * C / (R * S),
    },
    "holder": {
        "forgets the lower half": lambda row, column: 4 * row + column // 2,
        "counts row by row": lambda row, column: (8 * row + column) % 32,
        "takes A's columns": lambda row, column: row % 8 * 4 + column % 4,
        "takes B for C": lambda row, column: column * 4 + row % 4,
    },
    "ldmatrix_passes": {
        "thinks that padding by one is enough": lambda row: 1 if row % 32 else 8,
        "counts the rows": lambda row: 8,
        "takes 16 banks": lambda row: _passes(row, banks=16),
    },
}
RIGHT = {
    "blocks_at_once": _fit,
    "fetched": _fetched,
    "table_over_matrix": lambda N, P, Q, C, R, S: N * C,
    "holder": lambda row, column: row % 8 * 4 + column // 2,
    "ldmatrix_passes": _passes,
}
