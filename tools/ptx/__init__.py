"""A PTX executor: what the compiler made of a kernel runs on NumPy, with no GPU and no driver.

    with using(Executor()) as device:            # the device of `convlab.gpu.device`, once more
        y = conv2d(x, w, backend="gpu")
    for line in coverage(device.programs).lines():
        print(line)

The lane simulator runs a kernel's *source*; this runs the PTX that Numba's compiler wrote for it, as the ISA
says: widths, signs and roundings are the hardware's, and what the compiler merged, moved or dropped is so
here, too. Every byte has a shadow that says whether it belongs to an array, and whether it was written. Every
grain of memory knows who used it last, so that a missing barrier shows. An unknown instruction is an error.

All threads of many blocks step together: a register is a NumPy array with a number for each thread. Where
they part, those at the lowest place in the program go first, so that they meet again. For tests and tools,
not for learners; compiling needs `requirements-gpu.txt`. ``python -m tools.ptx`` lists the shipped kernels,
and how much of each is reached.

Read in this order:

    text            PTX, taken apart: kernels, arrays, instructions
    kinds           its types as NumPy's
    lanes           many threads, and a register of each
    elementwise     arithmetic, logic, comparisons: one number a thread; `functions` that NumPy has not
    conversions     from type to type
    memory          spaces of memory with their shadow; `races`: who used a grain last
    transfers       between registers and memory; `atomics`; `async_copies` between memories
    warps           what the threads of a warp do together: shuffles, votes, tensor cores in `tensor`
    program         the tables in one, and a kernel as basic blocks
    wave            how threads go through the program: divergence, barriers
    launch          arguments, and one wave of blocks after the other
    compiled        from a kernel to its PTX
    device          the door: `Executor`, which stands where a GPU would; `coverage`: what has been run
"""
