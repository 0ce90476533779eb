"""Whole-number arithmetic in a kernel is the hardware's, 32 bits without a sign: by rule, not by casts.

    @kernel                                   for  @cuda.jit
    @device_function(forceinline=True)        for  @cuda.jit(device=True, forceinline=True)

A GPU counts with 32 bits; Numba takes a whole number for one of 64, and makes several instructions of each
sum. With these decorators a kernel is written as its formula, ``((n*H + h)*W + w)*C + c``, and every sum,
product, quotient, remainder and shift of two whole numbers in it is a uint32. It wraps around: a row above
the picture, ``p*stride + r - top`` below zero, is a very large one, and ``row < H`` refuses it like a row
below the picture. Numbers with a fraction are left alone, and so is what was made a uint64 on purpose.

The function's source is read once and rewritten: ``a + b`` becomes ``u32_add(a, b)``, an operation that gives
a uint32 for two whole numbers. Lines, columns, closure and globals stay as they are, so that errors, and the
machine code, still point at what was written. The lane simulator rewrites its own copy by `Arithmetic`, too.
"""

from __future__ import annotations

import ast
import inspect
from types import CellType, CodeType, FunctionType

from convlab.errors import ConvError
from convlab.gpu.numba_cuda import cuda
from convlab.gpu.uint32_operations import OPERATIONS, operations

_TAKES_LITERALS = ("range", "cp_async_wait")
PLACES = ("threadIdx", "blockIdx", "blockDim", "gridDim")


def kernel(function=None, **options):
    """Make a function a kernel whose whole-number arithmetic is uint32; options as for ``cuda.jit``."""

    def wrap(function):
        return cuda.jit(**options)(unsigned(function))

    return wrap if function is None else wrap(function)


def device_function(function=None, **options):
    """Make a function one that kernels call, with the same arithmetic."""
    return kernel(function, device=True, **options)


def unsigned(function):
    """Return the function with its whole-number arithmetic in uint32."""
    definition = _Unsigned().visit(definition_of(function))
    names = function.__code__.co_freevars
    cells = dict(zip(names, function.__closure__ or (), strict=True))
    cells |= {name: CellType(operation) for name, operation in operations().items()}
    # Only what stands inside of another function can have a closure.
    module = ast.parse(f"def outer({', '.join(cells)}): pass")
    vars(module.body[0])["body"] = [definition]
    ast.fix_missing_locations(module)
    code = compile(module, function.__code__.co_filename, "exec")
    for _ in range(2):
        code = next(part for part in code.co_consts if isinstance(part, CodeType))
    closure = tuple(cells[name] for name in code.co_freevars)
    made = FunctionType(code, function.__globals__, function.__name__, function.__defaults__, closure)
    made.__kwdefaults__, made.__qualname__ = function.__kwdefaults__, function.__qualname__
    made.__module__, made.__doc__ = function.__module__, function.__doc__
    vars(made).update(is_unsigned=True, __wrapped__=function)  # whose source it is
    return made


def definition_of(function) -> ast.FunctionDef:
    """Return a function's definition, parsed; its lines are those of the file.

    Raises
    ------
    ConvError
        If its source is not at hand.
    """
    try:
        lines, first = inspect.getsourcelines(function)
    except (OSError, TypeError) as error:
        message = f"the source of kernel {function.__name__} is not at hand: define it in a file or in a cell"
        raise ConvError(message) from error
    # Inside a class or factory it is indented: an `if` of one line above it keeps the columns as they are.
    indented = lines[0][:1].isspace()
    tree = ast.parse("".join(["if 1:\n"] * indented + lines))
    ast.increment_lineno(tree, first - 1 - indented)
    definition = tree.body[0].body[0] if isinstance(tree.body[0], ast.If) else tree.body[0]
    assert isinstance(definition, ast.FunctionDef)
    return definition


class Arithmetic(ast.NodeTransformer):
    """Rewrites every operation on numbers; `operation` says to what. Shapes of arrays stay constants."""

    def operation(self, node, name: str, *operands):
        """Return what stands for an operation on these operands."""
        raise NotImplementedError

    def visit_BinOp(self, node):
        self.generic_visit(node)
        if type(node.op) not in OPERATIONS:
            return node
        return self.operation(node, OPERATIONS[type(node.op)][0], node.left, node.right)

    def visit_AugAssign(self, node):
        self.generic_visit(node)
        # What is written to an array becomes a number of the array's type anyhow.
        if type(node.op) not in OPERATIONS or not isinstance(node.target, ast.Name):
            return node
        before = ast.copy_location(ast.Name(node.target.id, ast.Load()), node.target)
        value = self.operation(node, OPERATIONS[type(node.op)][0], before, node.value)
        return ast.copy_location(ast.Assign([node.target], value), node)

    def visit_Call(self, node):
        return node if _makes_array(node) else self.generic_visit(node)


class _Unsigned(Arithmetic):
    """For Numba: each operation becomes a call, and what is made from nothing is a uint32 from the start."""

    def operation(self, node, name, *operands):
        call = ast.Call(ast.Name(f"u32_{name}", ast.Load()), list(operands), [])
        for part in (call, call.func):
            ast.copy_location(part, node)
        return call

    def visit_For(self, node):
        self.generic_visit(node)
        if isinstance(node.target, ast.Name) and node.target.id != "_":
            name = ast.Name(node.target.id, ast.Load())
            now = ast.Assign([ast.Name(node.target.id, ast.Store())], self.operation(node, "counted", name))
            for part in ast.walk(now):
                ast.copy_location(part, node.target)
            node.body.insert(0, now)
        return node

    def visit_Assign(self, node):
        self.generic_visit(node)
        node.value = self._whole(node.value)
        return node

    def visit_Attribute(self, node):
        of = node.value
        if isinstance(of, ast.Attribute) and of.attr in PLACES and isinstance(node.ctx, ast.Load):
            return self.operation(node, "whole", node)
        return node

    def visit_Call(self, node):
        node = super().visit_Call(node)
        if isinstance(node.func, ast.Attribute):
            return self.operation(node, "whole", node) if node.func.attr == "grid" else node
        if node.func.id == "divmod":
            return self.operation(node, "divmod", *node.args)
        if node.func.id not in _TAKES_LITERALS:
            node.args = [self._whole(argument) for argument in node.args]
        return node

    def _whole(self, value):
        if isinstance(value, ast.Tuple):
            value.elts = [self._whole(part) for part in value.elts]
        whole = isinstance(value, ast.Constant) and type(value.value) is int
        return self.operation(value, "whole", value) if whole or isinstance(value, ast.IfExp) else value


def _makes_array(node: ast.Call) -> bool:
    return isinstance(node.func, ast.Attribute) and node.func.attr in ("array", "array_like")
