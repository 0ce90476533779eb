"""A machine with a GPU, played: Numba's driver is a stand-in, and kernels go to the executor.

    python pretend_gpu.py FOLDER run --save FILE          python -m tools.bench_gpu --save FILE
    python pretend_gpu.py FOLDER step JOURNAL STEP        the process of a step
    python pretend_gpu.py FOLDER notebook FILE            what notebooks ask of such a machine, and of a file
    python pretend_gpu.py FOLDER dry-run --execute ...    a dry run, with nothing played; likewise dry-step

Everything of ours is what a real one runs: the device and its clock, the facts, the processes, the report.
Only the layers are tiny, and the times are made up: an event counts launches and their threads.
In the folder lies which lines were run (`traced_lines`), and what no thread came by in the benchmark's
kernels.
"""

from __future__ import annotations

import atexit
import hashlib
import json
import os
import re
import runpy
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import traced_lines

from convlab.gpu.launch_args import as_launched
from convlab.gpu.numba_cuda import type_of
from convlab.support.files import write_atomically
from tools.ptx.device import Executor

HERE = Path(__file__)
NAME = "NVIDIA H100 of cardboard"
# What this driver tells of a device, by CUDA's names: an H100's, with a small cache that is soon emptied.
ATTRIBUTES = {
    "MULTIPROCESSOR_COUNT": 132,
    "CLOCK_RATE": 1_980_000,
    "MEMORY_CLOCK_RATE": 2_619_000,
    "GLOBAL_MEMORY_BUS_WIDTH": 5120,
    "L2_CACHE_SIZE": 2048,
}
CLOCKS = "1980 MHz, 2619 MHz, 1980 MHz, 2619 MHz, 31, 71.03 W"  # as nvidia-smi writes them
COUNT = 4e-9  # seconds of a count of the kernel that waits for the host: a multiply-add, and the loop
COUNTED = 50  # at most, really
FEW = "direct", "implicit_gemm", "fft", "depthwise", "tensor_core_fp16", "tensor_core_tf32"
IMAGES = 32


class Board:
    """A device as Numba shows it: attributes are asked of the driver, which knows CUDA's names."""

    id, name, compute_capability = 0, NAME, (9, 0)

    def __getattr__(self, name):
        from cuda.bindings.driver import CUdevice_attribute

        getattr(CUdevice_attribute, f"CU_DEVICE_ATTRIBUTE_{name}")
        return ATTRIBUTES[name]


class There:
    """An array in the device's memory: what Numba's have, and nothing that only the host's can do."""

    def __init__(self, held: np.ndarray):
        self._held = held

    shape, dtype, size, ndim, nbytes, strides = (
        property(lambda self, name=name: getattr(self._held, name))
        for name in ("shape", "dtype", "size", "ndim", "nbytes", "strides")
    )

    @property
    def __cuda_array_interface__(self):
        return {**self._held.__array_interface__, "version": 3}

    def reshape(self, *shape):
        return There(self._held.reshape(*shape))

    def view(self, dtype):
        return There(self._held.view(dtype))

    def copy_to_host(self, out=None):
        return DRIVER.executor.get(self._held, out)


class Configured:
    """A kernel with its launch: to call it runs what the compiler makes of it."""

    def __init__(self, kernel, launch):
        self.kernel, (self.grid, self.block) = kernel, launch

    def __call__(self, *arguments):
        name = self.kernel.__name__
        assert not any(isinstance(one, np.ndarray) and one.ndim for one in arguments), f"{name}: a host array"
        if name == "wait_for":
            DRIVER.seconds += COUNT * float(arguments[-1])
            arguments = (*arguments[:-1], min(arguments[-1], np.uint32(COUNTED)))
        DRIVER.launch(self.kernel, self.grid, self.block, [_inner(one) for one in arguments])


def _inner(argument):
    if isinstance(argument, tuple):
        return tuple(map(_inner, argument))
    return argument._held if isinstance(argument, There) else argument


def _identity(kernel) -> object:
    """Return what tells a kernel from all others in every process of a run: its place and its cells."""
    function = getattr(kernel, "py_func", kernel)
    code = getattr(function, "__code__", None)
    if code is None:  # where a thing lies in memory is each process's own
        parts = {k: v for k, v in getattr(kernel, "__dict__", {}).items() if not k.startswith("_")}
        return re.sub("0x[0-9a-f]+", "", f"{kernel!r} {parts!r}")
    cells = [_identity(cell.cell_contents) for cell in function.__closure__ or ()]
    return code.co_filename, code.co_firstlineno, code.co_name, cells


class Compiled(Executor):
    """The executor; what one process has compiled the others find in the folder."""

    def __init__(self, folder: Path):
        super().__init__("sm_90")
        self.folder = folder

    def ptx_of(self, kernel, arguments):
        types = [str(type_of(as_launched(argument))) for argument in arguments]
        name = hashlib.sha256(repr((_identity(kernel), types)).encode()).hexdigest()
        file = self.folder / f"{name[:16]}.ptx"
        with traced_lines.unwatched():
            if not file.exists():
                write_atomically(file, super().ptx_of(kernel, arguments))
        return file.read_text()


class Driver:
    """What stands in the places of `numba.cuda`'s own."""

    def __init__(self, folder: Path):
        self.executor, self.seconds, self.launched = Compiled(folder), 0.0, {}
        self.stream = SimpleNamespace(synchronize=lambda: None)
        self.context = SimpleNamespace(
            deallocations=SimpleNamespace(clear=lambda: None), get_memory_info=lambda: (79 << 30, 80 << 30)
        )

    def launch(self, kernel, grid, block, arguments):
        with traced_lines.unwatched():
            self.executor.launch(kernel, grid, block, *arguments)
        program, file = self.executor.programs[-1], kernel.py_func.__code__.co_filename
        self.launched[id(program)] = kernel.__name__, traced_lines.FILES.get(file), program
        self.seconds += 1e-6 + 1e-10 * float(np.prod(grid) * np.prod(block))

    def event(self, timing):
        def record():
            self.seconds += 2e-6  # what cuDNN's stand-in does takes no time by itself
            event.at = self.seconds

        assert timing
        event = SimpleNamespace(synchronize=lambda: None, record=record)
        return event

    def names(self) -> dict:
        """Return what is set in `numba.cuda`."""
        return {
            "get_current_device": Board,
            "current_context": lambda: self.context,
            "default_stream": lambda: self.stream,
            "synchronize": lambda: None,
            "event": self.event,
            "event_elapsed_time": lambda before, after: 1000 * (after.at - before.at),
            "to_device": lambda array: There(self.executor.put(array)),
            "device_array": lambda shape, dtype: There(self.executor.empty(shape, dtype)),
            "from_cuda_array_interface": lambda interface, owner: There(
                self.executor._here(np.asarray(SimpleNamespace(__array_interface__=interface)))
            ),
        }


def play(folder: Path) -> None:
    """Make this process believe that there is a GPU."""
    global DRIVER
    from convlab.gpu import device
    from convlab.gpu.numba_cuda import cuda
    from convlab.machine import cuda_driver

    DRIVER = Driver(folder)
    for name, stand_in in DRIVER.names().items():
        setattr(cuda, name, stand_in)
    kernels = type(cuda.jit(lambda: None))
    kernels.__getitem__ = lambda kernel, launch: Configured(kernel, launch)
    kernels.compile = lambda kernel, types: DRIVER.executor.ptx_of(kernel, types)
    device.launch_fault = lambda: None
    cuda_driver.find_gpus = lambda: (cuda_driver.GpuFacts(NAME, "580.1", "9.0", 80 << 30),)


def shrink() -> None:
    """Make the layers tiny and the algorithms few: to compile all of them would take minutes.

    The layers keep the names of real ones, so that whoever reads the file knows them.
    """
    from convlab.benchmark.gpu import clock, ladders
    from convlab.benchmark.layers import Workload
    from tools.bench_gpu import scale, tiles

    clock.LEAST_WASTE = 4096
    algorithms, every, tiny = clock.DeviceClock.algorithms, ladders.ladders, scale.TINY
    every_tile = tiles.tiles
    tiles.tiles = lambda numbers: dict(list(every_tile(numbers).items())[-2:])  # the smallest
    clock.DeviceClock.algorithms = lambda self: {name: algorithms(self)[name] for name in FEW}
    layer = Workload("resnet18", "layer1.0.conv1", tiny.resnet[0].problem, 4)
    separate = Workload("mobilenet_v1", "conv_dw_1", tiny.depthwise[0].problem)
    scale.REAL = replace(tiny, images=IMAGES, resnet=(layer,), depthwise=(separate,))
    ladders.ladders = lambda: [
        replace(one, table=(one.table[0], one.table[-1]), workload=tiny.of_ladder(one)) for one in every()
    ]


def notebook(file: Path) -> dict[str, list]:
    """Return what notebooks are told on this machine, without its GPU, and without a saved run."""
    from convlab.benchmark.gpu import climb, ladders, model_error, roofs, times
    from convlab.gpu import device
    from convlab.gpu.diagnose.faults import Fault
    from tools.bench_gpu.scale import TINY

    times._QUICK, folder, measure = TINY.effort, file.parent, roofs.measure
    roofs.measure = lambda clock, count: measure(clock, count, sizes=roofs.SMALL)
    few = {name: one for name, one in ladders.on_a_gpu().items() if name in FEW}
    climb.on_a_gpu = lambda: few
    times.data_path = lambda *parts: folder
    layer = {one.name: one.workload for one in ladders.ladders()}["direct"]
    layer = replace(layer, problem=replace(layer.problem, N=IMAGES))

    def told() -> list:
        rungs, climbed = times.ladder_times("filter"), climb.device_climb()
        ours, roofs = times.layer_times(layer, ["direct", "implicit_gemm"]), times.device_roofline()
        source, judged = model_error.judged_device()
        return [
            (rungs.source, sorted(rungs.times)),
            (climbed.source, sorted(one.name for one in climbed.others if one.measured)),
            ("speeds", all(one.speed > 0 < one.intensity(climb.L2) for one in climbed.rungs)),
            (ours.source, sorted(ours.times)),
            (roofs[0], roofs[1] is not None),
            (source, sorted({one.row.candidate for one in judged})),
        ]

    found = {"here": told()}
    device.launch_fault = lambda: Fault("it is gone")
    found["saved"] = told()
    folder = file.parent / "none"
    return found | {"nothing": told()}


def write_kernels(folder: Path) -> None:
    """Write down what no thread came by, kernel by kernel of the benchmark's own."""
    from tools.ptx.coverage import unreached

    own = [one for one in DRIVER.launched.values() if one[1]]
    found = {f"{file}: {name}": unreached(program) for name, file, program in own}
    (folder / f"kernels-{os.getpid()}").write_text(json.dumps(found))


def main(folder: Path, what: str, *arguments: str) -> None:
    """Play a part of a run."""
    traced_lines.trace(folder)
    sys.argv[1:] = arguments
    if not what.startswith("dry"):
        import pretend_torch

        pretend_torch.install()
        play(folder)
        shrink()
        atexit.register(write_kernels, folder)
    if what == "notebook":
        print(json.dumps(notebook(Path(arguments[0]))))
        return
    dry, part = what.startswith("dry"), what.removeprefix("dry-")
    if part == "run":
        from tools.bench_gpu import run

        run.STEP = (str(HERE), str(folder), "dry-step" if dry else "step")
        run.together = lambda: 2
    runpy.run_module("tools.bench_gpu" + ".steps" * (part == "step"), run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    import pretend_gpu  # this file, by the name that others know it by

    pretend_gpu.main(Path(sys.argv[1]), *sys.argv[2:])
