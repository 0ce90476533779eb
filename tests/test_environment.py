"""pyproject.toml, the locks, environment.yml and lab.py say the same about what is installed."""

import platform
import re
import runpy
import sys
import tomllib
from importlib import metadata
from pathlib import Path

import pytest
import yaml
from packaging.markers import Marker
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

pytestmark = pytest.mark.workshop

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
EXTRAS = PROJECT["optional-dependencies"]
# By extra; "" is what the course needs.
LOCKS = {
    extra: (ROOT / f"requirements{extra and '-'}{extra}.txt").read_text()
    for extra in ("", "test", "workshop", "gpu", "cluster")
}
ENVIRONMENT = (ROOT / "environment.yml").read_text()

# conda-forge's name for what PyPI calls otherwise.
PYPI_NAME = {"matplotlib-base": "matplotlib"}


def ranges(lines) -> dict[str, SpecifierSet]:
    """Name to range, for requirement lines of pip's."""
    return {(r := Requirement(line)).name: r.specifier for line in lines}


def conda_ranges() -> dict[str, SpecifierSet]:
    """Name (PyPI's) to range, for everything in environment.yml but convlab itself."""
    found = {}
    for entry in yaml.safe_load(ENVIRONMENT)["dependencies"]:
        if isinstance(entry, dict):
            found |= ranges(line for line in entry["pip"] if not line.startswith("-e"))
        else:
            name, _, spec = entry.partition(" ")
            found[PYPI_NAME.get(name, name)] = SpecifierSet(spec)
    return found


def locked(extra: str = "") -> list[tuple[str, str, str]]:
    """(name, version, the block of lines) for every package in a lock; a name may come twice."""
    blocks = re.split(r"^(?=[A-Za-z0-9])", LOCKS[extra], flags=re.MULTILINE)[1:]
    return [(*re.match(r"([\w.-]+)==([^\s;]+)", block).groups(), block) for block in blocks]


def marker(block: str) -> Marker | None:
    """The marker of a locked package: where it is needed; None for everywhere."""
    return Requirement(block.partition("\\")[0]).marker


@pytest.fixture(scope="module")
def lab():
    """lab.py, as a module's names."""
    return runpy.run_path(str(ROOT / "lab.py"))


def test_conda_has_the_same_ranges():
    ours = ranges([*PROJECT["dependencies"], *EXTRAS["test"]])
    theirs = conda_ranges()
    python = theirs.pop("python")
    theirs.pop("pip")
    assert theirs == ours
    assert python == SpecifierSet(PROJECT["requires-python"])


def test_conda_installs_this_checkout_and_explains_every_package():
    assert yaml.safe_load(ENVIRONMENT)["dependencies"][-1]["pip"][-1] == "-e ."
    lines = ENVIRONMENT.partition("dependencies:\n")[2].splitlines()
    assert len(lines) > 20
    uncommented = [line for line in lines if not re.search(r"  # \S.{7}", line) and line.strip() != "- pip:"]
    assert uncommented == []


@pytest.mark.parametrize("extra", LOCKS)
def test_a_lock_holds_every_requirement_within_its_range(extra):
    for name, allowed in ranges(EXTRAS[extra] if extra else PROJECT["dependencies"]).items():
        held = locked() + locked(extra)  # a lock adds to that of the course
        versions = [version for package, version, _ in held if package == name]
        assert versions, f"{name} is not locked"
        for version in versions:
            assert version in allowed, f"{name}=={version} is locked; pyproject.toml asks for {allowed}"


@pytest.mark.parametrize("extra", LOCKS)
def test_every_line_of_a_lock_has_a_hash_and_no_address(extra):
    without = [name for name, _, block in locked(extra) if "--hash=sha256:" not in block]
    assert without == []
    assert set(re.findall(r"--hash=(\w+)", LOCKS[extra])) == {"sha256"}
    assert not re.search(r"://|@ |^\s*-(?!-hash)", LOCKS[extra], re.MULTILINE)


def test_the_course_comes_without_what_builds_tests_or_measures_it():
    """With nothing that an extra asks for, and nothing that only such a package needs."""
    course = {name for name, _, _ in locked()}
    for extra, lines in EXTRAS.items():
        wanted = set(ranges(lines)) - {"babel", "jsonschema", "pyyaml", "tinycss2"}  # JupyterLab's, too
        assert not course & wanted, extra
    assert not course & {"hatchling", "pluggy", "sqlalchemy", "nvidia-nvvm"}


@pytest.mark.parametrize("extra", [extra for extra in LOCKS if extra])
def test_a_lock_repeats_nothing_of_the_course(extra):
    assert not {name for name, _, _ in locked(extra)} & {name for name, _, _ in locked()}


@pytest.mark.workshop
def test_what_tools_and_tests_import_is_asked_for():
    """By name: that something else brings it along is no promise."""
    asked = {name for lines in (PROJECT["dependencies"], *EXTRAS.values()) for name in ranges(lines)}
    brought = asked | {
        "ipython",
        "jupyter-client",
        "nbformat",
        "traitlets",
        "pyzmq",
    }  # JupyterLab is made of these
    brought |= {
        "llvmlite",
        "pillow",
        "markdown-it-py",
        "cuda-bindings",
    }  # Numba's, Matplotlib's, Rich's, numba-cuda's
    known, missing = metadata.packages_distributions(), set()
    for file in (*ROOT.glob("tools/**/*.py"), *ROOT.glob("tests/**/*.py")):
        for name in re.findall(r"^(?:import|from) (\w+)", file.read_text(encoding="utf-8"), re.MULTILINE):
            made_of = {re.sub("[-_.]+", "-", one).lower() for one in known.get(name, ())}
            if made_of and not made_of & (brought | {"convlab"}):
                missing.add((name, file.name))
    assert missing == set()


def test_what_two_locks_hold_is_one_version():
    blocks = [
        (name, version, str(marker(block))) for extra in LOCKS for name, version, block in locked(extra)
    ]
    by_name = {}
    for name, version, where in blocks:
        by_name.setdefault((name, where), set()).add(version)
    assert [name for name, versions in by_name.items() if len(versions) > 1] == []


# -- what lab.py says of the locks ---------------------------------------------------------------------------


def test_lab_knows_the_locks(lab):
    assert {path.name for path in lab["LAYERS"].values()} == {
        path.name for path in ROOT.glob("requirements*.txt")
    }
    assert set(lab["LAYERS"]) - {"course"} == set(LOCKS) - {""} == set(EXTRAS) - {"torch", "rivals"}


PLACES = [
    {"python_full_version": full, "sys_platform": system, "os_name": "nt" if system == "win32" else "posix"}
    for full in ("3.11.2", "3.11.10", "3.12.0", "3.13.5", "3.14.8")
    for system in ("linux", "darwin", "win32")
]


@pytest.mark.parametrize("place", PLACES, ids=lambda place: " ".join(place.values()))
def test_lab_takes_the_packages_that_pip_would(lab, monkeypatch, place):
    """Its own reading of markers, held to the standard's, for every line of the locks and some more."""
    python = place["python_full_version"].rpartition(".")[0]
    monkeypatch.setattr(platform, "python_version", lambda: place["python_full_version"])
    monkeypatch.setattr(lab["sys"], "platform", place["sys_platform"])
    monkeypatch.setattr(lab["os"], "name", place["os_name"])
    monkeypatch.setitem(lab["holds"].__globals__, "this_python", lambda: python)
    markers = {str(where) for extra in LOCKS for *_, block in locked(extra) if (where := marker(block))}
    markers |= {"python_full_version == '3.12.*'", "python_version >= '3.9' and os_name != 'nt'"}
    assert len(markers) > 8
    for where in markers:
        where = where.replace('"', "'")
        assert lab["holds"](where) == Marker(where).evaluate(place | {"python_version": python}), where


@pytest.mark.parametrize("layer", ["course", "test", "workshop", "gpu", "cluster"])
def test_lab_says_truly_how_much_there_is_to_install(lab, layer):
    """The first line of a lock, held to what lies here, where that is the platform that was weighed."""
    text = LOCKS["" if layer == "course" else layer].splitlines()[0]
    said = re.fullmatch(r"# (\d+) packages on Linux x86-64: (\d+) MB to download, (\d+) MB on the disk", text)
    count, download, disk = map(int, said.groups())
    assert 0.1 < download / disk < 0.9
    if (sys.platform, platform.machine(), sys.version_info[:2]) != ("linux", "x86_64", (3, 11)):
        pytest.skip("weighed on Linux x86-64 with Python 3.11")
    packages = lab["locked"](layer)
    assert len(packages) == count
    try:
        found = [metadata.distribution(name) for name, _ in packages]
    except metadata.PackageNotFoundError as absent:
        pytest.skip(f"{absent.name} is not installed")
    if {(lab["plain"](each.name), each.version) for each in found} != set(packages):
        pytest.skip("other versions are installed")
    files = [path for each in found for path in each.files if path.suffix != ".pyc"]
    size = sum(path.locate().stat().st_size for path in files if path.locate().exists())
    assert size / 1e6 == pytest.approx(disk, rel=0.03)


def test_compiler_and_assembler_for_gpus_are_of_one_version():
    versions = {name: version for name, version, _ in locked("gpu")}
    parts = (
        "nvidia-nvvm",
        "nvidia-cuda-nvcc",
        "nvidia-cuda-nvdisasm",
        "nvidia-cuda-nvrtc",
        "nvidia-cuda-runtime",
    )
    assert len({versions[part] for part in parts}) == 1
    assert versions["cuda-toolkit"].split(".")[:2] == versions["nvidia-nvvm"].split(".")[:2]


def test_nothing_for_gpus_is_asked_for_on_macos():
    for _, _, block in locked("gpu"):
        assert not marker(block).evaluate({"sys_platform": "darwin", "platform_machine": "arm64"})
        assert marker(block).evaluate({"sys_platform": "linux", "platform_machine": "x86_64"})
    for line in EXTRAS["gpu"]:
        assert not Requirement(line).marker.evaluate({"sys_platform": "darwin"})


def test_lab_accepts_the_pythons_the_project_accepts(lab):
    refusal = lab["refusal"]
    accepted = SpecifierSet(PROJECT["requires-python"])
    for minor in range(6, 20):
        assert (refusal((3, minor)) is None) == accepted.contains(f"3.{minor}.0"), minor
    assert refusal((2, 7))


def test_continuous_integration_runs_the_one_command():
    script = ROOT / ".ci" / "run"
    assert script.stat().st_mode & 0o111
    lines = script.read_text().splitlines()
    assert lines[0] == "#!/usr/bin/env bash"
    assert "set -euo pipefail" in lines
    # With the compiler for GPUs and with Dask, so that no test of them is skipped there.
    assert '"$python" lab.py setup --gpu --cluster' in lines
    assert lines[-1] == 'exec "$python" lab.py test --all --turn today'
