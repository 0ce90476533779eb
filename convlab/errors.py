"""One family of errors: every wrong input is answered by a `ConvError` that says what to change."""


class ConvError(ValueError):
    """Base of all errors convlab raises on purpose; the message names argument, axis, value, expectation."""


class ShapeError(ConvError):
    """An array's shape, or a combination of sizes, does not describe a convolution."""


class ParameterError(ConvError):
    """A parameter (stride, padding, algorithm, ...) has a value outside its range."""


class ArrayError(ConvError):
    """An array is of the wrong kind: not NumPy, wrong dtype, read-only output, overlapping memory."""


class UnsupportedError(ConvError):
    """The algorithm, or the backend, does not serve this problem; the message says why and what does."""


class WorkspaceError(ConvError):
    """The workspace would not fit in the memory at hand; raised before anything is allocated."""


class CacheWarning(UserWarning):
    """Compiled kernels cannot be kept on disk, or one that was kept could not be used; given once."""
