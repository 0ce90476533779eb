"""The convolution backwards: the gradients of its input, its weights and its bias; transposed convolution.

`DGRAD` and `WGRAD` are the tables of algorithms. `spec` says what one is; `dgrad_*` and `wgrad_*` are they,
the formula and the NumPy form in one file, the compiled form in the file that ends in `_cpu`. `phases` cuts
dx along a stride, `index_maps` says where cells lie. `select` chooses, `plan` makes ready, `api` and
`transposed` are the doors.
"""

from convlab.gradients.tables import DGRAD, WGRAD

__all__ = ["DGRAD", "WGRAD"]
