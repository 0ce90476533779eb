"""The command that asks Lighthouse of the book, with a Lighthouse that is played."""

import json
import sys
from pathlib import Path

import pytest

from tools import lighthouse

pytestmark = pytest.mark.workshop

PLAYED = """#!{python}
import json, sys, urllib.request
said = json.load(open({said!r}))
url = sys.argv[1]
urllib.request.build_opener(urllib.request.ProxyHandler({{}})).open(url).read()
(slower,) = (float(word.split("=")[1]) for word in sys.argv if "Slowdown" in word)
with open({log!r}, "a") as log:
    print(url.rsplit("/")[-1], slower, file=log)
score = said["fast"] if slower < 4 else said["slow"]
names = ("performance", "accessibility", "best-practices", "seo")
print(json.dumps({{
    "categories": {{name: {{"score": score / 100, "auditRefs": [{{"id": "words"}}]}} for name in names}},
    "audits": {{"words": {{"title": "First words", "displayValue": "9 s", "score": score / 100}}}},
    "environment": {{"benchmarkIndex": said["machine"]}},
}}))
"""


@pytest.fixture
def played(tmp_path, monkeypatch):
    """Return played(machine, slow, fast): a Lighthouse and what it will say; it returns its log's lines."""
    if sys.platform == "win32":
        pytest.skip("a script is no program on Windows")
    for name in lighthouse.PAGES:
        (tmp_path / name).write_text("<h1>A page</h1>")
    program, said, log = (tmp_path / name for name in ("lighthouse", "said.json", "log.txt"))
    program.write_text(PLAYED.format(python=sys.executable, said=str(said), log=str(log)))
    program.chmod(0o755)
    monkeypatch.setenv("LIGHTHOUSE", str(program))

    def play(**scores):
        said.write_text(json.dumps(scores))
        return lambda: log.read_text().splitlines()

    return play


def test_good_pages_pass_at_once(played, tmp_path, capsys):
    log = played(machine=1700, slow=97, fast=97)
    assert lighthouse.main([str(tmp_path)]) == 0
    assert log() == [f"{name} 4.0" for name in lighthouse.PAGES]
    assert "index.html: performance 97, accessibility 97" in capsys.readouterr().out


def test_a_slow_machine_is_slowed_down_less(played, tmp_path):
    log = played(machine=750, slow=80, fast=95)
    assert lighthouse.main([str(tmp_path)]) == 0
    assert log() == [f"{name} {slower}" for name in lighthouse.PAGES for slower in (4.0, 2.0)]


def test_bad_pages_fail_and_what_is_wrong_is_named(played, tmp_path, capsys):
    log = played(machine=1500, slow=94, fast=94)
    assert lighthouse.main([str(tmp_path)]) == 1
    assert len(log()) == len(lighthouse.PAGES) * lighthouse.TRIES
    assert "    First words: 9 s" in capsys.readouterr().out


def test_a_machine_that_was_no_telephone_does_not_count(played, tmp_path, capsys):
    played(machine=2400, slow=99, fast=99)
    assert lighthouse.main([str(tmp_path)]) == 0  # slower by more than Lighthouse's own four, the next time
    said = capsys.readouterr().out.splitlines()
    assert ["does not count" in line for line in said] == [True, False] * len(lighthouse.PAGES)


def test_what_cannot_be_asked_is_said_in_a_line(tmp_path, monkeypatch, capsys, played):
    played(machine="?", slow=1, fast=1)
    assert lighthouse.main([str(tmp_path)]) == 2
    assert "gave no scores for http://127.0.0.1" in capsys.readouterr().err
    Path(tmp_path, "02_im2col.html").unlink()
    assert lighthouse.main([str(tmp_path)]) == 2
    assert "holds no 02_im2col.html; build the book first" in capsys.readouterr().err
    monkeypatch.setenv("LIGHTHOUSE", str(tmp_path / "nowhere"))
    assert lighthouse.main([str(tmp_path)]) == 2
    assert "npm install --global lighthouse" in capsys.readouterr().err
