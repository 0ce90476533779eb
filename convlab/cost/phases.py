"""What an algorithm does: its phases, for the model that predicts its time.

    im2row:    fill the matrix     then    multiply
    Winograd:  transform windows   then    multiply    then    transform back, each with what it moves
    setup:     pack the weights    and, for some,      work out a table

A phase computes, and meanwhile streams of bytes flow past: the slower of the two decides. Some things cost a
little each time they are begun, however little they do: a tile of sums, a run of bytes to copy. How fast all
that is on a machine is measured (`convlab.auto.roofs`, `convlab.auto.overheads`); which of it an algorithm
does, and how often, stands in the algorithm's own file. `convlab.auto.predict` puts the two together.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from convlab.cost.formula import Formula
from convlab.cpu.tile_size import TOGETHER

NOTHING = Formula("0")
WEIGHTS = "K*R*S*C/G"
LINE = 64  # bytes of a cache line
# A copied byte is counted twice where speeds are measured, but moves three times: a line that is written is
# fetched first. So what is only read flows by at one and a half times the speed of a copy, and what is only
# written takes twice as long as that. Weights are read; x and y together, where of one size, are like a copy.
ONLY_READ, ONLY_WRITTEN = "2/3", "4/3"
BOTH = "(N*H*W*C + N*P*Q*K)*b"  # bytes of x and y: all come by before one of them is wanted again
ITS_TILE, USUAL = ("TR", "TC"), ("MR", "(2*VL)")  # rows and columns of register tiles, see `Formula`

# What may be begun, and what a number costs beyond multiply-adds and bytes: see `convlab.auto.overheads`.
OVERHEADS = ("call", "tile", "run", "number", "transform", "pack", "place", "step")


@dataclass(frozen=True)
class Stream:
    """Bytes that flow past, and the size of what they come from, which says where in memory it lies.

    Attributes
    ----------
    size : Formula
        Bytes.
    holds : Formula
        Bytes that are gone over, again and again, before the first of them is wanted once more.
    """

    size: Formula
    holds: Formula


@dataclass(frozen=True)
class Phase:
    """One part of a run.

    Attributes
    ----------
    name : str
        "fill the matrix", "multiply".
    flops : Formula
        Operations at the speed of multiply-adds; what a tile computes for nothing, at an edge, counts too.
    streams : tuple of Stream
    begins : dict of str to Formula
        How often something is begun, by its name in `OVERHEADS`.
    shared : bool
        Do the threads of a run share the work? Else one of them does it alone.
    """

    name: str
    flops: Formula = NOTHING
    streams: tuple[Stream, ...] = ()
    begins: dict[str, Formula] = field(default_factory=dict)
    shared: bool = True


def stream(size: str, holds: str | None = None, parts: dict[str, str] | None = None) -> Stream:
    """Return a stream of `size` bytes; what is read or written once holds as many bytes as it has."""
    return Stream(Formula(size, parts), Formula(holds or size, parts))


def product(
    M: str = "N*P*Q",
    N: str = "K/G",
    K: str = "R*S*C/G",
    *,
    times: str = "G",
    a: Stream | None = None,
    y: str | None = None,
    rows: str | None = None,
    tile: tuple[str, str] = ITS_TILE,
    calls: str = "G - 1",
    parts: dict[str, str] | None = None,
    **begins: str,
) -> Phase:
    """Return the phase of `times` matrix products (M, K) @ (K, N) on the register tile.

    Parameters
    ----------
    M, N, K, times : str
        Expressions in the letters of a convolution.
    a : Stream, optional
        How the left matrix is read; by default once, from where all of it lies.
    y : str, optional
        What the product's stream holds, see `Stream`; by default its own bytes.
    rows : str, optional
        Rows that are computed, where tiles do not begin one after another, from the first of the M rows on.
    tile : (str, str)
        Rows and columns of the register tile; by default the one that multiplies the layer, else `USUAL`.
    calls : str
        Calls of a compiled kernel, beside the first: by default one for each group.
    parts : dict of str to str, optional
        Named parts of the expressions.
    begins : str
        How often something else is begun, by its name in `OVERHEADS`.
    """
    high, wide = tile
    rows = rows or f"ceil(({M})/{high})*{high}"
    panels, tiles = f"ceil(({N})/{wide})", f"({rows})/{high}"
    # What they cost is measured with the usual tile: to begin and store one grows with its sums, to fetch the
    # operands of a step with their loads.
    sums, loads = f"({high}*{wide})/(MR*2*VL)", f"({high} + {wide}/VL)/(MR + 2)"
    weights = f"({N})*({K})*b"
    again = f"({times}) * ceil(({rows})/{TOGETHER}) * {weights}"

    def made(text):
        return Formula(text, parts)

    return Phase(
        "multiply",
        flops=made(f"2 * ({times}) * ({rows}) * ceil(({N})/VL)*VL * ({K})"),
        streams=(
            a or stream(f"({times})*({M})*({K})*b", parts=parts),
            stream(f"{ONLY_READ} * {again}", f"({times}) * {weights}", parts),
            stream(f"({times})*({M})*({N})*b", y, parts),
        ),
        begins={
            "tile": made(f"({times}) * {tiles} * {panels} * {sums}"),
            "step": made(f"({times}) * {tiles} * {panels} * ({K}) * {loads}"),
            "call": made(calls),
        }
        | {name: made(text) for name, text in begins.items()},
    )


def packing(transformed: str | None = None, flops: str = "0", parts: dict[str, str] | None = None) -> Phase:
    """Return the phase that lays the weights where a kernel reads them.

    Parameters
    ----------
    transformed : str, optional
        How many numbers they become, where they are transformed on the way; each is put into its place too.
    flops : str
        What transforms them.
    parts : dict of str to str, optional
        Named parts of both.
    """
    put = WEIGHTS if transformed is None else f"{WEIGHTS} + {transformed}"
    return Phase(
        "pack the weights",
        flops=Formula(flops, parts),
        streams=(stream(f"{WEIGHTS}*b"), stream(f"({transformed or WEIGHTS})*b", parts=parts)),
        begins={"pack": Formula(put, parts)},
        shared=False,
    )


def table_phase(places: str) -> Phase:
    """Return the phase that works out a table of so many places in x."""
    return Phase("work out the table", begins={"place": Formula(places)}, shared=False)


IN_CACHE = stream("0")  # what is read from the nearest cache costs nothing beside the arithmetic

# Windows are copied in runs: the taps of a line together, or one by one where groups lie between them.
RUNS = "N*P*Q*R * max(1, min(1, G-1)*S*G)"


def fill_phase(target: str, holds: str | None = None) -> Phase:
    """Return the phase that copies all windows, `target` bytes, into something of `holds` bytes."""
    return Phase(
        "fill the matrix",
        streams=(stream("N*H*W*C*b"), stream(target, holds)),
        begins={"run": Formula(RUNS)},
        shared=False,
    )


def gathered_product(rows: str | None = None, **others: str) -> Phase:
    """Return the phase of a product that reads x tap by tap, from where a table says."""
    return product(a=stream("N*H*W*C*b", BOTH), y=BOTH, rows=rows, **others)
