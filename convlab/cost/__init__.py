"""What a convolution costs, in its letters: bytes, operations, and phases from which times are predicted.

Read in this order:

    formula   an expression in N H W C K R S P Q: computed, shown in tables, drawn in a browser
    phases    what a run consists of, and what it streams and begins
    common    bytes that more than one algorithm moves
    layers    what some layers cost, whatever the algorithm
"""
