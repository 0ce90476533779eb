"""Every public function, every argument, every wrong value: a ConvError that names the argument, or a reason.

Public is what the doors export, and what the notebooks import. Who adds to that adds a row here: a test finds
what has none. A row is a call that is right; from it one argument after the other is made wrong.
"""

import inspect
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from public_names import methods, public
from wrong_values import SKIPPED, VALUES, rows

from convlab import ConvError

pytestmark = pytest.mark.inside

PUBLIC = public()


def right_values(call, name: str) -> set[str]:
    """Return which of the values are right for an argument."""
    parameter = call.signature.parameters[name]
    right = set(call.right.get(name, ()))
    if parameter.default is None:
        right.add("None")
    if isinstance(parameter.default, bool):
        right |= {"True", "NumPy's True"}
    return right


@cache
def all_rows():
    return rows()


@pytest.fixture(autouse=True)
def elsewhere(monkeypatch, tmp_path):
    """A word is a right name of a file, which is then written."""
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("name", [*PUBLIC, *methods(PUBLIC)])
def test_wrong_values_are_refused(name):
    if name in SKIPPED:
        assert SKIPPED[name].strip()
        return
    assert name in all_rows(), f"{name} is public; give it a row in wrong_values.py"
    call = all_rows()[name]
    if not call.trusted:
        call()  # a right call is taken
    failed = []
    for argument in call.arguments():
        right = right_values(call, argument)
        for word, make in VALUES.items():
            if word in right:
                continue
            value = make(call.valid(argument))
            if problem := _answer(call, argument, value):
                failed.append(f"{argument} = {word}: {problem}")
    assert not failed, f"{name}\n" + "\n".join(failed)


def _answer(call, argument, value) -> str:
    """Say what is wrong with how a call answers a wrong value."""
    try:
        call(**{argument: value})
    except ConvError as error:
        message = str(error)
        if not any(word in message for word in call.words(argument)):
            return f"the message does not name it: {message}"
        return "the message has several lines" if "\n" in message else ""
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return "silence"


def test_no_row_is_left_over():
    named = {*PUBLIC, *methods(PUBLIC)}
    assert not [name for name in (*all_rows(), *SKIPPED) if name not in named]


def test_it_is_found_what_notebooks_use():
    """The search for public names sees imports, and what is used of an imported module."""
    assert {"api.plan", "support.units.bytes_text", "gpu.simulator.run"} <= set(PUBLIC)
    assert "plans.plan.Plan.resize" in methods(PUBLIC)
    assert Path(inspect.getfile(PUBLIC["benchmark.datasheets.load"])).name == "datasheets.py"


def test_numbers_of_numpy_are_numbers():
    """What is whole is whole, whoever made it; and text of another class is text."""
    import convlab
    from convlab.figures import photograph

    class Text(str):
        pass

    assert photograph(np.int64(4)).shape == photograph(np.array(4)).shape == (1, 4, 4, 3)
    assert convlab.networks.load(Text("vgg16"), batch=np.uint8(2)).layers[0].problem.N == 2
