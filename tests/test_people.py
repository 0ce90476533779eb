"""What those who carry the course on find: pages whose links lead somewhere, forms that GitHub takes."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml
from issue_forms import faults
from page_links import LINK, ROOT, anchors, broken

from tools.readme.rings import RINGS, anchor

GITHUB = ROOT / ".github"
FORMS = sorted(path for path in (GITHUB / "ISSUE_TEMPLATE").glob("*.yml") if path.stem != "config")
PLACES = ROOT, GITHUB, ROOT / "data" / "measurements", ROOT / "data" / "speeds"
PAGES = sorted(path for place in PLACES for path in place.glob("*.md"))

# -- links ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_lead_somewhere(page):
    assert broken(page, page.read_text(encoding="utf-8")) == []


def test_the_pages_have_links():
    names = {page.name for page in PAGES}
    assert {"README.md", "CONTRIBUTING.md", "ROADMAP.md", "TESTING.md", "SECURITY.md"} <= names
    assert sum(len(LINK.findall(page.read_text(encoding="utf-8"))) for page in PAGES) > 50


@pytest.mark.parametrize(
    ("link", "lost"),
    [
        *(("README.md", False), ("#start", False), ("README.md#start", False), ("https://a.b/c#d", False)),
        *(("README", True), ("#begin", True), ("README.md#begin", True), ("../README.md", True)),
        *(("notebooks/02_im2col.ipynb", False), ("notebooks/2.ipynb", True), ("#start-2", True)),
    ],
)
@pytest.mark.parametrize("text", ["# Start\n\n[a]({})", "# `Start`\n\n[![words: a, b.]({})](README.md)"])
def test_a_planted_link_is_judged(link, lost, text):
    assert broken(ROOT / "ROADMAP.md", text.format(link)) == ([link] if lost else [])


def test_headings_get_the_anchors_of_github():
    text = "# A `b.c`, and *d*!\n```\n# no heading\n```\n## Twice\n## Twice\n### [A link](x.md) – dash"
    assert anchors(text) == {"a-bc-and-d", "twice", "twice-1", "a-link--dash"}
    assert not broken(ROOT / "ROADMAP.md", "`[a](nowhere.md)`\n```\n[a](nowhere.md)\n```\n")


# -- issue forms ---------------------------------------------------------------------------------------------


def read(name: str) -> dict:
    """Return a form as YAML has it."""
    return yaml.safe_load((GITHUB / "ISSUE_TEMPLATE" / f"{name}.yml").read_text(encoding="utf-8"))


@pytest.mark.parametrize("path", FORMS, ids=lambda path: path.stem)
def test_forms_hold_to_the_rules(path):
    assert faults(read(path.stem)) == []


def test_a_bug_comes_with_what_the_doctor_says():
    asked = {one["id"]: one for one in read("bug")["body"]}
    assert "convlab doctor --json" in asked["doctor"]["attributes"]["label"]
    assert asked["doctor"]["validations"]["required"]
    assert {path.stem for path in FORMS} == {"bug", "explanation", "idea"}
    config = read("config")
    assert set(config) <= {"blank_issues_enabled", "contact_links"}
    assert isinstance(config["blank_issues_enabled"], bool)


def boxes(*labels: str) -> dict:
    return {
        "type": "checkboxes",
        "attributes": {"label": "Which?", "options": [{"label": one} for one in labels]},
    }


def planted(change) -> list[str]:
    form = read("bug")
    change(form, form["body"])
    return faults(form)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda form, body: form.pop("name"), "the form has no name"),
        (lambda form, body: form.update(description=""), "description is empty"),
        (lambda form, body: form.update(title="  "), "title is empty"),
        (lambda form, body: form.update(body={}), "body is {}"),
        (lambda form, body: body[1]["attributes"].update(label="Your password"), "forbids the word"),
        (lambda form, body: body.append(boxes(body[0]["attributes"]["label"])), "comes twice"),
        (lambda form, body: form.update(about="a"), "about is unknown"),
        (lambda form, body: body[0].update(type="text"), "no type that GitHub knows"),
        (lambda form, body: body[0].update(id="a b"), "id 'a b'"),
        (lambda form, body: body[0].update(id=body[1]["id"]), "comes twice"),
        (lambda form, body: body[0]["attributes"].update(body[1]["attributes"]), "comes twice"),
        (lambda form, body: body[0]["attributes"].pop("label"), "has no label"),
        (lambda form, body: body[0]["attributes"].update(label=True), "label is True"),
        (lambda form, body: body[0]["attributes"].update(options=["a"]), "options is unknown"),
        (lambda form, body: body[0].update(validations={"required": "yes"}), "required is 'yes'"),
        (lambda form, body: body[0].update(validations={"minimum": 1}), "minimum is unknown"),
        (lambda form, body: body[3]["attributes"].update(options=[]), "options is empty"),
        (lambda form, body: body[3]["attributes"].update(options=["a", "a"]), "each once"),
        (lambda form, body: body[3]["attributes"].update(options=["a", False]), "each once"),
        (lambda form, body: body[3]["attributes"].update(options=["a", "None"]), "adds 'None'"),
        (lambda form, body: body.__setitem__(slice(0), []) or body.clear(), "nothing is asked"),
    ],
)
def test_a_planted_fault_in_a_form_is_found(change, says):
    assert any(says in fault for fault in planted(change)), planted(change)


# -- what the pages say ------------------------------------------------------------------------------------


def test_the_checklist_is_five_lines_of_contributing():
    lines = (GITHUB / "PULL_REQUEST_TEMPLATE.md").read_text(encoding="utf-8").splitlines()
    asked = [line for line in lines if line.startswith("- [ ] ")]
    assert len(asked) == 5
    contributing = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    for line in asked:
        for command in re.findall(r"`((?:python3 lab\.py|python -m tools)[^`]*)`", line):
            assert command in contributing, command


def test_what_security_says_is_what_the_server_is_told():
    from convlab.workspace.server import LOOPBACK, arguments

    text = (GITHUB / "SECURITY.md").read_text(encoding="utf-8")
    told = " ".join(arguments(Path("/folder"), "00_start_here.ipynb"))
    assert "listens on this machine alone (127.0.0.1)" in text
    assert "127.0.0.1" in LOOPBACK
    for switch in ("--ServerApp.ip", "token", "disable_check_xsrf", "allow_origin", "password"):
        assert switch not in told, f"SECURITY.md says that JupyterLab's own {switch} holds"


def test_every_ring_is_explained_and_its_files_are_there():
    text = (ROOT / "TESTING.md").read_text(encoding="utf-8")
    assert {anchor(ring.name) for ring in RINGS} <= anchors(text)
    assert [name for ring in RINGS for name in ring.read if not (ROOT / name).is_file()] == []
