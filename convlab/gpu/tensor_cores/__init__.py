"""The product on tensor cores, where a whole warp multiplies two small matrices with one instruction.

Read in this order:

    fragments      which lane of a warp holds what
    mma            the instructions
    round_inputs   pictures, rounded to words of two float16 or one tf32
    warp_tile      the tile of a block and of its warps
    product        the kernel
"""
