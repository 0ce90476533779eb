"""What is wrong with a GPU, its driver or its toolkit, and what helps: doctor and errors say the same.

toolkit         which parts of CUDA's toolkit are here, and of which version
faults          what can be wrong with the system, the GPU, its driver and the toolkit
driver_errors   what the driver and the linker raise, in words

`convlab.gpu.availability` asks them: can kernels be launched here? compiled to machine code?
"""
