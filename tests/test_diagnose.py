"""Everything that can be wrong with a GPU, its driver and its toolkit: said in words, the same everywhere."""

import ctypes
import importlib
import importlib.util
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest

from convlab import conv2d, doctor
from convlab.errors import ConvError, ParameterError, UnsupportedError, WorkspaceError
from convlab.gpu import availability, device
from convlab.gpu.diagnose import driver_errors, faults, toolkit
from convlab.machine import cuda_driver
from convlab.machine.cuda_driver import Driver
from convlab.support import install

PIXELS, FILTER = np.ones((1, 4, 4, 2), np.float32), np.ones((2, 3, 3, 2), np.float32)
INSTALL = install.install_extra("gpu")
GOOD = Driver((13, 0))


@pytest.fixture
def machine(monkeypatch):
    """Return a function that makes a machine: its driver, the versions of CUDA's parts, numba-cuda or not."""

    def make(found=GOOD, versions=None, numba_cuda=True, system="linux", on_the_bus=False):
        versions = dict.fromkeys([*toolkit.PARTS, *toolkit.LIBRARIES], "13.4.92") | (versions or {})
        monkeypatch.setattr(cuda_driver, "ask", lambda: found)
        monkeypatch.setattr(cuda_driver, "on_the_bus", lambda: on_the_bus)
        monkeypatch.setattr(toolkit, "find_part", lambda name: versions[name] and f"/{name}")
        monkeypatch.setattr(toolkit, "full_version", versions.get)
        for module in (availability, faults):
            monkeypatch.setattr(module, "find_spec", lambda name: numba_cuda or None)
        monkeypatch.setattr(faults.sys, "platform", system)

    return make


NO_GPU = "no NVIDIA GPU and driver were found"
MACHINES = {
    "nothing": ({"found": None}, [NO_GPU]),
    "a GPU without driver": (
        {"found": None, "on_the_bus": True},
        ["GPU but no driver", "580 or newer"],
    ),
    "a driver without GPU": ({"found": Driver((13, 0), 100, "no device")}, ["driver shows no GPU"]),
    "a broken driver": (
        {"found": Driver((13, 0), 803, "driver mismatch")},
        ["does not start", "driver mismatch", "803"],
    ),
    "an old driver": ({"found": Driver((12, 4))}, ["too old", "12.4", "13.4", "580 or newer"]),
    "a Mac": ({"found": None, "system": "darwin"}, ["no CUDA for macOS"]),
}


@pytest.mark.parametrize("name", MACHINES)
def test_machine_without_a_gpu_that_works_is_told_what_helps(machine, name):
    kind, words = MACHINES[name]
    machine(**kind)
    said = device.gpu_trouble()
    assert all(word in said for word in words), said
    with pytest.raises(UnsupportedError) as refused:
        conv2d(PIXELS, FILTER, backend="gpu")
    assert said in str(refused.value)
    finding = next(f for f in doctor.examine().findings if f.name == "NVIDIA GPU and driver")
    assert finding.found is None
    assert said in finding.adds


def test_hidden_gpu_is_told_by_the_variable_that_hides_it(machine, monkeypatch):
    machine(Driver((13, 0), 100, "no device"))
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "-1")
    assert "CUDA_VISIBLE_DEVICES='-1'" in device.gpu_trouble()


def test_driver_newer_than_the_toolkit_is_no_trouble(machine):
    for served in ((13, 0), (13, 9), (14, 0)):
        machine(Driver(served))
        assert faults.machine_fault() is None


def test_missing_numba_cuda_comes_with_the_command(machine):
    machine(numba_cuda=False)
    for said in (device.gpu_trouble(), str(availability.assembly_fault())):
        assert "numba-cuda" in said
        assert INSTALL in said


@pytest.mark.parametrize("part", ["libnvvm", "ptxas", "nvdisasm"])
def test_missing_part_is_named_with_the_command_and_doctor_gives_the_same(machine, part):
    machine(versions={part: None})
    found = availability.assembly_fault()
    assert part in found.what
    assert found.command == INSTALL
    finding = next(f for f in doctor.examine().findings if f.name == part)
    assert (finding.found, finding.command) == (None, INSTALL)


@pytest.mark.parametrize("part", ["ptxas", "nvdisasm"])
def test_part_of_an_older_toolkit_is_told_apart(machine, part, monkeypatch):
    machine(versions={part: "13.0.88"})
    monkeypatch.setattr(availability, "numba_cuda_fault", lambda: None)
    found = availability.assembly_fault()
    assert all(word in found.what for word in (part, "13.0", "13.4"))
    assert found.command == INSTALL
    monkeypatch.setattr("convlab.doctor.version", lambda name: "0.30.4")
    finding = next(f for f in doctor.examine().findings if f.name == "parts of CUDA")
    assert found.what in finding.adds
    machine(versions={part: "13.4.1"})
    assert availability.assembly_fault() is None


def test_lab_py_is_the_way_in_its_own_environment(monkeypatch):
    monkeypatch.setattr(install.sys, "prefix", str(install.ROOT / ".venv"))
    monkeypatch.chdir(install.ROOT)
    assert install.install_extra("gpu") == "python3 lab.py setup --gpu"
    assert "lab.py" not in install.install_extra("torch")
    assert install.course_command("start 02") == "python3 lab.py start 02"
    monkeypatch.setattr(install.sys, "prefix", "/opt/conda/envs/convlab")
    assert "lab.py" not in install.install_extra("gpu")
    assert install.course_command("start 02") == "convlab start 02"


# -- numba-cuda that does not start ------------------------------------------------------------------------


def library_not_found():
    """What numba-cuda raises without libcudart, of its real type where that is installed."""
    text = 'Failure finding "libcudart.so.13 or libcudart.so.12": No such file: libcudart.so.13, No such file'
    try:
        from cuda.pathfinder import DynamicLibNotFoundError
    except ImportError:
        return RuntimeError(text)
    return DynamicLibNotFoundError(text)


@pytest.fixture
def broken_numba_cuda(monkeypatch):
    """Make ``from numba import cuda`` fail, as it does where numba-cuda lacks the toolkit."""

    class Finder:
        def find_spec(self, name, path=None, target=None):
            if name == "numba.cuda":
                raise library_not_found()

    import numba

    for name in [name for name in sys.modules if name.partition(".")[::2][0] == "numba" and ".cuda" in name]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.delitem(sys.modules, "convlab.gpu.numba_cuda", raising=False)
    monkeypatch.delattr(numba, "cuda", raising=False)
    monkeypatch.setattr(sys, "meta_path", [Finder(), *sys.meta_path])


def test_numba_cuda_without_the_toolkit_is_told_in_words(machine, broken_numba_cuda):
    machine()
    with pytest.raises(UnsupportedError, match="numba-cuda does not start") as refused:
        importlib.import_module("convlab.gpu.numba_cuda")
    assert refused.value.__suppress_context__
    assert "libcudart.so.13" in str(refused.value)
    assert INSTALL in str(refused.value)
    found = availability.numba_cuda_fault()
    assert found.command == INSTALL
    assert found.what in device.gpu_trouble()
    assert found.what in str(refused.value)


@pytest.fixture
def started(machine, monkeypatch):
    """A machine whose numba-cuda starts, and whose toolkit lacks nothing."""
    machine()
    monkeypatch.setattr("convlab.doctor.version", lambda name: "0.30.4")
    return machine


def told_everywhere(*words):
    """Whoever asks for the GPU is told, and `convlab doctor` says the same."""
    said = device.gpu_trouble()
    assert all(word in said for word in (*words, INSTALL)), said
    with pytest.raises(UnsupportedError) as refused:
        conv2d(PIXELS, FILTER, backend="gpu")
    assert said in str(refused.value)
    finding = next(f for f in doctor.examine().findings if f.name == "numba-cuda")
    assert finding.found is None
    assert all(word in finding.adds for word in words)
    assert finding.command == INSTALL


@pytest.mark.parametrize("name", toolkit.LIBRARIES)
def test_library_that_a_launch_needs_is_missed_before_it(started, name):
    assert device.gpu_trouble() is None
    started(versions={name: None})
    told_everywhere("libraries of CUDA are missing", name)


def test_linker_of_an_older_toolkit_is_told(started):
    started(versions={"nvJitLink": "13.0.88"})
    told_everywhere("nvJitLink is of CUDA 13.0", "13.4", "of one version")
    started(versions={"nvJitLink": "13.5.37"})
    assert device.gpu_trouble() is None


def test_libraries_are_looked_for_in_earnest():
    if not importlib.util.find_spec("numba_cuda"):
        pytest.skip("numba-cuda is not installed")
    assert faults.libraries_fault() is None


def test_kernels_compile_where_numpy_has_no_row_stack():
    """numba-cuda 0.30 names it when the first kernel is compiled; NumPy 2.5 has it no longer."""
    script = """
import numpy as np
if hasattr(np, "row_stack"):
    del np.row_stack
    np.__all__ = [name for name in np.__all__ if name != "row_stack"]
from convlab.gpu.numba_cuda import cuda, ptx_of
def fill(y):
    y[cuda.threadIdx.x] = 1
assert not hasattr(np, "row_stack")
if __import__("importlib").util.find_spec("numba_cuda"):
    from numba import float32, types
    ptx = ptx_of(cuda.jit(fill), [types.Array(float32, 1, "C")], (9, 0))
    assert "fill" in ptx
"""
    subprocess.run([sys.executable, "-W", "ignore", "-c", script], check=True)


# -- what the driver is asked ------------------------------------------------------------------------------


class Library:
    """A stand-in for libcuda."""

    def __init__(self, served=13040, start=0, gpus=1):
        self.served, self.start, self.gpus = served, start, gpus

    def cuDriverGetVersion(self, place):
        place._obj.value = self.served
        return 0

    def cuInit(self, flags):
        return self.start

    def cuDeviceGetCount(self, place):
        place._obj.value = self.gpus
        return 0

    def cuGetErrorString(self, error, place):
        place._obj.value = b"reason %d" % error
        return 0


@pytest.mark.parametrize(
    ("library", "answer"),
    [
        (None, None),
        (Library(), Driver((13, 4))),
        (Library(12020, start=803), Driver((12, 2), 803, "reason 803")),
        (Library(gpus=0), Driver((13, 4), 100, "reason 100")),
    ],
)
def test_driver_is_asked_for_its_cuda_and_its_gpus(monkeypatch, library, answer):
    monkeypatch.setattr(cuda_driver, "library", lambda: library)
    assert cuda_driver.ask() == answer


def test_machine_without_a_driver_has_no_library(monkeypatch):
    def absent(name):
        raise OSError(name)

    monkeypatch.setattr(ctypes, "CDLL", absent)
    assert cuda_driver.library() is None


@pytest.mark.parametrize(
    ("text", "version"),
    [
        (
            "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.104.05  Sat Aug 19 01:15:15 UTC 2023",
            "535.104.05",
        ),
        ("NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  570.86.15  Release Build", "570.86.15"),
        ("something else", None),
        (None, None),
    ],
)
def test_driver_tells_its_version(tmp_path, monkeypatch, text, version):
    monkeypatch.setattr(cuda_driver, "VERSION", tmp_path / "version")
    if text:
        cuda_driver.VERSION.write_text(text + "\n")
    assert cuda_driver.version() == version


def test_gpus_are_asked_of_the_driver(monkeypatch):
    class Two(Library):
        def cuDeviceGet(self, place, index):
            place._obj.value = index

        def cuDeviceGetName(self, text, size, device):
            text.value = b"GPU %d" % device.value

        def cuDeviceTotalMem_v2(self, place, device):
            place._obj.value = 80 << 30

        def cuDeviceGetAttribute(self, place, number, device):
            place._obj.value = {75: 9, 76: 0}[number]

    monkeypatch.setattr(cuda_driver, "library", lambda: Two(gpus=2))
    monkeypatch.setattr(cuda_driver, "version", lambda: "570.86.15")
    first, second = cuda_driver.find_gpus()
    assert first == cuda_driver.GpuFacts("GPU 0", "570.86.15", "9.0", 80 << 30)
    assert second.describe() == "GPU 1 (compute capability 9.0, 80.0 GiB, driver 570.86.15)"
    for library in (None, Two(gpus=0), Two(start=803)):
        monkeypatch.setattr(cuda_driver, "library", lambda library=library: library)
        assert cuda_driver.find_gpus() == ()


@pytest.mark.parametrize(
    ("devices", "there"),
    [
        ({}, False),
        ({"a": ("0x8086", "0x030000")}, False),
        ({"a": ("0x8086", "0x030000"), "b": ("0x10de", "0x030200")}, True),
        ({"a": ("0x10de", "0x040300")}, False),  # the sound of a graphics card
        ({"a": ("0x10de", None)}, False),
    ],
)
def test_gpu_is_seen_on_the_bus(tmp_path, monkeypatch, devices, there):
    monkeypatch.setattr(cuda_driver, "PCI", tmp_path)
    for name, facts in devices.items():
        (tmp_path / name).mkdir()
        for fact, text in zip(("vendor", "class"), facts, strict=True):
            if text:
                (tmp_path / name / fact).write_text(text + "\n")
    assert cuda_driver.on_the_bus() is there


# -- what a launch refuses ---------------------------------------------------------------------------------


def api_error(text):
    """The driver's error, of the type that Numba raises."""
    from numba.cuda.cudadrv.driver import CudaAPIError

    return CudaAPIError(1, f"Call to cuDoIt results in {text}")


def linker_error(text):
    """The linker's error; nvJitLink's own type where that is installed."""
    try:
        from cuda.bindings.nvjitlink import nvJitLinkError
    except ImportError:
        from numba.cuda.cudadrv.driver import LinkerError

        return LinkerError(text)
    error = nvJitLinkError(4)
    error.args = (text,)
    return error


class Kernel:
    """A kernel whose launch fails."""

    def __init__(self, error):
        self.error = error

    def __getitem__(self, configuration):
        def fail(*arguments):
            raise self.error

        return fail


SHARED = "ptxas error : Entry function 'k' uses too much shared data (0x10400 bytes, 0xc000 max)"
ERRORS = {
    "registers": (api_error("CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES"), UnsupportedError, "fewer threads"),
    "address": (api_error("CUDA_ERROR_ILLEGAL_ADDRESS"), UnsupportedError, "outside an array"),
    "memory": (api_error("CUDA_ERROR_OUT_OF_MEMORY"), WorkspaceError, "no room"),
    "unknown": (api_error("CUDA_ERROR_STRANGE"), UnsupportedError, "CUDA_ERROR_STRANGE"),
    "shared": (linker_error(SHARED), ParameterError, "65.0 KiB of shared memory, a block has 48.0 KiB"),
}


@pytest.mark.parametrize("name", ERRORS)
def test_no_error_of_the_drivers_reaches_a_learner(name):
    error, kind, words = ERRORS[name]
    with pytest.raises(ConvError) as refused:
        device.Gpu().launch(Kernel(error), 1, 32)
    assert type(refused.value) is kind
    assert words in str(refused.value)
    assert refused.value.__suppress_context__


def raised_in(module, error):
    """Return a function of that module, which raises an error of Python's own."""
    names = {"__name__": module, "error": error}
    exec("def call(*arguments):\n    raise error", names)
    return names["call"]


@pytest.mark.parametrize(
    ("module", "text", "kind"),
    [
        ("cuda.bindings._internal.driver", "Failed to get cuGetProcAddress_v2", UnsupportedError),
        ("torch._C", "CUDA out of memory. Tried to allocate 2.00 GiB", WorkspaceError),
        ("cupy.cuda.memory", "Out of memory allocating 9 bytes", WorkspaceError),
    ],
)
def test_errors_without_a_kind_of_their_own_are_known_by_where_they_were_raised(module, text, kind):
    with pytest.raises(kind) as refused, driver_errors.translated("this"):
        raised_in(module, RuntimeError(text))()
    assert refused.value.__suppress_context__
    with pytest.raises(RuntimeError), driver_errors.translated("this"):
        raised_in("somebody.else", RuntimeError(text))()


def test_the_first_question_to_a_gpu_may_fail(started, monkeypatch):
    """A context cannot be made: another program has the device for itself, say."""
    from convlab.gpu.numba_cuda import cuda

    def fail(*arguments, **named):
        raise api_error("CUDA_ERROR_DEVICE_UNAVAILABLE")

    for name in ("current_context", "get_current_device", "to_device", "from_cuda_array_interface"):
        monkeypatch.setattr(cuda, name, fail)
    gpu, there = device.Gpu(), SimpleNamespace(__cuda_array_interface__={"strides": None})
    for ask in (gpu.free, lambda: gpu.holds(64), lambda: gpu.adopt(there), lambda: gpu.put(PIXELS)):
        with pytest.raises(UnsupportedError, match="CUDA_ERROR_DEVICE_UNAVAILABLE"):
            ask()
    with pytest.raises(UnsupportedError, match="CUDA_ERROR_DEVICE_UNAVAILABLE"):
        conv2d(PIXELS, FILTER, backend="gpu")


def test_missing_file_is_named_without_the_folders():
    with pytest.raises(UnsupportedError) as refused, driver_errors.translated("this"):
        raised_in(
            "cuda.pathfinder", RuntimeError('finding "libx.so": No such file: libx.so listdir("/a"): b')
        )()
    assert str(refused.value) == 'this failed: finding "libx.so"'


def test_mistakes_in_a_kernel_stay_as_they_are():
    for error in (TypeError("a mistake"), ConvError("told already")):
        with pytest.raises(type(error), match=str(error)):
            device.Gpu().launch(Kernel(error), 1, 32)


def test_too_large_an_array_is_refused_with_its_size(monkeypatch):
    from convlab.gpu.numba_cuda import cuda

    def full(*arguments):
        raise api_error("Call to cuMemAlloc results in CUDA_ERROR_OUT_OF_MEMORY")

    monkeypatch.setattr(cuda, "device_array", full)
    monkeypatch.setattr(cuda, "to_device", full)
    gpu = device.Gpu()
    for ask in (lambda: gpu.empty((1024, 1024), np.float32), lambda: gpu.put(np.ones(2**20, np.float32))):
        with pytest.raises(WorkspaceError, match=r"another 4\.00 MiB"):
            ask()


def test_small_grid_is_no_news():
    from convlab.gpu.numba_cuda import cuda

    assert not cuda.config.CUDA_LOW_OCCUPANCY_WARNINGS
