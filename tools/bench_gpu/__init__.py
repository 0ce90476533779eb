"""An NVIDIA GPU tested and measured in a few minutes, from its roofs to the layers of real networks.

    python -m tools.bench_gpu --save FILE

It needs Numba, NumPy and SciPy; pytest and hypothesis for the device tests; PyTorch for cuDNN's times.

- `steps`: what is measured, the most important first. Each step runs in a process of its own.
- `scale`, `places`: on which layers, and where: on a GPU, or in one of two stand-ins that keep no time.
- `turns`, `rehearsal`: the processes of the steps compile side by side, and measure one after the other.
- `run`: gives each its turn, and goes on where the last run stopped.
- `journal`: what they find, line by line on disk, and the file of measurements that is made of it.
- `device_tests`, `cudnn`, `facts`: what a step needs. `report`: what came of it, in tables.
"""
