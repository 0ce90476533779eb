"""What every test shares."""

import os

# One thread everywhere: two pytest workers on two cores must not each start two more threads.
for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"):
    os.environ.setdefault(name, "1")
