"""The wheel is the whole course: what it carries, and that every command works from it with no checkout.

It is built from a copy of the checkout in which somebody has worked, and installed, without what it needs, in
an environment that sees the packages of this one, but not the checkout.
"""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import sysconfig
import tarfile
import time
import tomllib
from email.parser import Parser
from pathlib import Path
from zipfile import ZipFile

import pytest
import yaml
from effort import in_turns
from lab_server import printed_address
from packaging.specifiers import SpecifierSet

from convlab.support.version import VERSION
from convlab.workspace.server import ask

pytest.importorskip("hatchling")
pytestmark = [
    pytest.mark.workshop,
    pytest.mark.xdist_group("wheel"),  # built and installed once
    pytest.mark.skipif(os.name == "nt", reason="starts commands as a shell of POSIX does"),
]

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
LARGEST = 4_000_000  # bytes of the wheel, which had 3.5 million when this was written
NOT_COPIED = ".git", ".venv", ".*_cache", ".hypothesis", "__pycache__", "work", "site", "dist", "*.egg-info"
# What lies about where somebody has worked, and belongs in no wheel.
CLUTTER = (
    "notebooks/Untitled.ipynb",
    "notebooks/.ipynb_checkpoints/02_im2col-checkpoint.ipynb",
    "convlab/.ipynb_checkpoints/api-checkpoint.py",
    "convlab/cpu/__pycache__/gemm.cpython-311.pyc",
    "convlab/cpu/gemm.nbc",
    "data/.DS_Store",
    "data/pictures/large.gif",
    "work/02_im2col.ipynb",
    "site/index.html",
    "dist/convlab-0.1.0.tar.gz",
)


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    """A copy of the checkout, in a folder called work, as .gitignore calls one that is ignored."""
    folder = tmp_path_factory.mktemp("here") / "work" / "convlab"
    shutil.copytree(ROOT, folder, ignore=shutil.ignore_patterns(*NOT_COPIED))
    for name in CLUTTER:
        (folder / name).parent.mkdir(exist_ok=True, parents=True)
        (folder / name).write_text("{}")
    return folder


@pytest.fixture(scope="module")
def wheel(source, tmp_path_factory):
    return build(source, "wheel", tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def sdist(source, tmp_path_factory):
    return build(source, "sdist", tmp_path_factory.mktemp("sdist"))


def build(source: Path, target: str, to: Path) -> Path:
    """Build a wheel or an sdist, as an installer would, but with the hatchling that is here."""
    command = [sys.executable, "-m", "hatchling", "build", "--target", target, "--directory", str(to)]
    done = subprocess.run(command, cwd=source, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    (built,) = to.iterdir()
    return built


# -- what is in it -----------------------------------------------------------------------------------------


def test_the_wheel_carries_the_library_the_notebooks_and_the_data_and_nothing_else(wheel, source):
    library = {
        p
        for p in (source / "convlab").rglob("*")
        if p.is_file() and str(p.relative_to(source)) not in CLUTTER
    }
    course = {p for p in (source / "notebooks").iterdir() if re.match(r"\d\d_.*[.]ipynb$", p.name)}
    data = {p for p in (source / "data").rglob("*") if p.is_file() and p.parent.name != "pictures"}
    data -= {source / name for name in CLUTTER}
    assert len(course) >= 20
    assert len(data) >= 15
    expected = {str(path.relative_to(source)) for path in library}
    expected |= {f"convlab/{path.relative_to(source)}" for path in course | data}
    names = ZipFile(wheel).namelist()
    info = f"convlab-{VERSION}.dist-info/"
    assert {name for name in names if not name.startswith(info)} == expected
    assert "convlab/py.typed" in names
    assert f"{info}licenses/LICENSE" in names
    assert len(names) == len(set(names))


def test_the_wheel_is_small(wheel):
    size = wheel.stat().st_size
    assert size < LARGEST, f"the wheel has {size} bytes; raise LARGEST only if they are worth it"


@in_turns
def test_an_sdist_makes_the_same_wheel_and_holds_what_authors_need(wheel, sdist, tmp_path):
    with tarfile.open(sdist) as archive:
        archive.extractall(tmp_path, **({"filter": "data"} if hasattr(tarfile, "data_filter") else {}))
    (unpacked,) = tmp_path.iterdir()
    for name in (
        "lab.py",
        "requirements.txt",
        "tests/test_wheel.py",
        "tools/wheel.py",
        "CHANGELOG.md",
        "CITATION.cff",
    ):
        assert (unpacked / name).is_file(), name
    left_out = set(CLUTTER) - {"notebooks/Untitled.ipynb", "data/.DS_Store", "data/pictures/large.gif"}
    assert [name for name in left_out if (unpacked / name).exists()] == []
    (tmp_path / "built").mkdir()
    again = build(unpacked, "wheel", tmp_path / "built")
    assert contents(again) == contents(wheel)


def contents(wheel: Path) -> dict[str, int]:
    """Each file of a wheel, and a checksum of it."""
    return {one.filename: one.CRC for one in ZipFile(wheel).infolist()}


def test_the_metadata_is_right(wheel):
    metadata = Parser().parsestr(ZipFile(wheel).read(f"convlab-{VERSION}.dist-info/METADATA").decode())
    assert metadata["Version"] == VERSION == PROJECT["version"]
    assert metadata["License-Expression"] == PROJECT["license"]
    classifiers = metadata.get_all("Classifier")
    assert not [line for line in classifiers if line.startswith("License")]  # an index refuses it beside that
    minor = {int(line.rpartition(".")[2]) for line in classifiers if re.search(r":: 3[.]\d+$", line)}
    allowed = SpecifierSet(metadata["Requires-Python"])
    assert minor == {number for number in range(6, 30) if f"3.{number}.0" in allowed}


def test_the_changelog_and_the_citation_speak_of_this_version():
    first, day = re.findall(
        r"^## \[([^\]]+)\] - (\d{4}-\d\d-\d\d)$", (ROOT / "CHANGELOG.md").read_text(), re.M
    )[0]
    assert first == VERSION
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert citation["cff-version"] == "1.2.0"
    assert (citation["version"], str(citation["date-released"])) == (VERSION, day)
    assert citation["title"].startswith("convlab")
    assert citation["authors"] == [{"name": each["name"]} for each in PROJECT["authors"]]
    assert " AND ".join(citation["license"]) == PROJECT["license"]


# -- from an empty folder ----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def venv(wheel, tmp_path_factory):
    """A virtual environment that holds the wheel, and sees what else is installed here."""
    venv = tmp_path_factory.mktemp("env") / "ein Ordner mit ü"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(venv)], check=True)
    here = Path(sysconfig.get_path("purelib"))
    (site,) = venv.glob("lib/python*/site-packages")
    (site / "00_here.pth").write_text(f"{here}\n")
    for other in here.glob("*.pth"):  # such as numba-cuda's; not the one that leads to the checkout
        if str(ROOT) not in other.read_text(encoding="utf-8"):
            shutil.copy(other, site)
    if (here / "nvidia").is_dir():  # CUDA's libraries are looked for in this folder, not on Python's path
        (site / "nvidia").symlink_to(here / "nvidia")
    shutil.copytree(Path(sys.prefix, "share", "jupyter"), venv / "share" / "jupyter", symlinks=True)
    pip = [
        sys.executable,
        "-m",
        "pip",
        "--python",
        str(venv / "bin" / "python"),
        "--disable-pip-version-check",
    ]
    subprocess.run([*pip, "install", "--quiet", "--no-deps", "--no-index", str(wheel)], check=True)
    return venv


@pytest.fixture
def here(venv, tmp_path, monkeypatch):
    """An empty folder that we are in; the command, started from it, knows nothing of this environment."""
    home, folder = tmp_path / "home", tmp_path / "leer ü"
    home.mkdir()
    folder.mkdir()
    monkeypatch.chdir(folder)
    for name in list(os.environ):
        monkeypatch.delenv(name)
    for name, value in {"HOME": str(home), "PATH": "/usr/local/bin:/usr/bin:/bin", "LANG": "C"}.items():
        monkeypatch.setenv(name, value)
    return folder


def convlab(venv: Path, *arguments: str, **options) -> subprocess.CompletedProcess:
    """Run the command `convlab`."""
    options = {"stdin": subprocess.DEVNULL} | options
    command = [str(venv / "bin" / "convlab"), *arguments]
    return subprocess.run(command, stdout=-1, stderr=-1, encoding="utf-8", timeout=120, **options)


@in_turns
def test_it_says_where_the_course_is(venv, here):
    (package,) = venv.glob("lib/python*/site-packages/convlab")
    assert convlab(venv, "--version").stdout == f"convlab {VERSION}, the course in {package}\n"
    done = convlab(venv, "doctor", "--json")
    assert done.returncode == 0, done.stdout + done.stderr
    told = json.loads(done.stdout)
    assert told["can_run"] is True
    assert told["course"].endswith(f"installed in {package}; your folder is {here / 'convlab-work'}")
    assert "lab.py" not in done.stdout
    assert list(here.iterdir()) == []


@in_turns
def test_lists_and_progress_need_no_checkout(venv, here):
    assert "resnet18" in convlab(venv, "networks").stdout
    assert "winograd_4x4" in convlab(venv, "algorithms").stdout
    progress = convlab(venv, "progress")
    assert (progress.returncode, progress.stderr) == (0, "")
    assert len(re.findall(r"^\d\d  ", progress.stdout, re.M)) == len(list(ROOT.glob("notebooks/*.ipynb")))
    assert list(here.iterdir()) == []


@in_turns
def test_start_makes_the_learners_folder_and_works_in_it_from_then_on(venv, here):
    first = convlab(venv, "start", "02", "--no-open")
    work = here / "convlab-work"
    assert first.stdout == f"{work / '02_im2col.ipynb'}\n"
    assert (work / "02_im2col.ipynb").read_bytes() == (ROOT / "notebooks" / "02_im2col.ipynb").read_bytes()
    assert convlab(venv, "2", "--no-open", cwd=work).stdout == first.stdout
    assert list(here.iterdir()) == [work]
    mine = json.loads((work / "02_im2col.ipynb").read_text(encoding="utf-8"))
    mine["cells"][0]["source"] = "mine"
    (work / "02_im2col.ipynb").write_text(json.dumps(mine), encoding="utf-8")
    (work / ".convlab.json").write_text("{}")
    told = convlab(venv, "02", "--no-open").stderr
    assert "A fresh copy beside it: convlab start 02 --fresh\n" in told
    asked = convlab(venv, "interview", "--seed", "3", "--count", "1", stdin=None, input="48\n")
    assert (asked.returncode, asked.stderr) == (0, "")
    assert (work / ".convlab-progress.sqlite").is_file()


@in_turns
def test_run_makes_pages(venv, here):
    done = convlab(venv, "run", "00")
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith(f"1 of 1 ran; the pages are in {here / 'convlab-work' / 'pages'}\n")
    assert (here / "convlab-work" / "pages" / "00_start_here.html").stat().st_size > 100_000


@in_turns
def test_bench_saves_in_the_learners_folder(venv, here):
    folder = here / "convlab-work" / "measurements"
    command = [str(venv / "bin" / "convlab"), "bench", "cpu", "--quick", "--no-baselines"]
    with subprocess.Popen(command, stdout=-1, stderr=-1, preexec_fn=heeds_ctrl_c) as bench:
        try:
            wait_for(lambda: list(folder.glob("cpu-*.csv")), bench)
            bench.send_signal(signal.SIGINT)
            told = bench.communicate(timeout=30)
        finally:
            bench.kill()
    assert bench.returncode == 130, told
    assert f"saved in {folder}".encode() in told[0]


def heeds_ctrl_c() -> None:
    """Whoever starts the tests in the background may have told them to ignore Ctrl-C."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@in_turns
@pytest.mark.parametrize("home", ["good", "of no use"])
def test_without_a_command_the_lab_is_served(venv, here, home, monkeypatch):
    if home == "of no use":
        (here.parent / "a file").touch()
        monkeypatch.setenv("HOME", str(here.parent / "a file"))
    log = here.parent / "log"
    command = [str(venv / "bin" / "convlab"), "--no-browser"]
    with (
        log.open("w") as out,
        subprocess.Popen(command, stdout=out, stderr=out, preexec_fn=heeds_ctrl_c) as lab,
    ):
        try:
            url = printed_address(log, lab)
            assert "/lab/tree/00_start_here.ipynb?token=" in url
            with ask(url, timeout=20) as page:
                assert b"jupyter-config-data" in page.read()
            root, _, token = url.partition("/lab/tree/00_start_here.ipynb")
            with ask(f"{root}/api/contents{token}", timeout=20) as listing:
                names = {one["name"] for one in json.load(listing)["content"]}
            assert names == {path.name for path in ROOT.glob("notebooks/*.ipynb")}
            lab.send_signal(signal.SIGINT)
            assert lab.wait(60) == 0
        finally:
            lab.kill()
    assert "Traceback" not in log.read_text()
    assert (here / "convlab-work" / ".home").exists() == (home == "of no use")


def wait_for(look, process: subprocess.Popen):
    """Return what `look` finds, once it finds something; the process must live until then."""
    end = time.monotonic() + 60
    while not (found := look()):
        assert process.poll() is None, f"it ended with {process.returncode}"
        assert time.monotonic() < end, "nothing after a minute"
        time.sleep(0.05)
    return found


# -- what cannot be, in words ------------------------------------------------------------------------------


def test_what_needs_a_checkout_says_so(venv, here):
    done = convlab(venv, "bench", "gpu")
    assert (done.returncode, done.stdout) == (2, "")
    assert "expected a checkout of the course: an installed convlab comes without tools/" in done.stderr


@in_turns
@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="needs a folder that not even root can write to")
@pytest.mark.parametrize("typed", ["", "start 02", "run 00", "bench cpu --quick"])
def test_a_folder_that_cannot_be_written_to_is_named(venv, here, typed):
    done = convlab(venv, *typed.split(), cwd="/proc")
    assert done.returncode == 2, done.stdout + done.stderr
    assert re.search(r"='/proc/convlab-work\S*': .*; expected a folder that can be written to\n", done.stderr)
    assert "Traceback" not in done.stderr


def test_a_wheel_and_a_checkout_are_not_mixed_up(venv, here, source):
    """Each says which course it is; and `python -m convlab` in a checkout is the checkout's."""
    told = convlab(venv, "start", "02", "--no-open", "--work", str(here), cwd=source)
    assert told.stdout == f"{here / '02_im2col.ipynb'}\n"
    assert f"not the checkout {source}; that one is opened by: python3 {source / 'lab.py'}\n" in told.stderr
    command = [str(venv / "bin" / "python"), "-m", "convlab", "--version"]
    assert subprocess.check_output(command, cwd=source, text=True).endswith(f"the course in {source}\n")
    other = [str(venv / "bin" / "python"), "-m", "convlab", "2", "--no-open"]
    there = os.environ | {"PYTHONPATH": str(source)}
    done = subprocess.run(other, cwd=here, env=there, capture_output=True, text=True)
    assert done.stdout == f"{source / 'work' / '02_im2col.ipynb'}\n"
    assert f"the checkout {source}, on your folder {source / 'work'}; " in done.stderr
