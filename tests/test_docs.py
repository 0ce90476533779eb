"""The examples in the docstrings are true, and what the public API promises in words is there."""

import ast
import doctest
import importlib
import inspect
import io
import re
from pathlib import Path

import numpy as np
import pytest

import convlab

ROOT = Path(convlab.__file__).parents[1]
KNOWN = {"np": np, "convlab": convlab} | {name: getattr(convlab, name) for name in convlab.__all__}


def examples():
    """Yield every docstring with an example in it: the file, the line and the text.

    They are read from the source, so that no decorator hides one.
    """
    for path in sorted((ROOT / "convlab").rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        for node in ast.walk(ast.parse(text)) if ">>> " in text else ():
            kinds = ast.Module | ast.ClassDef | ast.FunctionDef
            doc = ast.get_docstring(node) if isinstance(node, kinds) else None
            if doc and ">>> " in doc:
                yield path.relative_to(ROOT), node.body[0].lineno, doc


EXAMPLES = list(examples())


@pytest.mark.parametrize(("path", "line", "doc"), EXAMPLES, ids=[f"{p}:{line}" for p, line, _ in EXAMPLES])
def test_examples(path, line, doc):
    if "import dask" in doc:
        pytest.importorskip("dask")  # which `python3 lab.py` does not install
    module = importlib.import_module(".".join(path.with_suffix("").parts).removesuffix(".__init__"))
    test = doctest.DocTestParser().get_doctest(doc, KNOWN | vars(module), str(path), str(path), line)
    said = io.StringIO()
    result = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(test, out=said.write)
    assert test.examples
    assert result.failed == 0, said.getvalue()


def test_examples_are_found():
    """Also those of checked functions, and of whole modules."""
    found = {str(path) for path, *_ in EXAMPLES}
    assert {"convlab/__init__.py", "convlab/problem.py", "convlab/support/integers.py"} <= found
    assert found == {
        str(path.relative_to(ROOT))
        for path in (ROOT / "convlab").rglob("*.py")
        if re.search(r"^ *>>> ", path.read_text(encoding="utf-8"), re.MULTILINE)
    }


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
