"""The examples in the docstrings are true, and what the public API promises in words is there."""

import doctest
import importlib
import inspect

import pytest

import convlab

MODULES = [
    "convlab",
    "convlab.cost.formula",
    "convlab.networks",
    "convlab.api",
    "convlab.problem",
    "convlab.networks.network",
]


@pytest.mark.parametrize("name", MODULES)
def test_examples(name):
    module = importlib.import_module(name)
    names = {"np": importlib.import_module("numpy"), "convlab": convlab}
    result = doctest.testmod(module, extraglobs=names)
    assert result.attempted > 0
    assert result.failed == 0


@pytest.mark.parametrize("name", convlab.__all__)
def test_every_public_name_is_explained(name):
    thing = getattr(convlab, name)
    if inspect.isfunction(thing):
        doc = inspect.getdoc(thing)
        assert doc
        parameters = [p for p in inspect.signature(thing).parameters if p != "parameters"]
        assert all(p in doc for p in parameters), f"{name} does not explain all of {parameters}"
        assert inspect.signature(thing).return_annotation is not inspect.Signature.empty
    elif inspect.isclass(thing):
        assert inspect.getdoc(thing)
