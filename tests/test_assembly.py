"""The compiler's view of kernels: small ones whose machine code is known, loops, limits."""

import itertools
import re
import subprocess
import tempfile

import numpy as np
import pytest
from effort import in_turns

from convlab.errors import ConvError, ParameterError, UnsupportedError
from convlab.gpu import numba_cuda
from convlab.gpu.assembly import assemble
from convlab.gpu.assembly.control_flow import loops, main_loop
from convlab.gpu.assembly.sass import Code, parse
from convlab.gpu.availability import assembly_fault
from convlab.gpu.diagnose import toolkit
from convlab.gpu.launch_args import as_launched
from convlab.gpu.numba_cuda import cuda, float32, uint32
from convlab.gpu.occupancy import occupancy, registers_for
from convlab.gpu.ptx import load4, store2, store4

TROUBLE = assembly_fault()
needs_tools = pytest.mark.skipif(TROUBLE is not None, reason=f"no assembly: {TROUBLE}")
FLOATS = np.zeros(1, np.float32)
ARCHS = ("sm_80", "sm_86", "sm_90")
U = uint32


@cuda.jit
def saxpy(a, x, y, n):
    i = U(cuda.grid(1))
    if i < n:
        y[i] = a * x[i] + y[i]


@cuda.jit(device=True)
def tenth(value):
    return value * 0.1  # a float64, as written


@cuda.jit
def tenths(x, y, n):
    i = U(cuda.grid(1))
    if i < n:
        y[i] = tenth(x[i])


@cuda.jit
def copy4(x, y):
    i = U(U(cuda.grid(1)) * U(4))
    a, b, c, d = load4(x, i)
    store4(y, i, a, b, c, d)


@cuda.jit
def copy2(x, y):
    i = U(U(cuda.grid(1)) * U(2))
    store2(y, i, x[i], x[U(i + U(1))])


@cuda.jit
def squares(x, y, rows, columns):
    row = U(0)
    while row < rows:
        total = float32(0)
        column = U(cuda.threadIdx.x)
        while column < columns:
            total += x[column] * x[column]
            column = U(column + U(32))
        y[row] = total
        row = U(row + U(1))


@cuda.jit(launch_bounds=(1024, 1))
def many_numbers(x, y, n):
    held = cuda.local.array(96, float32)
    at = U(cuda.threadIdx.x)
    for j in range(96):
        held[U(j)] = x[U(at + U(j * 1024))]
    step = U(0)
    while step < n:
        for j in range(96):
            held[U(j)] = held[U(j)] * held[U((j + 1) % 96)]
        step = U(step + U(1))
    for j in range(96):
        y[U(at + U(j * 1024))] = held[U(j)]


@cuda.jit
def in_shared_memory(y, n):
    shared = cuda.shared.array((8, 132), float32)
    i = U(cuda.threadIdx.x)
    shared[0, i] = float32(i)
    cuda.syncthreads()
    y[i] = shared[0, U(i ^ n)]


# -- what is counted ---------------------------------------------------------------------------------------


@needs_tools
@pytest.mark.parametrize("arch", ARCHS)
def test_saxpy_is_two_loads_a_multiply_add_and_a_store(arch):
    built = assemble(saxpy, np.float32(2), FLOATS, FLOATS, 100, arch=arch)
    assert built.memory == {"LDG.E": 2, "STG.E": 1}
    assert built.count("FFMA") == built.multiply_adds == 1
    assert built.float64 == {}
    assert built.loops == ()
    assert (built.spill_bytes, built.stack_bytes, built.shared_bytes) == (0, 0, 0)
    assert 0 < built.registers < 32
    assert built.share("FFMA") == 1 / len(built)
    assert f".target {arch}" in built.ptx
    assert built.operations[-1].opcode == "EXIT"  # what fills up the rest is left out


@needs_tools
def test_numbers_are_passed_as_a_launch_passes_them():
    built = assemble(saxpy, np.float32(2), FLOATS, FLOATS, 100)
    kinds = re.findall(r"\.param \.(\w+)", built.ptx)
    assert (kinds[0], kinds[-1]) == ("f32", "u32")


@needs_tools
def test_compiler_is_the_one_beside_this_python():
    release = re.search(r"release (\d+)\.(\d+)", assemble(copy4, FLOATS, FLOATS).ptx)
    assert tuple(map(int, release.groups())) == toolkit.part_version("libnvvm")


def linked_for_a_launch(kernel, *arguments, arch: str) -> Code:
    """The machine code that numba-cuda would launch, made by nvJitLink."""
    core = pytest.importorskip("cuda.core")
    intermediate, _ = cuda.compile(
        kernel.py_func,
        tuple(numba_cuda.type_of(as_launched(argument)) for argument in arguments),
        device=False,
        abi="numba",
        cc=(int(arch[3]), int(arch[4])),
        output="ltoir",
        launch_bounds=kernel.targetoptions["launch_bounds"],
    )
    options = core.LinkerOptions(arch=arch, link_time_optimization=True)
    binary = core.Linker(core.ObjectCode.from_ltoir(intermediate), options=options).link("cubin")
    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        file.write(binary.code)
        file.flush()
        listing = subprocess.run(
            [toolkit.find_part("nvdisasm"), "-c", file.name], capture_output=True, text=True
        )
    return parse(listing.stdout)


@in_turns
@needs_tools
@pytest.mark.parametrize("arch", ARCHS)
def test_what_is_shown_is_what_a_launch_would_run(arch):
    launches = [
        (saxpy, np.float32(2), FLOATS, FLOATS, 100),
        (squares, FLOATS, FLOATS, 5, 100),
        (many_numbers, FLOATS, FLOATS, 5),
    ]
    for launch in launches:
        assert assemble(*launch, arch=arch).opcodes == linked_for_a_launch(*launch, arch=arch).opcodes


@needs_tools
def test_float64_is_found_also_in_a_called_function():
    built = assemble(tenths, FLOATS, FLOATS, 100)
    assert built.float64 == {"F2F.F64.F32": 1, "DMUL": 1, "F2F.F32.F64": 1}


@in_turns
@needs_tools
def test_four_numbers_move_in_one_instruction_and_so_do_two():
    built = assemble(copy4, FLOATS, FLOATS)
    assert built.memory == {"LDG.E.128": 1, "STG.E.128": 1}
    assert built.count("LDG") == built.count("LDG.E") == built.count("LDG.E.128") == 1
    assert built.count("LD") == built.count("LDG.E.12") == 0
    assert assemble(copy2, FLOATS, FLOATS).memory == {"LDG.E": 2, "STG.E.64": 1}
    assert assemble(copy2, np.zeros(1), np.zeros(1)).count("STG.E.128") == 1


# -- loops -------------------------------------------------------------------------------------------------


@needs_tools
@pytest.mark.parametrize("arch", ARCHS)
def test_main_loop_is_the_inner_one_that_multiplies(arch):
    built = assemble(squares, FLOATS, FLOATS, 5, 100, arch=arch)
    main = built.main_loop
    assert main.count("LDG") == main.count("FFMA") >= 1
    assert main.count("STG") == 0
    (outer,) = [loop for loop in built.loops if loop.count("STG")]
    assert set(main.operations) < set(outer.operations)
    assert main.operations[-1].target == main.operations[0].address


@needs_tools
def test_kernel_without_a_loop_says_so():
    with pytest.raises(ConvError, match="no loop"):
        _ = assemble(copy4, FLOATS, FLOATS).main_loop


LISTING = """
        /*0000*/                   MOV R1, c[0x0][0x28] ;
.L_x_1:
        /*0010*/                   IADD3 R2, R2, 0x1, RZ ;
        /*0020*/               @P1 BRA `(.L_x_5) ;
.L_x_2:
        /*0030*/                   FFMA R3, R4, R5, R3 ;
        /*0040*/              @!P0 BRA `(.L_x_2) ;
.L_x_6:
        /*0050*/                   FFMA R3, R4, R5, R3 ;
        /*0060*/                   FFMA R3, R4, R5, R3 ;
        /*0070*/              @!P2 BRA `(.L_x_1) ;
        /*0080*/                   EXIT ;
.L_x_5:
        /*0090*/                   MUFU.RCP R3, R3 ;
        /*00a0*/                   BRA `(.L_x_6) ;
.L_x_9:
        /*00b0*/                   BRA `(.L_x_9);
        /*00c0*/                   NOP;
"""


def test_a_part_that_stands_behind_the_end_belongs_to_its_loop_and_makes_none():
    code = parse(LISTING)
    assert len(code) == 11
    outer, inner = loops(code)
    assert [o.address for o in inner.operations] == [0x30, 0x40]
    assert [o.address for o in outer.operations] == [*range(0x10, 0x80, 0x10), 0x90, 0xA0]
    assert main_loop((outer, inner)) == inner  # ten times one, against two


def test_main_loop_may_hold_small_ones():
    listing = LISTING.replace("FFMA R3, R4, R5, R3 ;", "IADD3 R3, R4, R5, RZ ;", 1)
    outer, inner = loops(parse(listing))
    assert inner.multiply_adds == 0
    assert main_loop((outer, inner)) == outer


# -- registers, shared memory, occupancy -------------------------------------------------------------------


@in_turns
@needs_tools
def test_numbers_that_do_not_fit_into_registers_are_spilled():
    limited = assemble(many_numbers, FLOATS, FLOATS, 5)
    free = assemble(cuda.jit(launch_bounds=(256, 1))(many_numbers.py_func), FLOATS, FLOATS, 5)
    assert limited.registers <= 65536 // 1024 < 96 < free.registers
    assert limited.spill_stores > 0 < limited.spill_loads
    assert limited.stack_bytes > 0 < limited.count("LDL")
    assert (free.spill_bytes, free.stack_bytes, free.count("LDL")) == (0, 0, 0)
    tight = assemble(cuda.jit(max_registers=40)(many_numbers.py_func), FLOATS, FLOATS, 5)
    assert tight.registers <= 40
    assert tight.spill_bytes > limited.spill_bytes


@needs_tools
def test_shared_memory_is_counted_and_more_than_there_is_refused():
    built = assemble(in_shared_memory, FLOATS, 3)
    assert built.shared_bytes == 8 * 132 * 4
    assert (built.count("STS"), built.count("LDS"), built.count("BAR")) == (1, 1, 1)

    @cuda.jit
    def too_much(y):
        shared = cuda.shared.array(12289, float32)
        shared[U(cuda.threadIdx.x)] = y[0]
        cuda.syncthreads()
        y[1] = shared[U(U(cuda.threadIdx.x) ^ U(1))]

    with pytest.raises(ParameterError, match=r"48\.0 KiB of shared memory, a block has 48\.0 KiB.*smaller"):
        assemble(too_much, FLOATS)


@needs_tools
def test_functions_of_a_kernel_are_compiled_anew_for_a_launch():
    assemble(tenths, FLOATS, FLOATS, 100)
    assert not tenth.overloads


# By hand: 128 registers are 4096 a warp, 16 warps of 65536; 16,640 + 1024 bytes fit 9, 5 and 13 times.
@pytest.mark.parametrize(
    ("arch", "threads", "registers", "shared", "blocks", "share", "limited_by"),
    [
        ("sm_80", 256, 128, 16640, 2, 0.25, "registers"),
        ("sm_86", 256, 128, 16640, 2, 1 / 3, "registers"),
        ("sm_90", 256, 32, 16640, 8, 1.0, "threads"),
        ("sm_80", 64, 24, 16640, 9, 9 / 32, "shared memory"),
        ("sm_86", 64, 24, 16640, 5, 5 / 24, "shared memory"),
        ("sm_90", 64, 24, 16640, 13, 13 / 32, "shared memory"),
        ("sm_80", 32, 16, 0, 32, 0.5, "blocks"),
        ("sm_86", 32, 16, 0, 16, 1 / 3, "blocks"),
        ("sm_90", 1024, 65, 0, 0, 0.0, "registers"),
        ("sm_90", 96, 168, 0, 4, 12 / 64, "registers"),
    ],
)
def test_occupancy(arch, threads, registers, shared, blocks, share, limited_by):
    found = occupancy(arch, threads, registers, shared)
    assert (found.blocks, found.limited_by) == (blocks, limited_by)
    assert found.share == pytest.approx(share)
    assert found.warps == blocks * -(-threads // 32)


@pytest.mark.parametrize("arch", ["sm_80", "sm_90"])
def test_the_registers_that_let_so_many_blocks_be_held(arch):
    """As many as can be: with the next larger number there would be a block less."""
    for threads, blocks in itertools.product(range(1, 1025, 7), (1, 2, 3, 5, 8)):
        if -(-threads // 32) * blocks <= 64:
            registers = registers_for(threads, blocks)
            assert occupancy(arch, threads, registers, 0).blocks >= blocks
            assert registers > 247 or occupancy(arch, threads, registers + 8, 0).blocks < blocks
    assert (registers_for(384, 1), registers_for(640, 1), registers_for(16, 32)) == (168, 96, 64)


@needs_tools
def test_launch_bounds_give_the_blocks_they_promise():
    built = assemble(cuda.jit(launch_bounds=(256, 3))(many_numbers.py_func), FLOATS, FLOATS, 5)
    assert built.occupancy(256).blocks == 3
    assert built.occupancy(256).limited_by == "registers"
    assert built.occupancy(256, dynamic_shared_bytes=120 * 1024).limited_by == "shared memory"


# -- wrong input -------------------------------------------------------------------------------------------


@needs_tools
@pytest.mark.parametrize("arch", ["90", "sm90", "compute_90"])
def test_arch_is_checked(arch):
    with pytest.raises(ConvError, match="arch="):
        assemble(copy4, FLOATS, FLOATS, arch=arch)


def test_occupancy_knows_its_limits():
    with pytest.raises(ParameterError, match="sm_70"):
        occupancy("sm_70", 256, 32, 0)
    with pytest.raises(ParameterError, match="1025"):
        occupancy("sm_80", 1025, 32, 0)


def test_missing_tool_is_named_with_the_command(monkeypatch):
    there = toolkit.find_part
    monkeypatch.setattr(toolkit, "find_part", lambda name: None if name == "ptxas" else there(name))
    with pytest.raises(UnsupportedError, match=r"not installed here.*ptxas.*helps"):
        assemble(copy4, FLOATS, FLOATS)
