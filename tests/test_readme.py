"""The README is true: its numbers are the library's, its code runs, its links lead somewhere."""

import re
from pathlib import Path

import pytest

import convlab
from convlab.units import bytes_text

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_numbers():
    conv1 = convlab.networks.load("resnet18")["conv1"].problem
    matrix = convlab.ALGORITHMS["im2col"].workspace_bytes(conv1)
    assert f"a photograph of {bytes_text(conv1.x_bytes)}." in README
    assert f"a matrix of {bytes_text(matrix)}." in README


def test_code_runs(capsys):
    (code,) = re.findall(r"```python\n(.*?)```", README, re.S)
    code = code.replace("56, 56, 64)", "9, 8, 64)")  # seven Python loops over the whole layer take a minute
    names = {}
    exec(code, names)
    assert names["y"].shape == (1, 9, 8, 64)
    assert abs(names["y"] - names["z"]).max() < 1e-3
    assert "workspace_bytes=7225344" in capsys.readouterr().out


@pytest.mark.parametrize("page", ["README.md", "CONTRIBUTING.md"])
def test_links(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)#]+)\)", text):
        assert (ROOT / target).exists(), target
    for path in re.findall(r"`((?:convlab|tests|notebooks|data)/[\w/.]+)`", text):
        assert (ROOT / path).exists() or "NAME" in path, path


def test_every_notebook_is_listed():
    for notebook in (ROOT / "notebooks").glob("*.ipynb"):
        assert f"notebooks/{notebook.name}" in README
