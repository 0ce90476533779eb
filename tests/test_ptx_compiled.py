"""How the executor gets its PTX: compiled at once for two kinds of GPU, it is what two compilations give."""

import re

import pytest
from cases import CASES, arrays
from effort import in_turns
from ptx_tools import body, needs_compiler

from convlab import plan
from convlab.algorithms.tensor_core import tensor_core
from convlab.gpu import numba_cuda
from convlab.gpu.device import using
from convlab.gpu.launch_args import as_launched
from convlab.gpu.simulated_gpu import Simulator
from tools.ptx.__main__ import main
from tools.ptx.compiled import ARCHS, ptx_for

pytestmark = pytest.mark.workshop


class Noted(Simulator):
    """Runs nothing, and notes what it is asked to run."""

    def __init__(self):
        super().__init__(traced=False)
        self.launches = []

    def launch(self, kernel, grid, block, *arguments):
        self.launches.append((kernel, arguments))


def unnamed(ptx: str) -> str:
    """Return PTX with its long names numbered in order: each compilation makes them anew."""
    names: dict[str, str] = {}
    text = re.sub(r"\b_(?:Z|cudapy)\w+", lambda match: names.setdefault(match[0], f"name{len(names)}"), ptx)
    return re.sub(r"\.(common|visible) \.(global|shared) .*\n", "", text)  # their order is that of the names


@in_turns
@needs_compiler
@pytest.mark.parametrize("algorithm", ["implicit_gemm", tensor_core("fp16")], ids=str)
def test_one_front_end_serves_both(algorithm):
    problem = CASES["plain"]
    x, w, bias = arrays(problem)
    with using(Noted()) as device:
        plan(problem, w, bias, algorithm=algorithm, backend="gpu")(x)
    assert len(device.launches) >= 2
    for kernel, arguments in device.launches:
        made = {arch: ptx_for(kernel, arguments, arch) for arch in ARCHS}
        types = [numba_cuda.type_of(as_launched(argument)) for argument in arguments]
        for arch, capability in ARCHS.items():
            assert f".target {arch}" in made[arch]
            assert unnamed(made[arch]) == unnamed(numba_cuda.ptx_of(kernel, types, capability, made={}))
        assert len({body(ptx) for ptx in made.values()}) == 1


@needs_compiler
def test_the_list_of_kernels(capsys):
    """Of one algorithm: its kernel with what a thread came by, then the opcodes, then the seconds."""
    assert main(["depthwise"]) == 0
    head, kernel, seconds, *rest = capsys.readouterr().out.splitlines()
    assert head.split() == ["algorithm", "kernel", "instructions", "reached"]
    name, function, written, share = kernel.split()
    assert (name, function) == ("depthwise", "sliding")
    assert seconds.startswith("depthwise ")
    total = rest[-2]
    assert total.startswith("1 kernels: ")
    assert total.endswith(f" {written} instructions, {share} reached")
    assert 0 < float(share.rstrip("%")) <= 100


def test_a_name_that_no_algorithm_has(capsys):
    with pytest.raises(SystemExit):
        main(["im2roe"])
    assert "no such algorithm: im2roe" in capsys.readouterr().err
