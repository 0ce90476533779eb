"""Why kernels cannot be compiled or run here, and what helps: `convlab doctor` and errors say the same.

toolkit         which parts of CUDA's toolkit are here, and of which version
faults          what can be wrong with the system, the GPU, its driver and the toolkit
availability    the questions that others ask: can kernels be launched here? compiled to machine code?
driver_errors   what the driver and the linker raise, in words
"""
