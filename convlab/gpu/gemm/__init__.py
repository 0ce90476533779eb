"""A matrix product in tiles, whose left matrix may be one that is never stored.

Read in this order: `tile` (the sizes), `moving` (from memory to registers and back), `product` (the sums),
`sources` (where a number of the left matrix lies), `kernel` (the order of it all), `launch` (the way in).
"""
