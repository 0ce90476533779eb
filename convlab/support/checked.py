"""`checked`: the type hints of a public function, taken at their word.

    @checked
    def blocks(problem: ConvProblem, rows: Count, *, role: Role = "input") -> list: ...

    blocks(layer, rows=1.5)     ParameterError: rows=1.5; expected an integer from 1 to 2147483647

A hint says what kind of thing an argument is. What it must be beside, a shape that fits or a name that is
known, stands in `Annotated`, as a function of (name, value), or the function itself says it. A wrong call
(an argument missing, or one too many) stays Python's own TypeError.

It takes some microseconds. So it stands on the doors, and not on what a run of a plan goes through.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import lru_cache, partial, wraps
from pathlib import Path
from types import GenericAlias, NoneType, UnionType
from typing import Annotated, Any, TypeVar, Union, cast, get_args, get_origin, get_type_hints

import numpy as np

from convlab.errors import ConvError, ParameterError
from convlab.support.checks import (
    COMPUTES,
    LARGEST,
    check_choice,
    check_filled,
    check_index,
    check_number,
    check_numbers,
    check_path,
    check_whole,
    said,
)

T = TypeVar("T")
Door = TypeVar("Door", bound=Callable[..., Any])  # a function, or a class
Count = Annotated[int, partial(check_whole, least=1, most=LARGEST)]
Size = Annotated[int, partial(check_whole, least=1, most=2**128)]  # what is larger than all counts as all
Threads = Annotated[int, partial(check_whole, least=1, most=1024)]
Computed = Annotated[str, partial(check_choice, words=COMPUTES)]  # the name of a dtype that kernels have
Index = Annotated[Any, check_index]  # an integer, or an array of them
Positive = Annotated[float, partial(check_number, above=0)]
NotNegative = Annotated[float, partial(check_number, least=0)]
Limit = Annotated[float, partial(check_number, above=0, finite=False)]  # infinite: none
Filled = Annotated[T, check_filled]  # Filled[Mapping[str, float]]: not an empty one


def checked(function: Door) -> Door:
    """Return a function that looks at its arguments before it begins; of a class, that is its constructor.

    Raises
    ------
    ConvError
        When it is called; the message names the argument, its value and what was expected.
    """
    if isinstance(function, type):
        constructor = checked(vars(function)["__init__"])
        type.__setattr__(function, "__init__", constructor)
        return cast(Door, function)

    @wraps(function)
    def door(*arguments: Any, **options: Any) -> Any:
        try:
            given = _signature(function).bind(*arguments, **options).arguments
        except TypeError:  # Python says itself what is missing, or too many
            return function(*arguments, **options)
        for name, hint in _hints(function).items():
            if name in given:
                check_hint(name, given[name], hint)
        return function(*arguments, **options)

    return cast(Door, door)


def kept(function: Door, most: int = 128) -> Door:
    """Return a checked function that keeps what it has returned, as `functools.lru_cache` does, of so many.

    Arguments are looked at where they are new, so that what is known costs no more than to look it up.
    """
    door = checked(function)
    known = lru_cache(most, typed=True)(door)  # typed: True is no 1

    @wraps(function)
    def found(*arguments: Any, **options: Any) -> Any:
        try:
            return known(*arguments, **options)
        except TypeError:  # an argument that cannot be kept, a list: the door says what is wrong with it
            return door(*arguments, **options)

    return cast(Door, found)


_signature = lru_cache(None)(inspect.signature)


@lru_cache(None)
def _hints(function: Any) -> dict[str, Any]:
    """Return the hints of a function's arguments; those of ``*rest`` as of a sequence."""
    hints = get_type_hints(function, include_extras=True)
    found: dict[str, Any] = {name: hints[name] for name in _signature(function).parameters if name in hints}
    several: dict[str, Any] = {
        name: GenericAlias(Sequence, (hint,))
        for name, hint in found.items()
        if _signature(function).parameters[name].kind is inspect.Parameter.VAR_POSITIONAL
    }
    return found | several


def check_hint(name: str, value: Any, hint: Any) -> None:
    """Refuse a value that is not what a hint says.

    Raises
    ------
    ConvError
    """
    kind, inner = get_origin(hint) or hint, get_args(hint)
    if kind is Annotated:
        base, *rules = inner
        if base not in (int, float):  # of a number the rules say all
            check_hint(name, value, base)
        for rule in rules:
            rule(name, value)
    elif kind in (Union, UnionType):
        _check_any(name, value, inner)
    elif kind in _RULES:
        _RULES[kind](name, value)
    elif kind is tuple and inner[-1] is not ...:
        if not isinstance(value, tuple | list) or len(value) != len(inner):
            raise ParameterError(f"{name}={said(value)}; expected {len(inner)} values, as a tuple")
        for i, (one, its) in enumerate(zip(value, inner, strict=True)):
            check_hint(f"{name}[{i}]", one, its)
    elif kind is not Any:
        what = _WORDS.get(kind) or f"a {kind.__name__}"
        alone = isinstance(value, str | bytes) or (isinstance(value, np.ndarray) and value.ndim == 0)
        if not isinstance(value, kind) or (kind in _LISTS and alone):
            raise ParameterError(f"{name} is a {type(value).__name__}, {said(value)}; expected {what}")
        if kind in _MAPPINGS and inner:
            for key, one in value.items():
                check_hint(f"a key of {name}", key, inner[0])
                check_hint(f"{name}[{said(key)}]", one, inner[1])
        elif inner and kind in _LISTS and isinstance(value, Collection):  # an iterator is used up by a look
            for i, one in enumerate(value):
                check_hint(f"{name}[{i}]", one, inner[0])


def _check_any(name: str, value: Any, hints: Iterable[Any]) -> None:
    """Refuse a value that fits none of several hints."""
    if value is None and NoneType in hints:
        return
    if Path in hints:
        check_path(name, value)
        return
    errors: list[ConvError] = []
    for hint in hints:
        if hint is not NoneType:
            try:
                return check_hint(name, value, hint)
            except ConvError as error:
                errors.append(error)
    inside = (one for one in errors if str(one).startswith((f"{name}[", f"a key of {name}")))
    if told := errors[0] if len(errors) == 1 else next(inside, None):
        raise told  # of one kind alone, or of something in it
    expected = " or ".join(str(one).rpartition("expected ")[2] for one in errors)
    raise ParameterError(f"{name}={said(value)}; expected {expected}")


def _check_truth(name: str, value: Any) -> None:
    if not isinstance(value, bool | np.bool_):
        raise ParameterError(f"{name}={said(value)}; expected True or False")


def _check_callable(name: str, value: Any) -> None:
    if not callable(value):
        raise ParameterError(f"{name}={said(value)}; expected a function")


_RULES: dict[Any, Callable[[str, Any], object]] = {
    bool: _check_truth,
    int: partial(check_whole, least=0, most=LARGEST),
    float: check_number,
    np.ndarray: check_numbers,
    Callable: _check_callable,
}
_MAPPINGS: tuple[Any, ...] = (dict, Mapping)
_LISTS: tuple[Any, ...] = (list, tuple, Sequence, Iterable, Collection)
_WORDS: dict[Any, str] = {str: "text", Path: "a pathlib.Path"}
_WORDS |= dict.fromkeys(_MAPPINGS, "a mapping, as a dict is one")
_WORDS |= dict.fromkeys(_LISTS, "a list or a tuple")
