"""The kinds of drills: one theme each, and the table of them, in the order of the course."""

from convlab.interview.kind import Kind
from convlab.interview.kinds import (
    accesses,
    copies,
    halo,
    intensity,
    output_size,
    roofs,
    tiles,
    winograd,
    wire,
    work,
)

_EVERY = (
    *(output_size.KIND, work.FLOPS, work.PARAMETERS),
    *(copies.IM2COL_BYTES, copies.IM2COL_RATIO, copies.TABLE_BYTES, winograd.KIND),
    *(intensity.KIND, roofs.RIDGE_POINT, roofs.RIDGE_SIDE, roofs.ROOF_TIME),
    *(accesses.SECTORS, accesses.BANK_PASSES, tiles.TILE_REGISTERS, tiles.OCCUPANCY),
    *(halo.KIND, wire.KIND),
)
KINDS: dict[str, Kind] = {kind.name: kind for kind in _EVERY}
