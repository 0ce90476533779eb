"""What fft and fft_tiled cost: the formulas are the same, of few large pictures or of many small tiles.

    a transform of n complex numbers       5 n log2(n) operations, by convention; of n real ones half of that
    a multiply-add of complex numbers      8 operations

The form on a GPU is made here as well: all that is known of it on this side is what it costs.
"""

from __future__ import annotations

from collections.abc import Callable

from convlab.algorithms.binding import gpu_form
from convlab.algorithms.fft.transforms import CHUNK
from convlab.algorithms.spec import Form, Formula
from convlab.cost.phases import Pass, nothing, packing, product, stream


def costs(pictures: str, parts: dict[str, str], h: str, p: str) -> dict[str, Formula]:
    """Return the formulas of an algorithm that transforms so many pictures of rows x 2*half numbers.

    `parts` names `rows` and `half`. Of a picture, the first h rows hold numbers and p are wanted back. The
    transforms of the filters are done once, by `pack`, and not counted.
    """
    row, column = "5*half * log2(2*half)", "(half+1) * 5*rows * log2(rows)"
    transforms = f"C*({h} * {row} + {column}) + K*({p} * {row} + {column})"
    spectrum = "rows*(2*half+2)"  # half+1 columns of complex numbers
    passes = f"2*(2*half+2) * (({h}+rows)*C + ({p}+2*rows)*K)"  # each written, and read again
    traffic = f"N*H*W*C + {pictures} * {passes} + ceil({pictures}/{CHUNK}) * {spectrum}*C*K/G + N*P*Q*K"
    space = f"2 * few * {spectrum} * max(C, K) * b"
    some = parts | {"few": f"min({pictures}, {CHUNK})"}
    return {
        "flops": Formula(f"{pictures} * ({transforms} + 8*rows*(half+1) * C*K/G)", parts),
        "bytes_moved": Formula(f"({traffic}) * b", parts),
        "numpy": Formula(space, some),
        "cpu": Formula(f"{space} + ceil(2*few/MR)*MR * 8 + threads * 4*few*K/G * b", some),
        "packed": Formula(f"{spectrum} * C*K/G * b", parts),
        "passes": (
            Pass(
                "transform there and back",
                streams=(stream(f"{pictures} * {passes} * b", f"few*{spectrum}*C*b", some),),
                begins={"transform": Formula(f"{pictures} * ({transforms})", parts)},
                shared=False,
            ),
            product(
                f"2*{pictures}",
                "2*K/G",
                "C/G",
                times="rows*(half+1)*G",
                a=nothing,
                parts=parts,
                calls=f"ceil({pictures}/{CHUNK}) - 1",
                number=f"{pictures}*rows*(half+1)*K*4",
            ),
        ),
        # For each row of frequencies R taps of complex numbers, S times; then S for each frequency. A complex
        # multiply-add is four, and a number in double precision is two.
        "once": (packing(f"{spectrum}*K*C/G", "2*8*rows*(R + half+1)*S * K*C/G", parts),),
        # On a GPU all pictures go at once, cut out and then as spectra, and a complex weight is four numbers.
        "gpu": Formula(f"{pictures} * (rows*2*half*C + {spectrum}*K) * b", parts),
        "gpu packed": Formula("rows*(half+1)*2*C * ceil(2*K/G/4)*4 * b", parts),
        "gpu bytes": Formula(
            f"(N*H*W*C + {pictures} * ({passes} + rows*2*half*(C+K)) + 2*{spectrum}*C*K/G + N*P*Q*K) * b",
            parts,
        ),
    }


def gpu_form_of(kind: str, costs: dict[str, Formula], packs_for: Callable) -> Form:
    """Return the form that transforms on a GPU: "whole" pictures or "tiles"."""
    return gpu_form(
        "fft",
        parts=("pack", "allocate"),
        bound=(kind,),
        bytes_moved=costs["gpu bytes"],
        workspace_bytes=costs["gpu"],
        packed_bytes=costs["gpu packed"],
        packs_for=packs_for,
    )
