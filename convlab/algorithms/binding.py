"""A GPU form in the table of algorithms: what it costs, and the module that runs it."""

from __future__ import annotations

from importlib import import_module

from convlab.algorithms.spec import Form, Formula


def gpu_form(module: str, *, parts: tuple[str, ...] = (), bound: tuple = (), **costs: Formula) -> Form:
    """Return a `Form` whose functions are those of an algorithm's module gpu, imported when it first runs.

    Parameters
    ----------
    module : str
        Has ``run(problem, x, packed, workspace, y, threads)``; every array is the device's, of the shape
        it has on the CPU.
    parts : tuple of str
        Which others the module has: "pack", "allocate", "resize", as `Form` describes them; they return
        arrays of the device.
    bound : tuple
        What every function of the module takes before these arguments: one module serves several forms.
    **costs
        The cost model: `bytes_moved`, and `workspace_bytes` and `packed_bytes` where they are not the usual.
    """

    def late(name):
        def call(*arguments):
            return getattr(import_module(f"convlab.algorithms.{module}.gpu"), name)(*bound, *arguments)

        return call

    functions = {name: late(name) for name in parts}
    if "pack" not in parts:
        functions["pack"] = _put
    return Form(run=late("run"), **functions, **costs)


def _put(problem, w):
    from convlab.gpu.device import current

    return current().put(w)
