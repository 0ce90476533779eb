"""pyproject.toml, requirements.txt, environment.yml and lab.py say the same about what is installed."""

import re
import runpy
import tomllib
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
EXTRAS = PROJECT["optional-dependencies"]
LOCK = (ROOT / "requirements.txt").read_text()
GPU_LOCK = (ROOT / "requirements-gpu.txt").read_text()
ENVIRONMENT = (ROOT / "environment.yml").read_text()

# conda-forge's name for what PyPI calls otherwise.
PYPI_NAME = {"matplotlib-base": "matplotlib", "playwright-python": "playwright"}


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


def locked(lock: str = LOCK) -> list[tuple[str, str, str]]:
    """(name, version, the block of lines) for every package in a lock; a name may come twice."""
    blocks = re.split(r"^(?=[A-Za-z0-9])", lock, flags=re.MULTILINE)[1:]
    return [(*re.match(r"([\w.-]+)==([^\s;]+)", block).groups(), block) for block in blocks]


DIRECT = ranges([*PROJECT["dependencies"], *EXTRAS["test"], *EXTRAS["site"], *EXTRAS["build"]])


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


@pytest.mark.parametrize("name", DIRECT)
def test_lock_holds_every_requirement_within_its_range(name):
    versions = [version for package, version, _ in locked() if package == name]
    assert versions, f"{name} is not in requirements.txt"
    for version in versions:
        assert version in DIRECT[name], f"{name}=={version} is locked; pyproject.toml asks for {DIRECT[name]}"


@pytest.mark.parametrize("lock", [LOCK, GPU_LOCK], ids=["requirements", "requirements-gpu"])
def test_every_line_of_a_lock_has_a_hash_and_no_address(lock):
    assert len(locked(lock)) > len(DIRECT if lock is LOCK else EXTRAS["gpu"])
    without = [f"{name}=={version}" for name, version, block in locked(lock) if "--hash=sha256:" not in block]
    assert without == []
    assert set(re.findall(r"--hash=(\w+)", lock)) == {"sha256"}
    assert not re.search(r"://|@ |^\s*-(?!-hash)", lock, re.MULTILINE)


def test_lock_has_nothing_a_laptop_does_not_need():
    names = {name for name, _, _ in locked()}
    assert not names & set(ranges([*EXTRAS["gpu"], *EXTRAS["torch"]]))


def test_lock_for_gpus_adds_the_extra_and_repeats_nothing():
    versions = {name: version for name, version, _ in locked(GPU_LOCK)}
    assert not set(versions) & {name for name, _, _ in locked()}
    for name, allowed in ranges(EXTRAS["gpu"]).items():
        assert versions[name] in allowed, name


def test_compiler_and_assembler_for_gpus_are_of_one_version():
    versions = {name: version for name, version, _ in locked(GPU_LOCK)}
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
    for _, _, block in locked(GPU_LOCK):
        marker = Requirement(block.partition("\\")[0]).marker
        assert not marker.evaluate({"sys_platform": "darwin", "platform_machine": "arm64"})
        assert marker.evaluate({"sys_platform": "linux", "platform_machine": "x86_64"})
    for line in EXTRAS["gpu"]:
        assert not Requirement(line).marker.evaluate({"sys_platform": "darwin"})


def test_lab_accepts_the_pythons_the_project_accepts():
    refusal = runpy.run_path(str(ROOT / "lab.py"))["refusal"]
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
    # With the compiler for GPUs, so that no test of machine code is skipped there.
    assert lines[-2:] == ['"$python" lab.py setup --gpu', 'exec "$python" lab.py test --all']
