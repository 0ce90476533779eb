"""What fft and fft_tiled cost: the formulas are the same, of few large pictures or of many small tiles.

Operations are counted as usual:

    a transform of n complex numbers       5 n log2(n) operations, by convention; of n real ones half of that
    a multiply-add of complex numbers      8 operations
"""

from __future__ import annotations

from convlab.algorithms.fft.transforms import BUFFERS, CHUNK, CPU_BUFFERS
from convlab.cost.common import panel_bytes
from convlab.cost.formula import Formula
from convlab.cost.phases import IN_CACHE, USUAL, Phase, packing, product, stream


def form_costs(pictures: str, parts: dict[str, str], h: str, p: str) -> tuple[Formula, dict[str, dict]]:
    """Return the operations of an algorithm, and for each backend what a `Form` is told of its costs.

    It transforms so many pictures of rows x 2*half numbers, which `parts` names. Of a picture, the first h
    rows hold numbers and p are wanted back. The transforms of the filters are done once, by `pack`, and not
    counted.
    """
    row, column = "5*half * log2(2*half)", "(half+1) * 5*rows * log2(rows)"
    transforms = f"C*({h} * {row} + {column}) + K*({p} * {row} + {column})"
    spectrum = "rows*(2*half+2)"  # half+1 columns of complex numbers
    steps = f"2*(2*half+2) * (({h}+rows)*C + ({p}+2*rows)*K)"  # each written, and read again
    traffic = f"N*H*W*C + {pictures} * {steps} + ceil({pictures}/{CHUNK}) * {spectrum}*C*K/G + N*P*Q*K"
    space = f"2 * few * {spectrum} * max(C, K) * b"
    moved = Formula(f"({traffic}) * b", parts)
    some = parts | {"few": f"min({pictures}, {CHUNK})"}
    flops = Formula(f"{pictures} * ({transforms} + 8*rows*(half+1) * C*K/G)", parts)
    phases = (
        Phase(
            "transform there and back",
            streams=(stream(f"{pictures} * {steps} * b", f"few*{spectrum}*C*b", some),),
            begins={"transform": Formula(f"{pictures} * ({transforms})", parts)},
            shared=False,
        ),
        product(
            f"2*{pictures}",
            "2*K/G",
            "C/G",
            times="rows*(half+1)*G",
            a=IN_CACHE,
            tile=USUAL,
            parts=parts,
            calls=f"ceil({pictures}/{CHUNK}) - 1",
            number=f"{pictures}*rows*(half+1)*K*4",
        ),
    )
    # For each row of frequencies R taps of complex numbers, S times; then S for each frequency. A complex
    # multiply-add is four, and a number in double precision is two.
    setup = (packing(f"{spectrum}*K*C/G", "2*8*rows*(R + half+1)*S * K*C/G", parts),)
    on_gpu = f"{pictures} * ({steps} + rows*2*half*(C+K)) + 2*{spectrum}*C*K/G"
    return flops, {
        "numpy": {
            "bytes_moved": moved,
            "workspace_bytes": Formula(space, some),
            "packed_bytes": Formula(f"{spectrum} * C*K/G * b", parts),
            "scratch": BUFFERS,
        },
        "cpu": {
            "bytes_moved": moved,
            "workspace_bytes": Formula(f"{space} + ceil(2*few/MR)*MR * 8 + threads * 4*few*K/G * b", some),
            "packed_bytes": panel_bytes("2*K/G", "C/G", "rows*(half+1)*G", parts),
            "scratch": CPU_BUFFERS,
            "phases": lambda: phases,
            "setup": lambda: setup,
        },
        # On a GPU all pictures go at once, cut out and then as spectra, and a complex weight is four numbers.
        "gpu": {
            "bytes_moved": Formula(f"(N*H*W*C + {on_gpu} + N*P*Q*K) * b", parts),
            "workspace_bytes": Formula(f"{pictures} * (rows*2*half*C + {spectrum}*K) * b", parts),
            "largest": Formula(f"{pictures} * {spectrum} * max(C, K)", parts),
            "packed_bytes": Formula("rows*(half+1)*2*C * ceil(2*K/G/4)*4 * b", parts),
        },
    }
