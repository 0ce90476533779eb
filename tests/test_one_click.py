"""One click: what GitHub, Binder, Codespaces, Colab and a JupyterHub read here, held to their rules."""

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from types import ModuleType, SimpleNamespace

import jsonschema
import nbformat
import pytest
import yaml
from IPython.core.inputtransformer2 import TransformerManager
from packaging.specifiers import SpecifierSet

from convlab.lessons import progress
from tools import bare_root, colab, github, shipped_speeds

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
PYTHONS = [f"3.{minor}" for minor in range(30) if f"3.{minor}" in SpecifierSet(PROJECT["requires-python"])]
BINDER, CONTAINER = ROOT / ".binder", ROOT / ".devcontainer"
WORKFLOWS = {
    path.stem: yaml.safe_load(path.read_text()) for path in (ROOT / ".github/workflows").glob("*.yml")
}
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
GIT = {
    **{name: value for name, value in os.environ.items() if not name.startswith("GIT_")},
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_SYSTEM": os.devnull,
}

pytestmark = pytest.mark.workshop


def git(*arguments, cwd) -> str:
    """Run git with no settings of this machine; return what it prints."""
    if not shutil.which("git"):
        pytest.skip("git is not installed")
    who = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "init.defaultBranch=main"]
    done = subprocess.run(
        ["git", *who, *arguments], cwd=cwd, env=GIT, capture_output=True, text=True, check=True
    )
    return done.stdout


def steps(workflow: str) -> list[dict]:
    """Every step of a workflow."""
    return [step for job in WORKFLOWS[workflow]["jobs"].values() for step in job["steps"]]


# -- line ends ---------------------------------------------------------------------------------------------


def test_a_checkout_on_windows_has_the_same_bytes(tmp_path):
    """Git for Windows writes CR LF where nothing is said: every digest of a lock would be another."""
    files = ["requirements.txt", "lab.py", ".ci/run", "data/digits.csv", ".binder/postBuild"]
    files += [str(path.relative_to(ROOT)) for path in (NOTEBOOKS[0], next(ROOT.glob("convlab/widgets/*.js")))]
    files += [str(next(ROOT.glob("convlab/widgets/*.png")).relative_to(ROOT)), ".gitattributes"]
    git("init", "--quiet", ".", cwd=tmp_path)
    for name in files:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    git("add", "--all", cwd=tmp_path)
    git("commit", "--quiet", "-m", "all", cwd=tmp_path)
    for name in files:
        (tmp_path / name).unlink()
    git("-c", "core.autocrlf=true", "-c", "core.eol=crlf", "checkout", "--quiet", "--", ".", cwd=tmp_path)
    assert [name for name in files if (tmp_path / name).read_bytes() != (ROOT / name).read_bytes()] == []


def test_no_text_of_the_checkout_has_windows_line_ends():
    try:
        names = git("ls-files", "-z", cwd=ROOT).split("\0")[:-1]
    except subprocess.CalledProcessError as error:
        pytest.skip(f"not a checkout of git: {error.stderr}")
    texts = [ROOT / name for name in names if not name.endswith(".png") and (ROOT / name).exists()]
    assert len(texts) > 500
    assert [path.name for path in texts if b"\r\n" in path.read_bytes()] == []


# -- GitHub's workflows ------------------------------------------------------------------------------------


def test_the_tests_run_on_the_ends_of_the_range_of_pythons():
    job = WORKFLOWS["tests"]["jobs"]["learner"]
    assert job["strategy"]["matrix"]["python"] == [PYTHONS[0], PYTHONS[-1]]
    assert job["strategy"]["fail-fast"] is False
    systems = job["strategy"]["matrix"]["system"]
    for wanted in (r"ubuntu-[\d.]+", r"ubuntu-[\d.]+-arm", r"macos-\d+", r"windows-\d+"):
        assert any(re.fullmatch(wanted, system) for system in systems), wanted


def test_older_processors_are_played():
    """Those that the shipped speeds tell apart, without what this processor has beside them."""
    job = WORKFLOWS["tests"]["jobs"]["older"]
    narrower = [told for told in shipped_speeds.TARGETS.values() if told]
    assert [told["NUMBA_CPU_NAME"] for told in narrower] == job["strategy"]["matrix"]["processor"]
    env = {name: value.replace("${{ matrix.processor }}", "haswell") for name, value in job["env"].items()}
    assert env in narrower
    (tried,) = (step["run"].split()[3:] for step in job["steps"] if "run" in step)
    assert all((ROOT / name).is_file() for name in tried)


def test_workflows_run_the_projects_own_commands():
    run = {name: [step["run"].strip() for step in steps(name) if "run" in step] for name in WORKFLOWS}
    assert {".ci/run", "python lab.py test"} < set(run["tests"])
    # What notebooks show with the extras is in the book, too: else they say what is missing.
    assert run["pages"][:2] == [
        "python3 lab.py setup --gpu --cluster",
        'python3 lab.py site --address "$ADDRESS/" --repository "$GITHUB_REPOSITORY" '
        '--language en de --pdf "$RUNNER_TEMP/convlab.pdf"',
    ]
    for name in ("tests", "pages"):  # the versions that are set up are versions that lab.py takes
        given = [
            str(s["with"]["python-version"]) for s in steps(name) if "python-version" in s.get("with", {})
        ]
        assert all(version in PYTHONS or version == "${{ matrix.python }}" for version in given)


def test_each_job_may_do_what_it_needs_and_no_more():
    pages, tests, release = WORKFLOWS["pages"], WORKFLOWS["tests"], WORKFLOWS["release"]
    assert pages["permissions"] == release["permissions"] == {}
    assert tests["permissions"] == {"contents": "read"}
    assert {name: job["permissions"] for name, job in release["jobs"].items()} == {
        "build": {"contents": "read"},
        "upload": {"id-token": "write"},  # by which the index knows this workflow
    }
    assert {name: job["permissions"] for name, job in pages["jobs"].items()} == {
        "build": {"contents": "read", "pages": "read"},
        "publish": {"pages": "write", "id-token": "write"},
        "colab": {"contents": "write"},
    }
    assert not any("permissions" in job for job in tests["jobs"].values())
    for workflow in WORKFLOWS:
        for job in WORKFLOWS[workflow]["jobs"].values():
            assert job["timeout-minutes"] <= 90
            may_push = job.get("permissions", {}).get("contents") == "write"
            for step in job["steps"]:
                if step.get("uses", "").startswith("actions/checkout@"):
                    assert may_push or step["with"]["persist-credentials"] is False


@pytest.mark.parametrize("workflow", WORKFLOWS)
def test_a_workflow_takes_githubs_own_actions_and_no_text_from_outside(workflow):
    for step in steps(workflow):
        assert "uses" in step or "run" in step
        if "uses" in step:
            uploads = step["uses"] == "pypa/gh-action-pypi-publish@release/v1" and workflow == "release"
            assert uploads or re.fullmatch(r"actions/[a-z-]+@v\d+", step["uses"])
        assert "${{" not in step.get("run", ""), "a value of GitHub's goes through env:, never into a script"


def test_the_book_is_published_one_at_a_time_from_main():
    pages = WORKFLOWS["pages"]
    when = pages[True]  # YAML reads `on` as a truth
    assert when["push"] == {"branches": ["main"]}
    assert "workflow_dispatch" in when
    assert pages["concurrency"] == {"group": "pages", "cancel-in-progress": False}
    jobs = pages["jobs"]
    assert jobs["publish"]["needs"] == "build"
    assert jobs["publish"]["environment"]["name"] == "github-pages"
    upload = next(s for s in jobs["build"]["steps"] if "upload-pages-artifact" in s.get("uses", ""))
    assert upload["with"]["path"] == "site"


def test_a_release_is_tested_and_built_before_it_is_uploaded():
    release = WORKFLOWS["release"]
    assert release[True] == {"push": {"tags": ["v*"]}}
    build, upload = release["jobs"]["build"], release["jobs"]["upload"]
    assert upload["needs"] == "build"
    assert not any("run" in step for step in upload["steps"]), "what may upload runs nothing of ours"
    run = [step["run"] for step in build["steps"] if "run" in step]
    built = next(number for number, line in enumerate(run) if "hatchling build" in line)
    assert run.index(".ci/run") < built
    folder = run[built].split()[-1]
    handed = [step for step in build["steps"] + upload["steps"] if "artifact" in step.get("uses", "")]
    assert [step["with"]["path"] for step in handed] == [folder, folder]
    assert len({step["with"]["name"] for step in handed}) == 1
    assert release["jobs"]["build"]["container"] == WORKFLOWS["tests"]["jobs"]["everything"]["container"]


@pytest.mark.parametrize(("tag", "fits"), [("v{}", True), ("v{}.1", False), ("{}x", False), ("v", False)])
def test_a_tag_that_is_not_the_version_is_no_release(tag, fits):
    """The script of the workflow itself."""
    (script,) = (s["run"] for s in steps("release") if s.get("name") == "The tag is the version")
    given = os.environ | {"GITHUB_REF_NAME": tag.format(PROJECT["version"])}
    done = subprocess.run(["bash", "-e", "-c", script], cwd=ROOT, env=given, capture_output=True)
    assert (done.returncode == 0) == fits


def test_the_readme_says_whether_the_package_is_on_the_index():
    """Until it is, by a line in each of three files; they go together."""
    said = {
        name: (ROOT / name).read_text(encoding="utf-8")
        for name in ("README.md", "ROADMAP.md", "CHANGELOG.md")
    }
    assert len({bool(re.search(r"package of (that|this) name", text)) for text in said.values()}) == 1


def test_the_step_that_pushes_the_branch_for_colab(tmp_path):
    """The script of the workflow itself, on a clone with a repository to push to."""
    work, origin, scratch = (tmp_path / name for name in ("work", "origin.git", "scratch"))
    git("init", "--quiet", "--bare", str(origin), cwd=tmp_path)
    (work / "tools").mkdir(parents=True)
    (work / "notebooks").mkdir()
    (work / "tools" / "__init__.py").touch()
    (work / ".gitignore").write_text("__pycache__/\n")
    for module in (colab, github):  # what the command consists of
        shutil.copy(module.__file__, work / "tools")
    shutil.copy(NOTEBOOKS[0], work / "notebooks")
    for arguments in (["init", "--quiet", "."], ["add", "--all"], ["commit", "--quiet", "-m", "all"]):
        git(*arguments, cwd=work)
    git("remote", "add", "origin", str(origin), cwd=work)
    script = next(s["run"] for s in WORKFLOWS["pages"]["jobs"]["colab"]["steps"] if "run" in s)
    python = tmp_path / "bin" / "python3"
    python.parent.mkdir()
    python.symlink_to(sys.executable)
    given = {"GITHUB_REPOSITORY": "a/b", "GITHUB_SHA": "0a1b2c", "RUNNER_TEMP": str(scratch)}
    environment = GIT | given | {"PATH": f"{python.parent}{os.pathsep}{GIT['PATH']}"}
    for _ in range(2):  # a second push takes the place of the first
        shutil.rmtree(scratch, ignore_errors=True)
        subprocess.run(
            ["bash", "-e", "-c", script], cwd=work, env=environment, capture_output=True, check=True
        )
        git("switch", "--quiet", "main", cwd=work)
        git("branch", "--quiet", "-D", "colab", cwd=work)
    assert git("rev-list", "--count", "colab", cwd=origin).strip() == "1"
    names = git("ls-tree", "-r", "--name-only", "colab", cwd=origin).split()
    assert names == ["README.md", f"notebooks/{NOTEBOOKS[0].name}"]
    assert "github.com/a/b/archive/0a1b2c.zip" in git("show", f"colab:{names[1]}", cwd=origin)


# -- Colab -------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def for_colab(tmp_path_factory):
    """The folder that `python -m tools.colab` writes."""
    out = tmp_path_factory.mktemp("colab") / "out"
    colab.main(["--out", str(out), "--repository", "a/b", "--revision", "v1"])
    return out


def test_colab_gets_every_notebook_with_one_cell_more(for_colab):
    assert [path.name for path in sorted(for_colab.glob("notebooks/*"))] == [path.name for path in NOTEBOOKS]
    for path in NOTEBOOKS:
        made = (for_colab / "notebooks" / path.name).read_text(encoding="utf-8")
        nbformat.validate(nbformat.reads(made, as_version=4))
        first, *rest = json.loads(made)["cells"]
        assert rest == json.loads(path.read_text(encoding="utf-8"))["cells"]
        assert (first["cell_type"], first["id"], first["outputs"]) == ("code", colab.ID, [])
        assert "google.colab" not in path.read_text(encoding="utf-8")


@pytest.mark.parametrize("where", ["Colab", "Colab, again", "elsewhere"])
def test_the_first_cell_installs_once_and_lets_figures_move(for_colab, monkeypatch, where):
    cell = json.loads((for_colab / "notebooks" / NOTEBOOKS[0].name).read_text(encoding="utf-8"))["cells"][0]
    code = TransformerManager().transform_cell("".join(cell["source"]))
    done = []
    google = ModuleType("google.colab")
    google.output = SimpleNamespace(enable_custom_widget_manager=lambda: done.append("figures move"))
    if where != "elsewhere":
        monkeypatch.setitem(sys.modules, "google", ModuleType("google"))
        monkeypatch.setitem(sys.modules, "google.colab", google)
    if where == "Colab":
        monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    shell = SimpleNamespace(run_line_magic=lambda *words: done.append(words))
    exec(compile(code, "cell", "exec"), {"get_ipython": lambda: shell})
    install = ("pip", 'install --quiet "convlab @ https://github.com/a/b/archive/v1.zip"')
    assert (
        done == {"Colab": [install, "figures move"], "Colab, again": ["figures move"], "elsewhere": []}[where]
    )


def test_without_a_repository_colab_asks_for_the_published_course():
    assert colab.requirement(None, "main") == "convlab"


@pytest.mark.parametrize(
    "wrong", [["--out", "{full}"], ["--out", "{file}"], ["--out", "x", "--repository", "a b/c"]]
)
def test_wrong_arguments_are_answered_in_words(tmp_path, capsys, wrong):
    (tmp_path / "file").touch()
    with pytest.raises(SystemExit) as stopped:
        colab.main([word.format(full=tmp_path, file=tmp_path / "file") for word in wrong])
    assert stopped.value.code == 2
    assert "expected" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


# -- Binder: the rules are repo2docker's -------------------------------------------------------------------


def test_binder_finds_only_what_it_should():
    """Its kinds of settings are tried in an order, and some would win over requirements.txt."""
    assert not (ROOT / "binder").exists(), "repo2docker refuses a checkout with both"
    names = {path.name for path in BINDER.iterdir()}
    assert {"requirements.txt", "runtime.txt", "postBuild"} <= names
    win = {"Dockerfile", "Project.toml", "REQUIRE", "default.nix", "install.R", "DESCRIPTION", "Pipfile"}
    assert not names & (
        win | {"environment.yml", "environment.yaml", "Pipfile.lock", "apt.txt", "start", "setup.py"}
    )


def test_binder_takes_a_python_that_the_course_takes():
    found = re.fullmatch(r"python-(\d+\.\d+)", (BINDER / "runtime.txt").read_text().strip())
    assert found, "repo2docker wants NAME-VERSION, the version as x.y"
    assert found[1] in PYTHONS


def test_binder_installs_the_lock_itself():
    lines = [
        line.partition("#")[0].strip() for line in (BINDER / "requirements.txt").read_text().splitlines()
    ]
    (line,) = filter(None, lines)
    # For a line that names a file repo2docker lays the whole checkout there first.
    assert line.startswith("-r ")
    assert (BINDER / line.removeprefix("-r ")).resolve() == ROOT / "requirements.txt"


def test_what_binder_runs_last(tmp_path):
    """The script itself, with a pip that only writes down how it is called."""
    script = BINDER / "postBuild"
    assert script.read_text().startswith("#!/usr/bin/env bash\n")
    assert script.stat().st_mode & 0o111
    shutil.copytree(BINDER, tmp_path / ".binder")
    shutil.copytree(ROOT / "convlab/workspace/jupyter", tmp_path / "convlab/workspace/jupyter")
    python, log = tmp_path / "bin" / "python", tmp_path / "log"
    python.parent.mkdir()
    python.write_text(f'#!/bin/sh\n[ "$1" = -c ] && echo "{tmp_path}" || echo "$*" >> "{log}"\n')
    python.chmod(0o755)
    environment = {"PATH": f"{python.parent}:{os.environ['PATH']}"}
    subprocess.run(["./.binder/postBuild"], cwd=tmp_path, env=environment, check=True)
    assert log.read_text() == "-m pip install --no-deps --no-cache-dir --editable .\n"
    settings = json.loads((tmp_path / "etc" / "jupyter" / "jupyter_lab_config.json").read_text())
    assert (tmp_path / "etc" / "jupyter" / "labconfig" / "page_config.json").exists()  # no pop-up about news
    first = settings["LabApp"]["default_url"].removeprefix("/lab/tree/")
    assert ROOT / first == NOTEBOOKS[0]
    assert (tmp_path / "etc" / "jupyter" / "jupyter_server_config.py").exists()


@pytest.mark.parametrize("named", [None, "elsewhere"])
def test_binder_remembers_in_the_home(named, tmp_path, monkeypatch):
    """Notebooks lie in the checkout there, and a kernel has its server's environment."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv(progress.NAMED, raising=False)
    if named:
        monkeypatch.setenv(progress.NAMED, str(tmp_path / named))
    path = BINDER / "jupyter_server_config.py"
    exec(compile(path.read_text(), path, "exec"))
    assert progress.here.__wrapped__().path == tmp_path / (named or "") / progress.NAME


# -- the image, for Codespaces and for a class -------------------------------------------------------------

# What of the reference of dev containers is used here: its names, and what each may hold.
TEXT = {"type": "string", "minLength": 1}
DEV_CONTAINER = {
    "type": "object",
    "additionalProperties": False,
    "required": ["name", "build", "remoteUser", "postAttachCommand", "forwardPorts"],
    "properties": {
        "name": TEXT,
        "build": {
            "type": "object",
            "additionalProperties": False,
            "required": ["dockerfile"],
            "properties": {"dockerfile": TEXT, "context": TEXT, "target": TEXT, "args": {"type": "object"}},
        },
        "remoteUser": TEXT,
        "hostRequirements": {
            "type": "object",
            "additionalProperties": False,
            "properties": {
                "cpus": {"type": "integer", "minimum": 1},
                "memory": {"type": "string", "pattern": r"^\d+([tgmk]b)?$"},
                "storage": {"type": "string", "pattern": r"^\d+([tgmk]b)?$"},
            },
        },
        "remoteEnv": {"type": "object", "additionalProperties": {"type": ["string", "null"]}},
        "forwardPorts": {"type": "array", "items": {"type": "integer", "minimum": 0, "maximum": 65535}},
        "portsAttributes": {
            "type": "object",
            "patternProperties": {
                r"^\d+$": {
                    "type": "object",
                    "additionalProperties": False,
                    "properties": {
                        "label": TEXT,
                        "onAutoForward": {
                            "enum": [
                                "notify",
                                "openBrowser",
                                "openBrowserOnce",
                                "openPreview",
                                "silent",
                                "ignore",
                            ]
                        },
                    },
                }
            },
            "additionalProperties": False,
        },
        "postAttachCommand": TEXT,
        "customizations": {"type": "object"},
    },
}


def dockerfile() -> list[tuple[str, str]]:
    """(word, the rest) for every instruction."""
    text = re.sub(r"(?m)^\s*#.*\n", "", (CONTAINER / "Dockerfile").read_text())
    lines = re.sub(r"\\\n\s*", "", text).splitlines()
    return [(word, rest.strip()) for word, _, rest in (line.partition(" ") for line in lines if line.strip())]


def test_codespaces_open_the_course_in_the_image():
    settings = json.loads((CONTAINER / "devcontainer.json").read_text())
    jsonschema.validate(settings, DEV_CONTAINER)
    build = settings["build"]
    assert (CONTAINER / build["context"]).resolve() == ROOT
    stages = [rest.split(" AS ")[1] for word, rest in dockerfile() if word == "FROM"]
    assert build["target"] == stages[0]
    assert settings["remoteUser"] in {rest for word, rest in dockerfile() if word == "USER"}
    (port,) = settings["forwardPorts"]
    assert settings["postAttachCommand"].endswith(f"--port {port}")
    assert f"-{port}." in (CONTAINER / "jupyter_server_config.py").read_text()
    assert str(port) in settings["portsAttributes"]
    assert dict(dockerfile())["EXPOSE"] == str(port)


def test_the_image_holds_the_lock_and_ends_as_an_ordinary_user():
    instructions = dockerfile()
    run = [rest for word, rest in instructions if word == "RUN"]
    copied = [rest.split()[:-1] for word, rest in instructions if word == "COPY"]
    assert all((ROOT / name).exists() for names in copied for name in names)
    assert ["requirements.txt"] in copied
    assert any("--no-deps --require-hashes --requirement /tmp/requirements.txt" in line for line in run)
    assert run[-1].endswith("pip check"), "what a hub needs must leave the lock as it is"
    # No other installs anything that has no version.
    loose = [line for line in run if "pip install" in line and not re.search(r"--no-deps|==\$\w+", line)]
    assert loose == []
    for stage in "\n".join(f"{word} {rest}" for word, rest in instructions).split("FROM ")[1:]:
        assert re.findall(r"^USER (\w+)$", stage, re.MULTILINE)[-1] == "jovyan"
    assert [rest for word, rest in instructions if word == "CMD"] == ['["jupyterhub-singleuser"]']


def test_a_class_is_remembered_in_its_homes():
    """What nbgitpuller brings lies in no learner's folder; the home is what a hub keeps of each student."""
    instructions = dockerfile()
    (home,) = {rest for word, rest in instructions if word == "WORKDIR"}
    last = max(number for number, (word, _) in enumerate(instructions) if word == "FROM")
    of_class = dict(rest.split("=", 1) for word, rest in instructions[last:] if word == "ENV")
    assert of_class == {progress.NAMED: home}
    assert f"`{progress.NAME}` in their home" in (ROOT / "TEACHING.md").read_text()


def test_the_tool_that_plays_a_bare_machine_takes_each_step_as_docker_would():
    steps = list(bare_root.dockerfile_steps(bare_root.DOCKERFILE.read_text()))
    instructions = dockerfile()
    assert [(step.word, step.line) for step in steps] == [
        (word, rest) for word, rest in instructions if word in ("RUN", "COPY")
    ]
    assert {step.user for step in steps} == {"root"}
    by_word = {step.line.partition(" ")[0]: step for step in steps if step.word == "RUN"}
    assert by_word["apt-get"].environment == bare_root.PLAIN | {"LANG": "C.UTF-8"}
    last = steps[-1].environment
    assert last["PATH"] == f"/opt/convlab/bin:{bare_root.PLAIN['PATH']}"
    assert re.fullmatch(r"[\d.]+", last["JUPYTERHUB"])
    assert [steps[-1].folder] == [rest for word, rest in instructions if word == "WORKDIR"]
    debian = next(rest for word, rest in instructions if word == "FROM")
    assert debian.startswith(f"debian:{bare_root.SUITE}")


def test_nothing_that_git_ignores_is_sent_to_docker():
    def plain(line):
        return line.removeprefix("**/").strip("/")

    ignored = {plain(line) for line in (ROOT / ".gitignore").read_text().split()}
    lines = (CONTAINER / "Dockerfile.dockerignore").read_text().splitlines()
    assert {plain(line) for line in lines if not line.startswith("#")} == ignored | {".git"}


@pytest.mark.parametrize("inside", [True, False])
def test_only_the_codespaces_own_address_may_talk_to_its_kernels(monkeypatch, inside):
    monkeypatch.delenv("CODESPACE_NAME", raising=False)
    if inside:
        monkeypatch.setenv("CODESPACE_NAME", "fuzzy-disco-1")
        monkeypatch.setenv("GITHUB_CODESPACES_PORT_FORWARDING_DOMAIN", "app.github.dev")
    settings = SimpleNamespace(ServerApp=SimpleNamespace())
    path = CONTAINER / "jupyter_server_config.py"
    exec(compile(path.read_text(), path, "exec"), {"get_config": lambda: settings})
    if not inside:
        assert vars(settings.ServerApp) == {}
        return
    allowed = settings.ServerApp.allow_origin_pat  # jupyter-server asks re.match
    assert settings.ServerApp.custom_display_url == "https://fuzzy-disco-1-8888.app.github.dev"
    assert re.match(allowed, "https://fuzzy-disco-1-8888.app.github.dev")
    for other in (
        "https://other-8888.app.github.dev",
        "https://fuzzy-disco-1-8888.app.github.dev.evil.example",
    ):
        assert not re.match(allowed, other)
    assert not re.match(allowed, "https://fuzzy-disco-1-8888xapp.github.dev")


# -- the page for teachers ---------------------------------------------------------------------------------


def test_the_page_for_teachers_names_what_is_there():
    text = (ROOT / "TEACHING.md").read_text()
    names = set(re.findall(r"\b\d\d_\w+\.ipynb", text))
    assert names
    assert names <= {path.name for path in NOTEBOOKS}
    arguments = {rest.partition("=")[0] for word, rest in dockerfile() if word == "ARG"}
    assert set(re.findall(r"--build-arg (\w+)=", text)) <= arguments
    assert "--file .devcontainer/Dockerfile" in text
    (built,) = re.findall(r"docker build .*--tag (\S+)", text)
    assert set(re.findall(r"(\S+) convlab lab", text)) == {built}, "what is run is what was built"
    assert re.findall(r"/blob/(\w+)/notebooks", text) == ["colab"]
    assert "git push --force origin colab" in str(WORKFLOWS["pages"])
