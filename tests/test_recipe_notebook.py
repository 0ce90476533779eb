"""CONTRIBUTING's recipe for a notebook with an exercise and a widget, followed to the letter in a copy."""

import os
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from effort import in_turns

HERE = Path(__file__).resolve().parents[1]
TEXT = (HERE / "CONTRIBUTING.md").read_text(encoding="utf-8")
RECIPE = TEXT.partition("## Add a notebook")[2].partition("\n## ")[0]
FILE = re.compile(r"`(convlab/[\w/.]+)`, [^\n]*\n\n```\w+\n(.*?)```\n", re.DOTALL)
RIGHT = re.compile(r"```python\n([^`]*\nRIGHT = .*?)```\n", re.DOTALL)

pytestmark = [pytest.mark.workshop, pytest.mark.browser]


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    """Return a copy of the course with the recipe's files in it."""
    folder = tmp_path_factory.mktemp("recipe")
    ignored = shutil.ignore_patterns("__pycache__", ".*")
    for name in ("convlab", "tests", "tools", "notebooks"):
        shutil.copytree(HERE / name, folder / name, ignore=ignored)
    for name in ("README.md", "CONTRIBUTING.md", "pyproject.toml"):
        shutil.copy(HERE / name, folder)
    (folder / "data").symlink_to(HERE / "data")

    written = dict(FILE.findall(RECIPE))
    assert [Path(name).name for name in written] == ["dilated_taps.py", "dilated_taps.js", "reach.py"]
    for name, text in written.items():
        (folder / name).write_text(text, encoding="utf-8")
    imported, row = re.search(r"the import `(.*)` and the row `(.*)`", RECIPE).groups()
    widgets = folder / "convlab" / "widgets" / "__init__.py"
    text = widgets.read_text(encoding="utf-8").replace(
        "__all__ = [\n", f"{imported}\n\n__all__ = [\n    {row}\n"
    )
    widgets.write_text(text, encoding="utf-8")
    exercises = folder / "convlab" / "lessons" / "exercises" / "__init__.py"
    text = exercises.read_text(encoding="utf-8").replace("import (\n", "import (\n    reach,\n", 1)
    table, after = text.split(")\n\nEXERCISES", 1)  # behind the last notebook
    exercises.write_text(f"{table}    reach,\n)\n\nEXERCISES{after}", encoding="utf-8")
    (folder / "tests" / "right_answers" / "n20.py").write_text(RIGHT.search(RECIPE)[1], encoding="utf-8")
    _notebook(folder / "notebooks" / "20_dilation.ipynb")
    return folder


def _notebook(path):
    """Write a notebook as the recipe describes it."""
    import nbformat

    new = nbformat.v4
    imports = (
        "from convlab import ConvProblem\nfrom convlab.lessons import check, predict\n"
        "from convlab.widgets import DilatedTaps"
    )
    prediction = re.search(r"```python\n(taps, dilation = .*?)```", RECIPE, re.DOTALL)[1]
    cells = [
        new.new_markdown_cell("# Dilation\n\n**How far does a filter reach?** As far as its holes are wide."),
        new.new_code_cell(imports, metadata={"tags": ["hide-input"]}),
        new.new_code_cell("DilatedTaps(W=12, dilation=3)", metadata={"tags": ["keep_output"]}),
        new.new_code_cell(prediction, metadata={"jupyter": {"source_hidden": True}, "tags": ["hide-input"]}),
        new.new_code_cell(
            "def reach(S, dilation):\n"
            '    """Return the pixels that a filter of S taps spans, holes included."""\n'
            '    # your code here\n\n\ncheck("reach", reach)'
        ),
    ]
    nbformat.write(new.new_notebook(cells=cells), path)


def run(copy, *command):
    """Run a command in the copy and return what it says."""
    environment = os.environ | {"PYTHONPATH": str(copy)}
    options = {"cwd": copy, "env": environment, "capture_output": True, "text": True}
    done = subprocess.run([sys.executable, "-m", *command], **options)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@in_turns
def test_it_is_photographed_as_it_opens_and_in_its_notebook(copy):
    from tools.browser import NoBrowserError, launched

    def launches():
        with launched():
            pass

    try:
        with ThreadPoolExecutor(1) as beside:  # in this thread a browser of other tests may be open
            beside.submit(launches).result()
    except NoBrowserError as reason:
        pytest.skip(str(reason))
    said = run(copy, "tools.stills")
    assert re.findall(r"photographed: (\S+),", said) == ["dilated_taps.png", "dilated_taps-20.png"]
    assert "opens with another picture: 20_dilation.ipynb" in said
    assert (copy / "convlab" / "widgets" / "dilated_taps-20.png").stat().st_size > 3000


@in_turns
def test_its_tests_pass(copy):
    tests = ("tests/test_javascript.py", "tests/test_widgets.py", "tests/test_exercises.py")
    browser = ("tests/browser/test_widgets_page.py", "tests/browser/test_widgets_formulas.py")
    options = ("-q", "-p", "no:cacheprovider", "-n", "0", "-k", "DilatedTaps or reach or belongs or imported")
    said = run(copy, "pytest", *options, *tests, *browser)
    assert int(re.search(r"(\d+) passed", said)[1]) >= 10
