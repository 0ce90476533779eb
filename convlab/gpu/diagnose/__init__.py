"""Why kernels cannot be compiled or run here, and what helps: `convlab doctor` and errors say the same.

    toolkit         which parts of CUDA's toolkit are here, and of which version
    faults          what can be wrong with the system, the GPU, its driver and the toolkit
    driver_errors   what the driver and the linker raise, in words

What others ask, whether kernels can be launched or compiled here, `convlab.gpu.availability` answers.
"""
