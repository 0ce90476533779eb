"""A matrix product in tiles, whose left matrix may be one that is never stored.

Read in this order:

    tile             the sizes: what a block of threads, a thread and an instruction work on
    vector_io        from memory to registers and back
    outer_product    the sums
    load_matrix      a number of the left matrix: where it lies in memory; `load_implicit` works that out
    tile_io          weights to registers, pieces to shared memory, sums to y
    kernel           the order of it all
    launch           the way in; `heuristics` choose the tile
    matrix, batched  one product, or many of one size; `simple` has the first two kernels of the ladder
"""
