"""`convlab bench gpu`: an NVIDIA GPU measured, from its roofs to the layers of real networks.

Nothing here needs more than Numba, NumPy and threadpoolctl; PyTorch is a rival where it is installed.
"""
