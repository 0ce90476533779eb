"""What this computer is, read from the system and never guessed; what it does not tell is None.

Read in this order:

    facts         everything that a measurement is stored with
    system        one question to the system each: processor, caches, cores, memory, BLAS
    container     what a container leaves of that; `memory_limits` what `ulimit` does
    memory        is there room for some arrays?
    cores         the hardware threads, and the one that a benchmark keeps to
    cuda_driver   NVIDIA's driver and the GPUs that it shows
    asked_target  another processor to compile for, if one was asked for: can that be done?
"""
