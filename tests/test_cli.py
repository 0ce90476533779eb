"""The `convlab` command: every command does its work, every wrong input gets one line and exit code 2."""

import json
import os
import re
import shlex
import signal
import socket
import subprocess
import sys
import tomllib
from email.message import Message
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib import metadata
from pathlib import Path
from threading import Thread
from urllib.error import HTTPError, URLError
from urllib.request import urlopen

import nbformat
import pytest
from effort import in_turns
from known_machine import SPEEDS
from lab_server import printed_address
from typer.testing import CliRunner

from convlab import doctor, networks
from convlab.algorithms import ALGORITHMS
from convlab.auto import disturbance, machine_file, measure, speeds
from convlab.cli import app
from convlab.errors import ConvError, WorkspaceError
from convlab.lessons import progress as memory
from convlab.machine.facts import Machine
from convlab.support import install
from convlab.workspace import copies, notebooks, server

ROOT = Path(__file__).resolve().parents[1]


def convlab(*arguments: str):
    """Run one command line in this process."""
    return CliRunner().invoke(app, [str(a) for a in arguments], prog_name="convlab")


@pytest.fixture
def course(tmp_path, monkeypatch):
    """Make a course of three notebooks, one of which fails, and one of which fails in a widget only."""
    folder = tmp_path / "notebooks"
    folder.mkdir()
    good = ["print('sum is', 20 + 22)", "open('left-behind.txt', 'w').close()"]
    widget = ["import ipywidgets as w\nout = w.Output()\nout", "with out:\n    1 / 0"]
    for name, cells in {
        "00_good": good,
        "01_fails": ["x = 1", "raise KeyError('my key')", "y = 2"],
        "02_widget": widget,
    }.items():
        notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source) for source in cells])
        nbformat.write(notebook, folder / f"{name}.ipynb")
    monkeypatch.setattr(notebooks, "ROOT", tmp_path)
    return tmp_path


# -- wrong input -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("typed", "says"),
    [
        ("nonsense", "nonsense"),
        ("99", "notebook='99'; expected a number like 02 or one of: 00_good"),
        ("--nonsense", "--nonsense"),
        ("lab --nonsense", "--nonsense"),
        ("lab words", "argument='words'; expected options for JupyterLab"),
        ("lab --port 0", "--port='0'; expected a whole number from 1 to 65535"),
        ("lab --port many", "--port='many'; expected a whole number"),
        ("lab --port " + 5000 * "9", "...9999999999999'; expected a whole number"),
        ("lab --ip nonsense", "--ip='nonsense'; expected an address of this machine"),
        ("lab --ip 192.0.2.1", "--ip='192.0.2.1'; expected an address"),
        ("start 00 --ip " + 5000 * "a", "expected an address"),
        ("lab --work {file}", "expected a folder"),
        ("lab --work {course}/notebooks", "expected another folder"),
        ("start 00 --no-open --work {course}", "expected another folder"),
        ("start 00 --no-open --work " + 5000 * "w", "expected a folder"),
        ("start " + 5000 * "0", "expected a number like 02"),
        ("start 00 --port 99999", "--port='99999'; expected a whole number"),
        ("start", "Missing argument"),
        ("start 99", "notebook='99'; expected a number like 02 or one of: 00_good, 01_fails, 02_widget"),
        ("start nonsense", "notebook='nonsense'; expected"),
        ("run --mine", f"expected your copies there: {install.course_command('')} makes them"),
        ("run 00 --work {file}", "expected a folder"),
        ("start 00 --fresh=yes", "--fresh"),
        ("start 00 --no-open --work {file}/inside", "expected a folder"),
        ("start 00 --no-open --work {course}/circle", "expected a folder"),
        ("start 00 01", "01"),
        ("run 00 99", "notebook='99'; expected"),
        ("run 00 --out {file}", "--out="),
        ("run 00 --timeout " + 5000 * "1", "expected a whole number from 1"),
        ("run 00 --timeout 0", "--timeout='0'; expected a whole number from 1"),
        ("run 00 --timeout soon", "--timeout='soon'; expected a whole number"),
        ("run --out", "--out"),
        ("doctor --yaml", "--yaml"),
        ("doctor now", "now"),
        ("networks lenet", "network='lenet'; expected one of mobilenet_v1"),
        ("algorithms direct", "direct"),
    ],
)
def test_wrong_command_line_names_the_argument_and_exits_with_2(course, typed, says):
    file = course / "a-file"
    file.write_text("kept")
    (course / "circle").symlink_to("circle")
    done = convlab(*shlex.split(typed.format(file=file, course=course)))
    assert done.exit_code == 2, done.output
    assert says in done.stderr
    assert "Traceback" not in done.output
    assert file.read_text() == "kept"
    assert not (course / "work").exists() or not list((course / "work").glob("*.ipynb"))


def test_a_number_that_two_copies_have_is_answered_with_their_names(course):
    mine = course / "work"
    mine.mkdir()
    for name in "01_fails", "02_widget", "02_widget_fresh":
        (mine / f"{name}.ipynb").write_text("{}")
    done = convlab("run", "02", "--mine")
    assert done.exit_code == 2
    says = "notebook='02' means more than one; expected one of: 02_widget, 02_widget_fresh"
    assert done.stderr == f"convlab: {says}\n"


@pytest.fixture
def opened(course, monkeypatch):
    """What is opened in JupyterLab, in place of it."""
    calls = []
    monkeypatch.setattr(server, "running", lambda folder: None)
    monkeypatch.setattr(server, "serve", lambda folder, first, **options: calls.append((first, options)))
    return calls


@pytest.mark.parametrize(
    ("typed", "first", "browser"),
    [("", "00", True), ("--no-browser", "00", False), ("1", "01", True), ("02 --no-browser", "02", False)],
)
def test_without_a_command_the_course_opens(opened, typed, first, browser):
    done = convlab(*typed.split())
    assert done.exit_code == 0, done.output
    ((notebook, options),) = opened
    assert notebook.startswith(first)
    assert options["browser"] is browser


@pytest.mark.parametrize("typed", ["--help", "-h"])
def test_the_help_lists_the_commands_and_opens_nothing(opened, typed):
    done = convlab(typed)
    assert done.exit_code == 0
    assert "Commands:" in done.stdout
    assert "lab" in done.stdout
    assert opened == []


def test_the_version_names_the_course(opened, course):
    assert convlab("--version").stdout == f"convlab {metadata_version()}, the course in {course}\n"
    assert opened == []


def metadata_version() -> str:
    """The version that pyproject.toml gives the wheel."""
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]


def test_a_console_that_cannot_print_a_letter_does_not_stop_us():
    command = [sys.executable, "-m", "convlab.cli", "networks", "resnet18"]
    told = subprocess.run(
        command, capture_output=True, cwd=ROOT, env=os.environ | {"PYTHONIOENCODING": "ascii"}
    )
    assert (told.returncode, told.stderr) == (0, b"")
    assert b"224?224?3" in told.stdout


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no disk that is always full")
@pytest.mark.parametrize("typed", ["algorithms", "--help"])
def test_what_cannot_be_written_to_a_full_disk_is_said(typed):
    with open("/dev/full", "w") as full:
        command = [sys.executable, "-m", "convlab.cli", typed]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, cwd=ROOT)
    assert done.returncode == 1
    assert re.fullmatch(r"convlab: what is said .* No space left on device\n", done.stderr)


def test_a_reader_that_has_enough_is_told_nothing():
    command = [sys.executable, "-m", "convlab.cli", "algorithms"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=ROOT) as process:
        process.stdout.close()
        assert process.stderr.read() == b""


@pytest.mark.skipif(sys.platform != "linux", reason="there a path is bytes, and this is how C reads them")
def test_a_path_is_printed_as_it_is_where_no_letter_is_known(course):
    """A plain C locale: an umlaut of a path comes in as two bytes, and a sign of ours has no letter."""
    plain_c = os.environ | {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    folder = course / "für mich"
    command = [sys.executable, "-m", "convlab.cli", "start", "02", "--no-open", "--work", folder]
    done = subprocess.run(command, capture_output=True, cwd=ROOT, env=plain_c)
    assert done.stdout == os.fsencode(folder / "02_im2col.ipynb") + b"\n"
    assert os.fsencode(folder) in done.stderr
    command[3:] = ["networks", "resnet18"]
    assert b"224?224?3" in subprocess.run(command, capture_output=True, cwd=ROOT, env=plain_c).stdout


def test_any_error_of_ours_is_one_line(course, monkeypatch):
    def refuse(*arguments):
        raise WorkspaceError("needs 3 GiB, 1 GiB is free")

    monkeypatch.setattr(copies, "update", refuse)
    done = convlab("start", "00", "--no-open")
    assert done.exit_code == 2
    assert done.stderr == "convlab: needs 3 GiB, 1 GiB is free\n"


# -- start -------------------------------------------------------------------------------------------------


def test_start_makes_the_copy_and_prints_its_path(course):
    done = convlab("start", "1", "--no-open")
    assert done.exit_code == 0
    path = course / "work" / "01_fails.ipynb"
    assert done.stdout.strip() == str(path)
    assert path.read_bytes() == (course / "notebooks" / "01_fails.ipynb").read_bytes()
    assert len(list(path.parent.glob("*.ipynb"))) == len(
        list((course / "notebooks").glob("*.ipynb"))
    )  # links


def test_start_says_how_to_get_the_fresh_one_and_that_works(course):
    convlab("start", "00", "--no-open")
    mine, theirs = course / "work" / "00_good.ipynb", course / "notebooks" / "00_good.ipynb"
    for path, source in ((mine, "my answer"), (theirs, "a better question")):
        notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source)])
        nbformat.write(notebook, path)
    done = convlab("start", "00", "--no-open")
    assert "yours has your changes and is kept" in done.stderr
    assert len(done.stderr.splitlines()) == 1
    advice = re.search(rf"{install.course_command('')} (start \S+ --fresh)", done.stderr)[1]
    done = convlab(*advice.split(), "--no-open")
    assert "a better question" in Path(done.stdout.strip()).read_text()
    assert "my answer" in mine.read_text()


# -- run ---------------------------------------------------------------------------------------------------


def test_run_writes_pages_and_leaves_nothing_else(course, tmp_path, monkeypatch):
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    done = convlab("run", "00", "--out", tmp_path / "pages")
    assert done.exit_code == 0, done.stderr
    assert [path.name for path in (tmp_path / "pages").iterdir()] == ["00_good.html"]
    assert "sum is 42" in (tmp_path / "pages" / "00_good.html").read_text()
    assert list((tmp_path / "here").iterdir()) == []
    notebook = nbformat.read(course / "notebooks" / "00_good.ipynb", 4)
    assert all(cell.outputs == [] for cell in notebook.cells)


def test_run_reports_notebook_and_cell_of_every_failure(course, tmp_path):
    (course / "notebooks" / "03_broken.ipynb").write_text("not a notebook")
    done = convlab("run", "1", "2", "3", "--out", tmp_path / "pages")
    assert done.exit_code == 1
    fails, widget, broken = (line for line in done.stderr.splitlines() if line.startswith("convlab:"))
    assert "01_fails.ipynb, code cell 2" in fails
    assert "KeyError" in fails
    assert "02_widget.ipynb" in widget
    assert "ZeroDivisionError" in widget
    assert "03_broken.ipynb is not a notebook" in broken
    assert "0 of 3 ran" in done.stdout
    page = (tmp_path / "pages" / "02_widget.html").read_text()
    assert "application/vnd.jupyter.widget-state+json" not in page


def test_run_exports_the_learners_own_copies(course):
    """Also a notebook that the learner made, and what a cell reads from beside it."""
    convlab("start", "00", "--no-open")
    mine = course / "work" / "00_good.ipynb"
    for other in set(mine.parent.glob("*.ipynb")) - {mine}:
        other.unlink()
    cells = [nbformat.v4.new_code_cell("print(open('notes.txt').read())")]
    for path in (mine, mine.with_name("Scratch.ipynb")):
        nbformat.write(nbformat.v4.new_notebook(cells=cells), path)
    mine.with_name("notes.txt").write_text("what I found")
    before = mine.read_bytes()
    assert convlab("run", "00", "--mine").stdout.splitlines()[-1].startswith("1 of 1 ran; the pages are in ")
    assert convlab("run", "--work", course / "work").stdout.splitlines()[-1].startswith("2 of 2 ran; ")
    for name in ("00_good", "Scratch"):
        assert "what I found" in (course / "work" / "pages" / f"{name}.html").read_text()
    assert mine.read_bytes() == before


def test_pages_already_made_are_not_copied_for_each_run(tmp_path):
    (tmp_path / "work" / "pages").mkdir(parents=True)
    (tmp_path / "work" / "data").mkdir()
    notebooks.copy_notebooks(tmp_path / "work", tmp_path / "copy", but=tmp_path / "work" / "pages")
    assert [path.name for path in (tmp_path / "copy").iterdir()] == ["data"]


def test_a_page_carries_all_it_shows(course, tmp_path):
    text = "A window of $\\frac{H}{s}$ rows.\n\n$$P = Q < 7$$\n\n![a dot](dot.svg)\n\n`$x$`"
    text += "\n\n<details>\n<summary>Why?</summary>\n\nA *reason*: press <kbd>Esc</kbd>.\n\n</details>"
    output = "from IPython.display import Latex\nopen('dot.svg').close()\nLatex('$$M_1$$')"
    cells = [nbformat.v4.new_markdown_cell(text), nbformat.v4.new_code_cell(output)]
    nbformat.write(nbformat.v4.new_notebook(cells=cells), course / "notebooks" / "03_formulas.ipynb")
    (course / "notebooks" / "dot.svg").write_text('<svg xmlns="http://www.w3.org/2000/svg"></svg>')
    done = convlab("run", "03", "--out", tmp_path / "pages")
    assert done.exit_code == 0, done.stderr
    page = (tmp_path / "pages" / "03_formulas.html").read_text()
    assert "<mfrac><mi>H</mi><mi>s</mi></mfrac></math> rows" in page
    assert "<mo>&lt;</mo><mn>7</mn></math></span>" in page
    assert "<msub><mi>M</mi><mn>1</mn></msub>" in page
    assert "<code>$x$</code>" in page
    answer = r"<p>A <em>reason</em>: press <kbd>Esc</kbd>\.</p>"
    assert re.search(rf"<details>\s*<summary>Why\?</summary>\s*{answer}\s*</details>", page)
    assert 'src="data:image/svg+xml;base64,' in page
    assert not re.search(r"<script|<link|src=\"(?!data:)|@import|url\((?!['\"]?data:)", page)


def test_links_lead_to_the_pages_that_are_there(course, tmp_path):
    (tmp_path / "pages").mkdir()
    (tmp_path / "pages" / "05_earlier.html").write_text("from an earlier run")
    text = (
        "[next](04_next.ipynb#end) [earlier](05_earlier.ipynb) [absent](06_absent.ipynb) "
        "[abroad](https://example.org/04_next.ipynb)"
    )
    for name in ("03_links", "04_next", "06_absent"):
        cells = [nbformat.v4.new_markdown_cell(text)]
        nbformat.write(nbformat.v4.new_notebook(cells=cells), course / "notebooks" / f"{name}.ipynb")
    done = convlab("run", "03", "04", "--out", tmp_path / "pages")
    assert done.exit_code == 0, done.stderr
    page = (tmp_path / "pages" / "03_links.html").read_text()
    links = re.findall(r'<a href="([^"]+)">(?:next|earlier|absent|abroad)</a>', page)
    assert links[:2] == ["04_next.html#end", "05_earlier.html"]
    assert links[2:] == ["06_absent.ipynb", "https://example.org/04_next.ipynb"]


def test_source_in_an_output_is_set_like_code(course, tmp_path):
    cells = [nbformat.v4.new_code_cell("from IPython.display import Code\nCode('x = 1', language='python')")]
    nbformat.write(nbformat.v4.new_notebook(cells=cells), course / "notebooks" / "03_code.ipynb")
    done = convlab("run", "03", "--out", tmp_path / "pages")
    assert done.exit_code == 0, done.stderr
    page = (tmp_path / "pages" / "03_code.html").read_text()
    style = re.search(r"\.jp-OutputArea \.highlight pre,[^{]*\{([^}]*)\}", page)[1]
    assert "font-family: var(--jp-code-font-family)" in style
    assert '<div class="highlight"><pre>' in page


def test_a_formula_that_cannot_be_drawn_stays_latex(course, tmp_path, monkeypatch):
    cells = [nbformat.v4.new_markdown_cell("So $a < \\begin{nonsense}$.")]
    nbformat.write(nbformat.v4.new_notebook(cells=cells), course / "notebooks" / "03_formulas.ipynb")
    for module in ("as installed", "docutils.utils.math.latex2mathml"):
        monkeypatch.setitem(sys.modules, module, None)  # the second round: docutils is not installed
        assert convlab("run", "03", "--out", tmp_path / "pages").exit_code == 0
        page = (tmp_path / "pages" / "03_formulas.html").read_text()
        assert "So <code>a &lt; \\begin{nonsense}</code>." in page


# -- doctor ------------------------------------------------------------------------------------------------


def test_doctor_finds_what_is_here():
    done = convlab("doctor", "--json")
    told = json.loads(done.stdout)
    assert done.exit_code == 0, done.stdout
    assert told["can_run"] is True
    findings = {finding["name"]: finding for finding in told["findings"]}
    assert findings["numpy"]["found"] == metadata.version("numpy")
    assert told["machine"] == json.loads(json.dumps(Machine.here().as_dict() | volatile(told["machine"])))
    for finding in told["findings"]:
        assert finding["found"] or finding["adds"], finding["name"]


def volatile(facts: dict) -> dict:
    """What may differ between two looks at the same machine."""
    return {name: facts[name] for name in ("memory_available", "blas")}


def in_one_line(*arguments: str) -> str:
    """Return what a command says, wherever its lines end."""
    return " ".join(convlab(*arguments).stdout.split())


def test_doctor_says_which_course_this_is(monkeypatch, tmp_path):
    assert f"a checkout, {ROOT}; your folder is {ROOT / 'work'}" in in_one_line("doctor")
    monkeypatch.setattr(notebooks, "PACKAGE", ROOT)  # as an installed wheel
    monkeypatch.chdir(tmp_path)
    findings = {
        finding["name"]: finding for finding in json.loads(convlab("doctor", "--json").stdout)["findings"]
    }
    assert f"installed in {ROOT}; your folder is {tmp_path / 'convlab-work'}" in in_one_line("doctor")
    torch = findings["torch"]
    assert torch["found"] or shlex.split(torch["command"])[-1].startswith("torch>=")


def test_doctor_says_the_same_in_words():
    told = in_one_line("doctor")
    for finding in doctor.examine().findings:
        assert finding.name in told
        assert (finding.command or "") in told
    assert "The course can run here." in told


@in_turns
def test_doctor_knows_the_processor_that_numba_was_told(monkeypatch):
    monkeypatch.setenv("NUMBA_CPU_NAME", "haswell")
    for arguments in ([], ["--json"]):
        command = [sys.executable, "-m", "convlab.cli", "doctor", *arguments]
        done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
        assert (done.returncode, done.stderr) == (0, "")
        assert "haswell" in done.stdout


def test_speeds_are_measured_anew_on_request(monkeypatch, tmp_path):
    """They are shown beside those known before; what was tuned stays unless it is to go, too."""
    slower = SPEEDS | {"roofs": SPEEDS["roofs"] | {"flops": 50e9}}
    measured = iter([SPEEDS, slower, SPEEDS])
    monkeypatch.setenv("CONVLAB_CACHE_DIR", str(tmp_path))

    def busy(on_step):
        disturbance.note(wall=1.0, taken=0.4)
        return next(measured)

    monkeypatch.setattr(measure, "measure", busy)
    machine_file.forget()
    try:
        assert "not measured yet" in convlab("doctor").stdout
        problem = networks.load("resnet18")["conv1"].problem
        machine_file.keep_tuned(problem, 1, {"direct": 1.0})
        first = convlab("bench", "speeds").stdout
        assert "100 GFLOP/s" in first
        assert "Other programs had the core for 40% of the time" in " ".join(first.split())
        assert re.search(r"the model for \S+", first)  # what "auto" went by until now
        assert f"kept in {tmp_path}" in " ".join(first.split())
        assert "are known; they were measured" in convlab("bench", "speeds", "--if-unknown").stdout
        lines = convlab("bench", "speeds").stdout.splitlines()
        (line,) = (line for line in lines if "one core" in line)
        assert line.split()[-4:] == ["100", "GFLOP/s", "50.0", "GFLOP/s"]
        assert speeds.speeds().flops == 50e9
        assert machine_file.tuned_seconds(problem, 1) == {"direct": 1.0}
        assert re.search(r"speeds +measured \d{4}-\d\d-\d\d \d\d:\d\d; ", convlab("doctor").stdout)
        convlab("bench", "speeds", "--forget-tuned")
        assert machine_file.tuned_seconds(problem, 1) is None
        machine_file.forget()  # as another process would begin
        assert speeds.speeds().flops == 100e9
        assert machine_file.tuned_seconds(problem, 1) is None
    finally:
        monkeypatch.undo()
        machine_file.forget()


def test_doctor_fails_when_something_required_is_missing(monkeypatch):
    monkeypatch.setattr(doctor, "required", lambda: ["numpy>=2.1", "no-such-package>=3", "rich>=999"])
    done = convlab("doctor")
    assert done.exit_code == 1
    assert f"""{install.install_command("no-such-package>=3")}\n""" in done.stdout
    assert f"missing        rich: version {metadata.version('rich')} is here, >=999 is needed" in done.stdout
    assert "It needs what is missing: see above." in done.stdout
    assert json.loads(convlab("doctor", "--json").stdout)["can_run"] is False


def test_doctor_reads_required_packages_from_the_project():
    names = [line.split(">=")[0] for line in doctor.required()]
    assert {"numpy", "numba", "jupyterlab", "typer"} <= set(names)
    assert set(names) <= {finding.name for finding in doctor.examine().findings if finding.required}


def test_doctor_reads_an_installed_wheel(tmp_path, monkeypatch):
    wheel = Message()
    for line in ("numpy>=2.1", "tomli; python_version < '3'", "scipy>=1.14; extra == 'test'"):
        wheel["Requires-Dist"] = line
    for extra in ("test", "gpu"):
        wheel["Provides-Extra"] = extra
    monkeypatch.setattr(metadata, "metadata", lambda package: wheel)
    monkeypatch.setattr(install, "ROOT", tmp_path)  # no pyproject.toml there
    assert install.declared() == {"": ["numpy>=2.1"], "test": ["scipy>=1.14"], "gpu": []}


def test_doctor_calls_what_can_be_done_without_optional(monkeypatch):
    known = doctor.version
    monkeypatch.setattr(doctor, "version", lambda name: None if name in doctor.ADDS else known(name))
    told = in_one_line("doctor")
    for name, adds in doctor.ADDS.items():
        assert f"optional {name}: {adds}" in told
    assert "missing" not in told
    assert "The course can run here." in told


def test_missing_library_comes_with_the_command_that_installs_it(monkeypatch):
    monkeypatch.setattr(doctor, "version", lambda name: None)
    monkeypatch.chdir(ROOT)
    findings = {finding.name: finding for finding in doctor.examine().findings}
    words = shlex.split(findings["torch"].command)
    assert words[-2:] == ["-e", ".[torch]"]
    assert shlex.split(findings["openvino"].command)[-1] == ".[rivals]"
    assert Path(words[0]).absolute() == Path(sys.executable) or words[0] == "uv"
    monkeypatch.setattr(sys, "prefix", str(ROOT / ".venv"))
    assert doctor.install_extra("test") == "python3 lab.py setup --test"
    monkeypatch.setattr(sys, "prefix", "/elsewhere")
    assert shlex.split(doctor.install_extra("test"))[-1] == ".[test]"
    monkeypatch.chdir("/")
    findings = {finding.name: finding for finding in doctor.examine().findings}
    assert shlex.split(findings["torch"].command)[-1] == f"{ROOT}[torch]"


def test_install_command_survives_the_shell():
    words = shlex.split(install.install_command("a b", "numpy>=2,<3", "x[y]==1.*", "it's"))
    assert words[-4:] == ["a b", "numpy>=2,<3", "x[y]==1.*", "it's"]


# -- lists -------------------------------------------------------------------------------------------------


@pytest.mark.inside
@in_turns
@pytest.mark.parametrize(
    "typed",
    [
        ("progress",),
        ("interview", "sheet"),
        ("interview", "plan"),
        ("algorithms",),
        ("networks",),
        ("doctor",),
    ],
    ids=" ".join,
)
def test_what_is_printed_fits_a_terminal(monkeypatch, tmp_path, typed):
    """But for what is to be copied whole: a path, a command."""
    monkeypatch.setenv("COLUMNS", "72")
    monkeypatch.setenv(memory.NAMED, str(tmp_path))
    shown = convlab(*typed).stdout.splitlines()
    assert len(shown) > 5
    assert [one for one in shown if len(one) > 71 and "/" not in one and "install" not in one] == []


def test_algorithms_lists_the_table():
    done = convlab("algorithms")
    assert done.exit_code == 0
    for name in ALGORITHMS:
        assert name in done.stdout


def test_networks_lists_names_and_layers():
    assert all(name in convlab("networks").stdout for name in networks.names())
    shown = convlab("networks", "resnet18").stdout
    assert all(layer.name in shown for layer in networks.load("resnet18"))


# -- JupyterLab --------------------------------------------------------------------------------------------


def test_root_is_allowed_only_for_root(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "geteuid", lambda: 0, raising=False)
    assert "--allow-root" in server.arguments(tmp_path, "a.ipynb")
    monkeypatch.setattr(os, "geteuid", lambda: 1000, raising=False)
    assert "--allow-root" not in server.arguments(tmp_path, "a.ipynb")


@pytest.mark.parametrize("ip", ["127.0.0.1", "localhost", "0.0.0.0", "*", ""])
def test_addresses_of_this_machine_are_fine(ip):
    server.check_address(ip)


def test_a_port_that_is_taken_is_said(course):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        done = convlab("lab", "--no-browser", "--port", port)
        assert done.exit_code == 2
        assert done.stderr.splitlines()[-1] == (
            f"convlab: --port={port}: another program listens there; choose another, "
            "or leave --port out: the first free one is taken then"
        )
    server.check_port(port)
    server.check_port(port, "127.0.0.1")


def test_a_port_of_a_name_with_two_addresses(monkeypatch):
    """Debian's localhost is ::1 first, and another program may listen on 127.0.0.1 alone."""
    real = socket.getaddrinfo
    both = "::1", "127.0.0.1"
    monkeypatch.setattr(
        socket, "getaddrinfo", lambda host, *a, **k: [one for ip in both for one in real(ip, *a, **k)]
    )
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(ConvError, match="another program listens there"):
            server.check_port(port)
    server.check_port(port)


@pytest.mark.parametrize("everywhere", ["*", ""])
def test_a_port_of_all_addresses(monkeypatch, everywhere):
    """JupyterLab's names for them are its own; the system need not know them."""
    asked, real = [], socket.getaddrinfo
    monkeypatch.setattr(
        socket, "getaddrinfo", lambda host, *a, **k: asked.append(host) or real(host, *a, **k)
    )
    with socket.socket() as taken:
        taken.bind(("0.0.0.0", 0))
        taken.listen()
        with pytest.raises(ConvError, match="another program listens there"):
            server.check_port(taken.getsockname()[1], everywhere)
    assert asked == [None]


@pytest.fixture
def proxy():
    """A proxy for all addresses: the names of the environment that lead to it, and all that it was asked."""

    class Proxy(BaseHTTPRequestHandler):
        def do_GET(self):
            asked.append(self.requestline)
            self.send_error(502)

        do_CONNECT = do_GET

        def log_message(self, *args):
            pass

    asked = []
    with ThreadingHTTPServer(("127.0.0.1", 0), Proxy) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{server.server_port}"
        names = ("http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY")
        yield dict.fromkeys(names, address) | {"no_proxy": "", "NO_PROXY": ""}, asked
        server.shutdown()


def test_no_proxy_sees_the_token(proxy, monkeypatch):
    names, asked = proxy
    for name, value in names.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr("urllib.request._opener", None)  # made once, of the environment of that moment
    with pytest.raises(HTTPError, match="502"):
        urlopen("http://127.0.0.1:9/?token=secret", timeout=5)
    assert len(asked) == 1  # so it works
    assert not server._answers({"url": "http://127.0.0.1:9/", "token": "secret"})
    assert len(asked) == 1
    monkeypatch.setattr(server.webbrowser, "open", lambda url: urlopen(url, timeout=5))
    with pytest.raises(URLError, match="refused"):
        server.show("http://127.0.0.1:9/?token=secret", browser=True)
    assert len(asked) == 1


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({}, None),
        ({"http_proxy": "http://p:1"}, "localhost,127.0.0.1,::1"),
        ({"ALL_PROXY": "http://p:1", "NO_PROXY": "a.org,localhost"}, "a.org,localhost,127.0.0.1,::1"),
        ({"https_proxy": "http://p:1", "no_proxy": "*"}, "*"),
    ],
)
def test_what_is_started_from_here_spares_this_machine_the_proxy(before, after, monkeypatch, tmp_path):
    monkeypatch.setattr(os, "environ", before.copy())
    server.prepare_environment(tmp_path)
    assert os.environ.get("no_proxy") == after
    assert os.environ.get("NO_PROXY") == (None if after == "*" else after)


@in_turns
@pytest.mark.skipif(os.name == "nt", reason="there are no such terminals")
def test_lab_serves_the_working_copies_without_pop_ups_until_ctrl_c(tmp_path, proxy):
    to_proxy, asked = proxy
    environment = (
        os.environ
        | to_proxy
        | {
            "JUPYTER_RUNTIME_DIR": str(tmp_path / "runtime"),
            "JUPYTER_CONFIG_DIR": str(tmp_path / "config"),
            "PYTHONPATH": str(ROOT),
        }
    )
    work = tmp_path / "work"
    command = [sys.executable, "-m", "convlab.cli", "lab", "--no-browser", "--work", str(work)]
    log = tmp_path / "log"
    import pty

    ours, terminal = pty.openpty()
    streams = {"stdin": terminal, "stderr": subprocess.STDOUT, "env": environment}
    with (
        log.open("w") as out,
        subprocess.Popen([*command, "--port", "18957"], stdout=out, **streams) as lab,
    ):
        try:
            url = printed_address(log, lab)
            first = notebooks.course_notebooks()[0].name
            assert f"/lab/tree/{first}?token=" in url
            page = server.ask(url, timeout=10).read().decode()
            config = json.loads(
                re.search(r'id="jupyter-config-data"[^>]*>(.*?)</script>', page, re.DOTALL)[1]
            )
            assert config["disabledExtensions"] == ["@jupyterlab/apputils-extension:announcements"]
            listing = url.split("/lab/")[0] + "/api/contents/" + first + "?" + url.partition("?")[2]
            assert json.load(server.ask(listing, timeout=10))["type"] == "notebook"
            again = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=60)
            assert again.returncode == 0, again.stderr
            assert "already running" in again.stdout
            assert url.partition("?")[2] in again.stdout
            assert asked == []
            lab.send_signal(signal.SIGINT)  # Ctrl-C: no question is asked on the terminal
            assert lab.wait(60) == 0
        finally:
            lab.kill()
            os.close(ours)
            os.close(terminal)
    assert "y/[n]" not in log.read_text()
    assert not (tmp_path / "config" / "labconfig").exists()
    assert len(list(work.glob("*.ipynb"))) == len(notebooks.course_notebooks())


def test_a_start_parses_no_grammars():
    code = "import sys, convlab.workspace, nbformat; print({'nbformat', 'lark'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True)
    assert done.stdout == "{'nbformat'}\n"


def test_help_does_not_import_what_it_does_not_need():
    code = "import sys\nfrom convlab.cli import app\napp(['--help'], standalone_mode=False)\n"
    code += "print({'numba', 'jupyterlab', 'nbconvert', 'matplotlib', 'psutil'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True)
    assert done.stdout.splitlines()[-1] == "set()"
