"""The convolution layers of real networks, read from `data/networks/`; each file names its source."""

from __future__ import annotations

import contextlib
import csv
import warnings
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from convlab.errors import ParameterError
from convlab.problem import ConvProblem
from convlab.support.checks import LARGEST, check_choice, check_whole, said
from convlab.support.files import data_path, read_text


@dataclass(frozen=True)
class Layer:
    """One convolution layer: its name inside the network, and its shape."""

    name: str
    problem: ConvProblem


@dataclass(frozen=True)
class Network:
    """The convolution layers of one network, in the order they run.

    Attributes
    ----------
    name, title : str
        The name `load` takes, and the name people use.
    source : str
        Where the layer shapes come from.
    layers : tuple of Layer
    """

    name: str
    title: str
    source: str
    layers: tuple[Layer, ...]

    def __iter__(self) -> Iterator[Layer]:
        return iter(self.layers)

    def __len__(self) -> int:
        return len(self.layers)

    def __getitem__(self, name: str | int) -> Layer:
        """Return a layer by name, e.g. ``network["conv1"]``, or by position."""
        if isinstance(name, str):
            found = [layer for layer in self.layers if layer.name == name]
            if found:
                return found[0]
        elif not isinstance(name, bool):
            with contextlib.suppress(TypeError, IndexError):
                return self.layers[name]
        raise ParameterError(
            f"{self.name} has no layer {said(name)}; expected a position from 0 to {len(self) - 1} or one of "
            + ", ".join(layer.name for layer in self.layers)
        )

    def distinct(self) -> dict[ConvProblem, int]:
        """Return the distinct shapes, in order, with the number of layers that have each."""
        return dict(Counter(layer.problem for layer in self.layers))

    @property
    def macs(self) -> int:
        """Multiply-adds of all convolutions."""
        return sum(layer.problem.macs for layer in self.layers)


@lru_cache
def names() -> tuple[str, ...]:
    """Return the names of the networks at hand; a file that is broken is named in a warning, and left out.

    They are the files in `data/networks/`, each of which is one network.
    """
    found = []
    for name in _files():
        try:
            found.append(_read(name).name)
        except ParameterError as error:
            warnings.warn(f"a file is skipped: {error}", stacklevel=2)
    return tuple(found)


def _files() -> list[str]:
    return sorted(path.stem for path in data_path("networks").glob("*.csv"))


def load(name: str, *, batch: int = 1, dtype: str = "float32") -> Network:
    """Return a network's convolution layers, for a batch of 224 x 224 x 3 images.

    Parameters
    ----------
    name : str
        One of `names()`.
    batch : int
        Images in the batch, the N of every layer.
    dtype : str
        Type of every array.

    Raises
    ------
    ParameterError
        If there is no such network, its file is broken, or batch is not a positive integer.

    Examples
    --------
    >>> load("resnet18")["layer1.0.conv1"].problem.x_shape
    (1, 56, 56, 64)
    """
    check_choice("network", name, _files())
    batch = check_whole("batch", batch, 1, LARGEST)
    network = _read(name)
    return replace(
        network,
        layers=tuple(
            replace(layer, problem=replace(layer.problem, N=batch, dtype=dtype)) for layer in network.layers
        ),
    )


@lru_cache
def _read(name: str) -> Network:
    path = data_path("networks", f"{name}.csv")
    try:
        return _parsed(name, read_text(path).splitlines())
    except OSError as error:
        raise ParameterError(f"{str(path)!r}: {error.strerror}; expected the layers of {name}") from None
    except (ValueError, KeyError, TypeError, IndexError, csv.Error) as error:
        raise ParameterError(f"{str(path)!r} is no file of layers: {type(error).__name__}: {error}") from None


def _parsed(name: str, text: list[str]) -> Network:
    comments = [line.lstrip("# ") for line in text if line.startswith("#")]
    layers = []
    for row in csv.DictReader(line for line in text if not line.startswith("#")):
        size: dict[str, Any] = {key: int(value) for key, value in row.items() if key != "name"}
        padding = (size.pop("top"), size.pop("bottom")), (size.pop("left"), size.pop("right"))
        layers.append(Layer(row["name"], ConvProblem(N=1, padding=padding, **size)))
    if not layers:
        raise ValueError("it has no layers")
    title = comments[0].split(":")[0]
    source = " ".join(comments[1:]).removeprefix("Source: ").rstrip(".")
    return Network(name, title, source, tuple(layers))
