"""Numba's decorators, but Numba is imported when a kernel is first called, not when convlab is."""

from __future__ import annotations

from functools import cached_property, update_wrapper
from importlib import import_module

# Multiply-adds may be fused and sums reordered; NaN and infinity keep their IEEE meaning.
FAST = frozenset({"reassoc", "contract"})


class _Lazy:
    """A function that Numba sees only when it is called, or used by another kernel."""

    def __init__(self, function, decorate):
        self._function, self._decorate = function, decorate
        update_wrapper(self, function)

    @cached_property
    def compiled(self):
        """Numba's own object: a dispatcher with `inspect_asm`, `signatures` and the like."""
        import numba

        return self._decorate(numba)(self._function)

    def compiled_anew(self):
        """Return the same without the cache on disk: Numba shows the machine code of such a kernel only."""
        import numba

        return self._decorate(numba, cache=False)(self._function)

    def __call__(self, *args):
        return self.compiled(*args)

    @property
    def _numba_type_(self):
        # Numba asks any foreign object for this: so one lazy kernel can call another.
        from numba.core.registry import cpu_target

        compiled = self.compiled
        cpu_target.typing_context.refresh()  # takes in an intrinsic that has just been made
        return cpu_target.typing_context.resolve_value_type(compiled)


def njit(function=None, *, fastmath=FAST, **options):
    """Compile a function with Numba on its first call and keep the machine code on disk.

    Takes the options of `numba.njit`; `cache=True`, `nogil=True` and the safe half of `fastmath` are on.
    """
    options = {"cache": True, "nogil": True, "fastmath": set(fastmath)} | options

    def compile_with(numba, **changed):
        chosen = options | changed
        keep = chosen.pop("cache")

        def decorate(f):
            if f.__globals__.get("prange") is range:
                f.__globals__["prange"] = numba.prange
            kernel = numba.njit(**chosen)(f)
            if keep:
                from convlab.cpu.kernel_cache import cache_of

                kernel._cache = cache_of(f)  # where cache=True would put Numba's own
            return kernel

        return decorate

    def wrap(f):
        return _Lazy(f, compile_with)

    return wrap if function is None else wrap(function)


prange = range  # a loop that may be shared between threads: Numba's prange in what `njit` compiles


def late(module: str, *names: str) -> tuple[_Lazy, ...]:
    """Return operations of a module that is imported only when a kernel which uses them is compiled."""

    def found(name):
        def operation():
            """Stand for the operation until then."""

        operation.__name__ = name
        return _Lazy(operation, lambda numba: lambda _: getattr(import_module(module), name))

    return tuple(found(name) for name in names)


def intrinsic(function):
    """Make `function` an operation that kernels can use, written in LLVM's terms."""
    return _Lazy(function, lambda numba: numba.extending.intrinsic)


@intrinsic
def copy_run(typing, target, at, source, start, count):
    """Copy `count` neighbouring numbers, ``target[at : at + count] = source[start : start + count]``.

    Both arrays have one axis. This is C's memcpy: several times as fast as a slice assignment, which
    must first make sure that the two do not overlap.
    """
    from numba import types
    from numba.core import cgutils

    def generate(context, builder, signature, args):
        to_type, from_type = signature.args[0], signature.args[2]
        to = builder.gep(context.make_array(to_type)(context, builder, args[0]).data, [args[1]])
        source_ = builder.gep(context.make_array(from_type)(context, builder, args[2]).data, [args[3]])
        cgutils.raw_memcpy(builder, to, source_, args[4], to_type.dtype.bitwidth // 8)
        return context.get_dummy_value()

    return types.none(target, types.intp, source, types.intp, types.intp), generate
