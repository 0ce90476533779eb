"""The CPU engine: the register tile, and the products built on it. It knows no algorithm.

Read `tile_size` and `register_tile` first, and `gemm`, the product that is made of them; `tile_model` counts
how fast a tile can be, and `product_tile` chooses one by it for each product. `gathered_gemm`,
`complex_gemm`, `sliding_window` and `small_matmul` are other work for the same registers. `epilogue` adds
bias and residual to sums and cuts off what is below zero, on their way into memory (`epilogue_window` for
Winograd's, `finish` as a pass of its own). `threads` shares work out, `jit` compiles, `kernel_cache` keeps
what was compiled. To look at: `gemm_ladder`, from plain loops to the tile, and `gemm_rungs`, its table;
`assembly`, what the compiler has made of it. Only who adds an operation to the tile needs `tile_rows` and
`llvm`.
"""
