"""The machine's facts: read correctly from stand-in files, in agreement with the system's own tools."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from convlab.gpu.diagnose import toolkit
from convlab.machine import container, cores, cuda_driver, system
from convlab.machine.facts import Machine, cores_at_hand, memory_at_hand

GIB = 2**30
DIGITS = "9" * 5000


@pytest.fixture
def cgroup(tmp_path, monkeypatch):
    """Return a function that writes stand-in control-group files: membership line, then path to content."""
    monkeypatch.setattr(container, "MOUNT", tmp_path / "cgroup")
    monkeypatch.setattr(container, "MEMBERSHIP", tmp_path / "membership")

    def cgroup(membership: str, files: dict[str, str]):
        (tmp_path / "membership").write_text(membership)
        for name, content in files.items():
            path = tmp_path / "cgroup" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content)

    return cgroup


@pytest.fixture
def free(monkeypatch):
    """Make the machine itself have 8 GiB, 6 of them free."""
    monkeypatch.setattr(system, "memory", lambda: (8 * GIB, 6 * GIB))


V2 = "0::/app\n"
V1 = "5:cpu,cpuacct:/app\n4:memory:/app\n0::/\n"


def test_version_2_limit_minus_usage(cgroup, free):
    stat = f"anon {GIB}\ninactive_file {GIB}\nslab 5\n"
    cgroup(V2, {"app/memory.max": str(4 * GIB), "app/memory.current": str(3 * GIB), "app/memory.stat": stat})
    assert container.memory_limit() == 4 * GIB
    assert memory_at_hand() == 2 * GIB  # the inactive file pages count as free


def test_version_1_limit_minus_usage(cgroup, free):
    cgroup(
        V1,
        {
            "memory/app/memory.limit_in_bytes": str(4 * GIB),
            "memory/app/memory.usage_in_bytes": str(3 * GIB),
            "memory/app/memory.stat": f"inactive_file 0\ntotal_inactive_file {GIB}\n",
        },
    )
    assert container.memory_limit() == 4 * GIB
    assert memory_at_hand() == 2 * GIB  # those of the groups below it, too


@pytest.mark.parametrize(
    "files",
    [
        {},
        {"app/memory.max": "max\n", "app/memory.current": "17\n"},
        {"memory/app/memory.limit_in_bytes": "9223372036854771712", "memory/app/memory.usage_in_bytes": "17"},
        {"app/memory.max": "what?", "app/memory.current": "17"},
        {"app/memory.max": str(GIB)},
    ],
)
@pytest.mark.parametrize("membership", [V1, V2, ""])
def test_without_a_readable_limit_the_machine_decides(cgroup, free, membership, files):
    cgroup(membership, files)
    assert container.memory_limit() is None
    assert memory_at_hand() == 6 * GIB


@pytest.mark.parametrize(
    ("files", "left"),
    [
        ({"memory.stat": "anon 1\ninactive_file"}, GIB),
        ({"memory.stat": "inactive_file many\n"}, GIB),
        ({"memory.stat": f"inactive_file {DIGITS}\n"}, GIB),
        ({"memory.current": DIGITS}, 6 * GIB),
        ({"memory.max": DIGITS}, 6 * GIB),
        ({"memory.max": "²"}, 6 * GIB),
        ({"cpu.max": f"{DIGITS} 1"}, GIB),
        ({"cpu.max": f"1 {DIGITS}"}, GIB),
        ({"cpu.max": "1 0"}, GIB),
    ],
    ids=lambda value: str(value)[:40],
)
def test_odd_files_of_a_container_are_passed_over(cgroup, free, files, left):
    cgroup(
        V2,
        {
            f"app/{name}": text
            for name, text in ({"memory.max": str(GIB), "memory.current": "0"} | files).items()
        },
    )
    assert memory_at_hand() == left
    assert container.cpu_quota() is None


def test_smallest_limit_on_the_way_up_counts(cgroup, free):
    cgroup(
        "0::/pod/app\n",
        {
            "pod/app/memory.max": str(4 * GIB),
            "pod/app/memory.current": "0",
            "pod/memory.max": str(3 * GIB),
            "pod/memory.current": str(2 * GIB),
        },
    )
    assert container.memory_limit() == 3 * GIB
    assert memory_at_hand() == GIB


def test_container_that_does_not_see_its_own_path_reads_the_root(cgroup, free):
    cgroup("0::/kubepods/of/the/host\n", {"memory.max": str(2 * GIB), "memory.current": str(GIB)})
    assert memory_at_hand() == GIB


def test_more_used_than_allowed_leaves_nothing(cgroup, free):
    cgroup(V2, {"app/memory.max": str(GIB), "app/memory.current": str(2 * GIB)})
    assert memory_at_hand() == 0


@pytest.mark.parametrize(
    ("membership", "files", "quota"),
    [
        (V2, {"app/cpu.max": "150000 100000\n"}, 1.5),
        (V2, {"app/cpu.max": "max 100000\n"}, None),
        (V1, {"cpu/app/cpu.cfs_quota_us": "200000", "cpu/app/cpu.cfs_period_us": "100000"}, 2.0),
        (V1, {"cpu,cpuacct/app/cpu.cfs_quota_us": "-1", "cpu,cpuacct/app/cpu.cfs_period_us": "100000"}, None),
        (V2, {"cpu.max": "400000 100000", "app/cpu.max": "50000 100000"}, 0.5),
        (V2, {}, None),
    ],
)
def test_cpu_quota(cgroup, membership, files, quota):
    cgroup(membership, files)
    assert container.cpu_quota() == quota


@pytest.mark.parametrize(
    ("threads", "quota", "cores"),
    [(8, None, 8), (8, "250000 100000", 2), (8, "50000 100000", 1), (2, "400000 100000", 2), (None, None, 1)],
)
def test_no_more_cores_are_at_hand_than_the_container_allows(cgroup, monkeypatch, threads, quota, cores):
    cgroup(V2, {"app/cpu.max": quota} if quota else {})
    monkeypatch.setattr(system, "threads", lambda: threads)
    assert cores_at_hand() == cores


def test_memory_is_read_without_psutil(monkeypatch, tmp_path, cgroup):
    cgroup("", {})
    monkeypatch.setitem(sys.modules, "psutil", None)
    monkeypatch.setattr(system, "MEMINFO", tmp_path / "meminfo")
    assert memory_at_hand() is None
    (tmp_path / "meminfo").write_text("MemTotal:  8388608 kB\nMemAvailable: 1024 kB\nHugePages_Total: 0\n")
    assert memory_at_hand() == 2**20
    here = Machine.here()
    assert (here.memory, here.cores) == (8 * GIB, None)
    assert "not known physical" in here.describe()


def test_caches_are_those_of_an_allowed_core(monkeypatch, tmp_path):
    monkeypatch.setattr(system, "CACHES", tmp_path)
    monkeypatch.setattr(cores, "now", lambda: {3, 5})
    for core, factor in ((0, 2), (3, 1)):
        entries = [("Data", 1, "48K"), ("Instruction", 1, "32K"), ("Unified", 2, "2M"), ("Unified", 3, "1G")]
        for index, (kind, level, size) in enumerate(entries):
            folder = tmp_path / f"cpu{core}" / "cache" / f"index{index}"
            folder.mkdir(parents=True)
            for name, content in (("type", kind), ("level", level), ("size", size)):
                (folder / name).write_text(f"{content}\n" if factor == 1 else "1K\n")
    assert system.caches() == {1: 48 * 2**10, 2: 2 * 2**20, 3: GIB}


@pytest.mark.parametrize(
    ("level", "size"),
    [
        ("1", "0K"),
        ("1", ""),
        ("1", "K"),
        ("1", "-1K"),
        ("1", DIGITS),
        ("1", "2G"),
        ("", "1K"),
        (DIGITS, "1K"),
    ],
    ids=lambda text: text[:5],
)
def test_a_cache_that_no_processor_has_is_not_known(monkeypatch, tmp_path, level, size):
    monkeypatch.setattr(system, "CACHES", tmp_path)
    monkeypatch.setattr(cores, "now", lambda: {0})
    for index, content in enumerate([("Data", level, size), ("Unified", "2", "2M")]):
        folder = tmp_path / "cpu0" / "cache" / f"index{index}"
        folder.mkdir(parents=True)
        for name, text in zip(("type", "level", "size"), content, strict=True):
            (folder / name).write_text(f"{text}\n")
    assert system.caches() == {2: 2 * 2**20}


def test_a_psutil_that_stumbles_over_an_odd_file_is_done_without(monkeypatch, tmp_path):
    import psutil

    def stumble(**_):
        raise KeyError("MemTotal:")

    monkeypatch.setattr(psutil, "virtual_memory", stumble)
    monkeypatch.setattr(psutil, "cpu_count", stumble)
    monkeypatch.setattr(system, "MEMINFO", tmp_path / "meminfo")
    (tmp_path / "meminfo").write_text(f"MemTotal: {DIGITS} kB\nMemAvailable: much kB\n\n<b> 1\n")
    assert system.memory() == (None, None)
    assert system.physical_cores() is None


def test_what_cannot_be_read_is_not_known_and_never_invented(monkeypatch, tmp_path):
    nothing = tmp_path / "nothing"
    for name in ("CACHES", "CPUINFO", "MEMINFO"):
        monkeypatch.setattr(system, name, nothing)
    monkeypatch.setattr(system, "_ask", lambda *command: None)
    monkeypatch.setattr(system.platform, "machine", lambda: "")
    monkeypatch.delenv("NUMBA_CPU_NAME", raising=False)
    monkeypatch.setitem(sys.modules, "llvmlite", None)
    monkeypatch.setattr(system.platform, "processor", lambda: "")
    monkeypatch.setitem(sys.modules, "threadpoolctl", None)
    here = Machine.here()
    assert (here.processor, here.target, here.instruction_set, here.blas) == (None, None, None, None)
    assert (here.l1d, here.l2, here.l3) == (None, None, None)
    facts = here.facts()
    assert facts["processor"] == facts["NumPy's BLAS"] == "not known"
    assert facts["caches"] == "L1d not known, L2 not known, L3 not known"


@pytest.mark.parametrize(
    ("machine", "features", "name"),
    [
        ("x86_64", {"sse2", "avx", "avx2", "fma", "avx512f"}, "AVX-512"),
        ("x86_64", {"sse2", "avx", "avx2", "fma"}, "AVX2 with FMA"),
        ("AMD64", {"sse2", "avx", "avx2"}, "AVX"),
        ("x86_64", {"sse2"}, "SSE2"),
        ("x86_64", set(), None),
        ("aarch64", {"neon", "aes"}, "NEON"),
        ("arm64", set(), "NEON"),  # as LLVM may answer on macOS
        ("ARM64", set(), "NEON"),  # as Windows writes it
        ("riscv64", set(), None),
    ],
)
def test_widest_instruction_set_wins(monkeypatch, machine, features, name):
    monkeypatch.setattr(system.platform, "machine", lambda: machine)
    assert system.instruction_set(features) == name


def test_llvm_that_names_no_features_still_names_the_processor(monkeypatch):
    from llvmlite import binding

    def refuse():
        raise RuntimeError("failed to retrieve host cpu features")

    monkeypatch.setattr(binding, "get_host_cpu_features", refuse)
    monkeypatch.delenv("NUMBA_CPU_NAME", raising=False)
    monkeypatch.setattr(system, "CPUINFO", Path("nothing"))
    monkeypatch.setattr(system.platform, "machine", lambda: "arm64")
    here = Machine.here()
    assert (here.target, here.instruction_set) == (binding.get_host_cpu_name(), "NEON")


def test_target_is_the_one_numba_was_told(monkeypatch):
    monkeypatch.setenv("NUMBA_CPU_NAME", "haswell")
    assert Machine.here().target == "haswell"
    assert "Numba compiles for: haswell" in Machine.here().describe()


def test_facts_agree_with_the_systems_own_tools():
    here = Machine.here()
    if shutil.which("getconf") and here.l1d:
        answer = subprocess.run(["getconf", "LEVEL1_DCACHE_SIZE"], capture_output=True, text=True).stdout
        assert here.l1d == int(answer)
    if shutil.which("nproc"):
        clean = {name: value for name, value in os.environ.items() if not name.startswith("OMP_")}
        answer = subprocess.run(["nproc"], capture_output=True, text=True, env=clean).stdout
        assert here.threads == int(answer)
    import numpy

    assert here.libraries["numpy"] == numpy.__version__
    assert 0 < memory_at_hand() <= here.memory


def test_facts_survive_json():
    here = Machine.here()
    assert json.loads(json.dumps(here.as_dict()))["libraries"] == here.libraries
    assert set(here.as_dict()) == set(Machine.__dataclass_fields__)


def test_description_tells_every_fact_in_lines_that_fit():
    here = Machine.here()
    lines = here.describe().splitlines()
    assert max(map(len, lines)) <= 100
    begun = [line.split("  ")[0] for line in lines if not line.startswith(" ")]  # the rest goes on
    assert begun == [*here.facts(), "libraries"]
    told = " ".join(here.describe().split())  # a line may end between a name and its number
    for name, number in here.libraries.items():
        assert number is None or f"{name} {number}" in told


def test_import_is_light():
    code = "import sys, convlab.machine.facts; print({'numba', 'llvmlite', 'psutil'} & set(sys.modules))"
    root = Path(__file__).resolve().parents[1]
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=root, check=True)
    assert done.stdout.strip() == "set()"


# -- NVIDIA ------------------------------------------------------------------------------------------------


def test_gpu_of_which_little_is_known_has_its_name():
    assert cuda_driver.GpuFacts("Tesla X", None, None, None).describe() == "Tesla X"


def test_programs_of_the_toolkit_tell_their_version(tmp_path):
    tool = tmp_path / "ptxas"
    tool.write_text("#!/bin/sh\necho release 13.0, V13.0.88\n")
    assert toolkit.tool_version(tool) is None  # it cannot be run
    tool.chmod(0o755)
    toolkit.tool_version.cache_clear()
    assert toolkit.tool_version(tool) == "13.0.88"


def test_no_part_of_the_toolkit_is_found_without_the_pathfinder(monkeypatch):
    monkeypatch.setitem(sys.modules, "cuda", None)
    assert {toolkit.find_part(name) for name in (*toolkit.PARTS, *toolkit.LIBRARIES)} == {None}
    assert toolkit.part_version("libnvvm") is None


@pytest.mark.parametrize("name", [*toolkit.PARTS, *toolkit.LIBRARIES])
def test_parts_of_the_toolkit_are_found_where_it_is_installed(name):
    pytest.importorskip("cuda.pathfinder")
    assert toolkit.find_part(name).is_file()
