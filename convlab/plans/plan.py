"""`plan` and `conv2d`: check, choose, prepare, run.

`plan` does once what can be done once: it checks the problem, packs the weights, allocates the workspace.
Calling the plan runs it. The split is XNNPACK's create / run, and the two are always timed apart.
"""

from __future__ import annotations

import warnings
from copy import copy
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from convlab.algorithms.spec import Algorithm, Cost
from convlab.auto import magnitudes
from convlab.auto.select import Memory, choose
from convlab.backends import choose_backend
from convlab.cpu.threads import check_threads
from convlab.errors import ConvError, ParameterError, ShapeError, WorkspaceError
from convlab.problem import ConvProblem
from convlab.support.aligned import aligned_empty
from convlab.support.checks import COMPUTES, check_array, check_instance, check_out
from convlab.support.units import bytes_text


def conv2d(
    x: np.ndarray,
    w: np.ndarray,
    bias: np.ndarray | None = None,
    *,
    stride=1,
    padding=0,
    dilation=1,
    groups: int = 1,
    algorithm: str | Algorithm = "auto",
    backend: str = "auto",
    threads: int = 1,
    out: np.ndarray | None = None,
) -> np.ndarray:
    """Convolve a batch of images with a bank of filters (cross-correlation, as in every framework).

    Parameters
    ----------
    x : ndarray, (N, H, W, C)
        The images, float32 or float64. With ``backend="gpu"`` also an array that lies on the device, of
        any library that has `__cuda_array_interface__` (Numba, CuPy, PyTorch); it must be C-contiguous.
    w : ndarray, (K, R, S, C/groups)
        The filters, of x's dtype.
    bias : ndarray, (K,), optional
        Added to every output pixel.
    stride, padding, dilation, groups
        As in `ConvProblem`.
    algorithm : str or Algorithm
        A name from `ALGORITHMS`, an algorithm that is not in the table, or "auto": the one that is predicted
        to be the fastest on this machine, packing the weights included; what `autotune` measured takes the
        place of a predicted run. It may be a transform (Winograd, FFT), which rounds more than a plain sum
        does; who minds names another. It is none where x or w hold numbers that would be lost in one: NaN,
        infinity, very large or small ones, or both large and small ones (`convlab.auto.magnitudes`).
    backend : str
        "numpy" (the reference form: short, exact, slow), "cpu" (compiled by Numba), "gpu" (Numba CUDA, on
        an NVIDIA GPU) or "auto": "cpu" where Numba is installed.
    threads : int
        Threads of the "cpu" backend; a request, for a small problem one may serve best. Others ignore it.
        A process that was forked after threads had run computes on one, where Numba's threads are those of
        GNU OpenMP (the usual ones on Linux), and says so; "spawn" and "forkserver" are free of that.
    out : ndarray, (N, P, Q, K), optional
        Written and returned; C-contiguous, of x's dtype, sharing no memory with the inputs. On the device
        if x is.

    Returns
    -------
    ndarray, (N, P, Q, K)
        An array of the device (Numba's) if x is one: nothing is copied to NumPy and back unasked.

    Raises
    ------
    ConvError
        If an argument is wrong; the message names it, its value and what was expected. Nothing has been
        allocated or written then.

    Examples
    --------
    >>> x, w = np.ones((1, 5, 5, 2), np.float32), np.ones((3, 3, 3, 2), np.float32)
    >>> conv2d(x, w, padding=1)[0, :, :, 0]
    array([[ 8., 12., 12., 12.,  8.],
           [12., 18., 18., 18., 12.],
           [12., 18., 18., 18., 12.],
           [12., 18., 18., 18., 12.],
           [ 8., 12., 12., 12.,  8.]], dtype=float32)
    """
    if isinstance(backend, str) and backend == "gpu":
        from convlab.plans.device_plan import conv2d_on_device

        parameters = {"stride": stride, "padding": padding, "dilation": dilation, "groups": groups}
        return conv2d_on_device(x, w, bias, parameters, algorithm, threads, out)
    check_array("x", x)
    check_array("w", w)
    problem = ConvProblem.of(x, w, stride=stride, padding=padding, dilation=dilation, groups=groups)
    if out is not None:
        check_out(out, problem.y_shape, problem.dtype, x=x, w=w, bias=bias)
    copied = 0 if x.flags.c_contiguous else problem.x_bytes
    output = problem.y_bytes if out is None else 0
    return prepare(problem, w, bias, algorithm, backend, threads, output, copied, once=True, x=x)(x, out)


def plan(
    problem: ConvProblem,
    w: np.ndarray,
    bias: np.ndarray | None = None,
    *,
    algorithm: str | Algorithm = "auto",
    backend: str = "auto",
    threads: int = 1,
) -> Plan:
    """Prepare a convolution: check it, choose the algorithm, pack the weights, allocate the workspace.

    Parameters
    ----------
    problem : ConvProblem
    w : ndarray, (K, R, S, C/groups)
    bias : ndarray, (K,), optional
        With ``backend="gpu"`` both may also lie on the device.
    algorithm, backend, threads
        As in `conv2d`; but for "auto" a run alone counts, predicted or measured: the weights are packed
        once, and then the plan runs often. And x is not known yet: if numbers of the first one would be lost
        in the transform that was chosen, that call warns and says what to name instead. Later ones do not.

    Returns
    -------
    Plan
        Call it with x, as often as you like, and from as many threads: a call that finds the workspace in
        use gets one of its own, which is kept for the next time.

    Raises
    ------
    ConvError
        As in `conv2d`; a `WorkspaceError` before anything is allocated if the memory would not suffice.
    """
    if isinstance(backend, str) and backend == "gpu":
        from convlab.plans.device_plan import plan_on_device

        return plan_on_device(problem, w, bias, algorithm, threads)
    return prepare(problem, w, bias, algorithm, backend, threads, output=None, copied=0)


def prepare(
    problem, w, bias, algorithm, backend, threads, output, copied, made=None, device=None, once=False, x=None
) -> Plan:
    """Check, choose and pack; `output` and `copied` are bytes that running the plan will also allocate.

    `made` and `device` are given where the plan is to run on a device: another class, other memory. With
    `once` it will run once, so that "auto" counts the packing too. `x` is given if it is known.
    """
    if not isinstance(problem, ConvProblem):
        raise ParameterError(f"problem is a {type(problem).__name__}; expected a ConvProblem")
    if problem.dtype not in COMPUTES:
        raise ParameterError(
            f"problem has dtype={problem.dtype!r}, which is for the cost model only; "
            f"to compute, expected one of {', '.join(COMPUTES)}"
        )
    check_array("w", w, problem.w_shape, "(K, R, S, C/groups)", (problem.dtype,))
    if bias is not None:
        check_array("bias", bias, (problem.K,), "(K,)", (problem.dtype,))
    backend, threads = choose_backend(backend), check_threads(threads)
    memory = Memory(problem.y_bytes if output is None else output, copied, threads, device)
    chosen, why = choose(problem, algorithm, backend, memory, once)
    unseen = None
    if chosen.mixing and isinstance(algorithm, str) and algorithm == "auto":
        weight, found = magnitudes.of_weights(problem, chosen, w)
        if x is not None and not found:
            found = magnitudes.of_pixels(problem, chosen, x, weight)
        if found:
            passed, (chosen, _) = chosen.name, choose(problem, algorithm, backend, memory, once, plain=True)
            why = f"it is the best that is no transform; {passed} is passed over: {found}"
        elif x is None:
            unseen = weight
    prepared = (made or Plan)(problem, w, bias, chosen, backend, threads)
    prepared.why, prepared._unseen = why, unseen
    return prepared


class Ready(NamedTuple):
    """What belongs together in a plan; `resize` puts another one in its place, all at once.

    Attributes
    ----------
    spares : list of dict of str to ndarray
        Workspaces for calls that find the first one in use, as far as nobody uses them now.
    """

    problem: ConvProblem
    packed: Any
    workspace: dict[str, np.ndarray]
    spares: list[dict[str, np.ndarray]]


class Plan:
    """A convolution made ready by `plan`: call it with x.

    Any number of threads may call it at once. Python's lists are the locks: `pop` gives an item to one
    thread only. Nobody waits, so nothing can hang, not even in a child that is forked during a call.

    Attributes
    ----------
    problem : ConvProblem
    algorithm : Algorithm
    why : str
        Why it is this algorithm, in words.
    backend : str
    threads : int
    workspace : dict of str to ndarray
        The arrays allocated beside x, w, y and the packed weights.
    packed
        The weights in the layout the kernel reads.
    rebuilt : str
        How much of the workspace had to be made anew by what was done last: "all" after `plan`; after a
        call "nothing", whatever array it was given; after `resize` what that says.
    """

    def __init__(self, problem, w, bias, algorithm: Algorithm, backend: str, threads: int):
        self.algorithm, self.backend, self.threads = algorithm, backend, threads
        self._form, self._dtype = algorithm.forms[backend], np.dtype(problem.dtype)
        try:
            packed = self._form.pack(problem, w)  # always a copy: changing w later changes nothing
            self._w = None if self._form.pack_key is None else w.copy()
            self._ready = Ready(problem, packed, self._form.allocate(problem, threads), [])
            self.bias = None if bias is None else bias.copy()
        except MemoryError as error:
            raise _refused_by_the_system(error) from error
        self._idle = [True]  # empty while a call uses the workspace
        self._unseen: float | None = None  # the largest weight, if "auto" has to see the first x with it
        self.rebuilt = "all"

    @property
    def problem(self) -> ConvProblem:
        return self._ready.problem

    @property
    def packed(self):
        return self._ready.packed

    @packed.setter
    def packed(self, packed) -> None:
        self._ready = self._ready._replace(packed=packed)

    @property
    def workspace(self) -> dict[str, np.ndarray]:
        return self._ready.workspace

    @workspace.setter
    def workspace(self, workspace: dict[str, np.ndarray]) -> None:
        self._ready = self._ready._replace(workspace=workspace)

    @property
    def cost(self) -> Cost:
        """The cost model's figures for one run."""
        return self.algorithm.cost(self.problem, self.backend, self.threads)

    def resize(self, *, N: int | None = None, H: int | None = None, W: int | None = None) -> str:
        """Make the plan ready for another batch or another size of picture.

        The packed weights stay, but for those that are made for one size: spectra. The padding stays as it
        is in pixels; "same" is not worked out anew.

        Parameters
        ----------
        N, H, W : int, optional
            The new sizes; what is not given stays as it is.

        Returns
        -------
        str
            How much had to be made anew: "nothing", "part" or "all".

        Raises
        ------
        ConvError
            If the new sizes do not suit the filter, the algorithm or the memory; the plan is as before.
        """
        given = {name: size for name, size in {"N": N, "H": H, "W": W}.items() if size is not None}
        old, packed, workspace, spares = self._ready
        new, rebuilt = replace(old, **given), "nothing"
        choose(new, self.algorithm, self.backend, self._memory(new.y_bytes))
        try:
            if self._w is not None and self._form.pack_key(new) != self._form.pack_key(old):
                packed = self._form.pack(new, self._w)
            if self._form.resize is not None:
                workspace, rebuilt = self._form.resize(old, new, workspace)
            elif new != old and workspace:
                workspace, rebuilt = self._form.allocate(new, self.threads), "all"
        except MemoryError as error:
            raise _refused_by_the_system(error) from error
        # All at once, at the end: what fails before this leaves the plan as it was. A call that another
        # thread is in goes on with what it began with.
        self._ready = Ready(new, packed, workspace, spares if new == old else [])
        self.rebuilt = rebuilt
        return rebuilt

    def __call__(self, x: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
        """Return the convolution of x, written into `out` if it is given.

        Parameters
        ----------
        x : ndarray, (N, H, W, C)
            Of the plan's shape and dtype. Copied first if it is not C-contiguous.
        out : ndarray, (N, P, Q, K), optional

        Raises
        ------
        ConvError
            If x or out does not fit the plan.
        """
        ready = self._ready
        problem = ready.problem
        self._check(x, problem)
        if self._unseen is not None:
            self._look_at_first(x, problem)
        try:
            if out is None:
                out = aligned_empty(problem.y_shape, problem.dtype)
            else:
                inside = {"packed": ready.packed, "bias": self.bias} | ready.workspace
                check_out(out, problem.y_shape, self._dtype, x=x, **inside)
            self._run(ready, np.ascontiguousarray(x), out)
        except MemoryError as error:
            raise _refused_by_the_system(error) from error
        if self.bias is not None:
            out += self.bias
        self.rebuilt = "nothing"
        return out

    def _run(self, ready: Ready, x, y) -> None:
        """Write the convolution of x into y, in a workspace that no other call uses."""
        workspace, waiting = ready.workspace, self._idle
        try:
            token = waiting.pop()
        except IndexError:
            waiting = ready.spares
            token = workspace = self._spare(ready)
        try:
            self._form.run(ready.problem, x, ready.packed, workspace, y, self.threads)
        finally:
            waiting.append(token)

    def _spare(self, ready: Ready) -> dict[str, np.ndarray]:
        """Return a workspace beside the first one, which is in use."""
        try:
            return ready.spares.pop()
        except IndexError:
            pass
        size = self._form.workspace_bytes(ready.problem, self.threads)
        if lacking := self._memory(0).lacking({"a workspace of its own": size}):
            raise WorkspaceError(
                f"a call of this plan beside another one {lacking}; let one wait for the other"
            )
        return self._form.allocate(ready.problem, self.threads)

    def twin(self) -> Plan:
        """Return the same plan with a workspace of its own; the packed weights are the same."""
        other = copy(self)
        other._ready = self._ready._replace(workspace=self._spare(self._ready), spares=[])
        other._idle = [True]
        return other

    def takes_turns_with(self, other: Plan) -> None:
        """Share memory with another plan: while one of them is called, the other works in a spare."""
        check_instance("other", other, Plan)
        self._idle = other._idle

    def _check(self, x, problem: ConvProblem) -> None:
        """Refuse an x that does not fit, and say so if `resize` would make it fit."""
        if type(x) is np.ndarray and x.shape == problem.x_shape and x.dtype == self._dtype:
            return  # what is right is found right in a tenth of a microsecond
        try:
            check_array("x", x, problem.x_shape, "(N, H, W, C)", (problem.dtype,))
        except ShapeError as error:
            raise self._with_hint(error, x.shape, problem) from None

    def _look_at_first(self, x, problem: ConvProblem) -> None:
        """Warn if "auto" would have taken another algorithm, had it seen x."""
        weight, self._unseen = self._unseen, None
        if found := magnitudes.of_pixels(problem, self.algorithm, x, weight):
            other, _ = choose(problem, "auto", self.backend, self._memory(0), plain=True)
            warnings.warn(
                f"this plan chose {self.algorithm.name} by itself, and {found}; "
                f"a plan with algorithm={other.name!r} does not mix pixels",
                RuntimeWarning,
                stacklevel=3,
            )

    def _with_hint(self, error: ShapeError, shape: tuple, problem: ConvProblem) -> ShapeError:
        """Return the error; where `resize` would make the plan fit that shape, it says so."""
        if len(shape) != 4 or shape[3] != problem.C:
            return error
        N, H, W, _ = shape
        try:
            refused = self.algorithm.supports(replace(problem, N=N, H=H, W=W))
        except ConvError:
            return error
        if refused:
            return error
        return ShapeError(f"{error}; plan.resize(N={N}, H={H}, W={W}) makes the plan fit")

    def _memory(self, output: int) -> Memory:
        """Return what is asked if another size would fit."""
        return Memory(output, 0, self.threads)

    def __repr__(self) -> str:
        return (
            f"<plan: {self.algorithm.name} on {self.backend}, {self.problem}, "
            f"workspace {bytes_text(self.cost.workspace_bytes)}>"
        )


def _refused_by_the_system(error: MemoryError) -> WorkspaceError:
    """Return the error for memory that was counted as free and was not given."""
    return WorkspaceError(f"the system gave no more memory ({str(error) or 'it does not say how much'})")
