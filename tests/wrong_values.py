"""For `test_wrong_values.py`: the wrong values, a right call of every public function, what is left out."""

import inspect
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from public_names import public

# -- the values --------------------------------------------------------------------------------------------


def _array(change):
    """Return what makes an array wrong that is otherwise right; of no array, a short one."""
    return lambda valid: change(valid if isinstance(valid, np.ndarray) else np.ones(2, np.float32))


# name: what makes it, given the right value
VALUES = {
    **{"None": lambda valid: None, "''": lambda valid: "", "'nonsense'": lambda valid: "nonsense"},
    **{
        "-1": lambda valid: -1,
        "0": lambda valid: 0,
        "1.5": lambda valid: 1.5,
        "10**30": lambda valid: 10**30,
    },
    "10**5000": lambda valid: 10**5000,  # Python does not even write it
    **{"NaN": lambda valid: np.nan, "infinity": lambda valid: np.inf, "1j": lambda valid: 1j},
    **{"True": lambda valid: True, "NumPy's True": lambda valid: np.True_},
    **{
        "an object": lambda valid: object(),
        "a function": lambda valid: lambda: None,
        "a class": lambda valid: int,
    },
    **{"[]": lambda valid: [], "(0, 1, 2)": lambda valid: (0, 1, 2), "ragged": lambda valid: [[1], [2, 3]]},
    **{"{}": lambda valid: {}, "a dict": lambda valid: {"nonsense": object()}, "a set": lambda valid: set()},
    **{"bytes": lambda valid: b"", "a module": lambda valid: np},
    "an array": lambda valid: np.array([1, 2]),
    "an empty array": lambda valid: np.zeros((0,)),
    "a 0-d array": lambda valid: np.array(1.5),
    "masked": _array(np.ma.masked_array),
    "complex": _array(lambda array: array.astype(complex)),
    "objects": _array(lambda array: array.astype(object)),
    "texts": _array(lambda array: array.astype(str)),
}


ARRAYS = ("masked", "complex", "objects", "texts")

# -- a right call ------------------------------------------------------------------------------------------


@dataclass
class Call:
    """A call that is right.

    Attributes
    ----------
    function : callable
    given : dict
        The argument of each name; of ``*rest`` a tuple.
    right : dict of str to set of str
        Values of the table that are right for an argument.
    named : dict of str to str
        Another word by which the message may name an argument.
    trusted : bool
        Not called as it is: it would take long.
    """

    function: object
    given: dict
    right: dict = field(default_factory=dict)
    named: dict = field(default_factory=dict)
    trusted: bool = False

    def __post_init__(self):
        self.signature = inspect.signature(self.function)
        self.right = ALWAYS | self.right

    def arguments(self):
        """Return the names of the arguments, those left out as well."""
        every = self.signature.parameters.values()
        return [one.name for one in every if one.kind is not inspect.Parameter.VAR_KEYWORD]

    def valid(self, name):
        value = self.given.get(name, self.signature.parameters[name].default)
        return value[0] if self._rest(name) and self.given.get(name) else value

    def _rest(self, name) -> bool:
        return self.signature.parameters[name].kind is inspect.Parameter.VAR_POSITIONAL

    def words(self, name):
        return [name, self.named.get(name, name)]

    def __call__(self, **changed):
        bound = self.signature.bind_partial()
        given = {name: made() if isinstance(made, Made) else made for name, made in self.given.items()}
        for name in self.signature.parameters:
            if name in changed:
                rest = self._rest(name)
                bound.arguments[name] = (changed[name], *given.get(name, ())[1:]) if rest else changed[name]
            elif name in given:
                bound.arguments[name] = given[name]
        result = self.function(*bound.args, **bound.kwargs)
        if inspect.isgenerator(result):
            return list(result)
        if hasattr(result, "__enter__") and not isinstance(result, (np.ndarray, Path)):
            with result:
                return None
        return result


class Made:
    """An argument that a call uses up: made anew for each."""

    def __init__(self, make):
        self.make = make

    def __call__(self):
        return self.make()


TEXT = {"''", "'nonsense'"}
NUMBER = {"-1", "0", "1.5", "10**30"}  # of any size and sign
WHOLE = {"0"}
TAKEN = {"-1", "0", "1.5", "10**30", "10**5000", "NaN", "infinity", "1j", "True", "NumPy's True"}
TAKEN |= {
    "(0, 1, 2)",
    "an array",
    "an empty array",
    "a 0-d array",
    "complex",
}  # by kernels; what they do with it is theirs
TIMES = {"1.5", "10**30"}  # above 0
ANY_LIST = {"[]", "{}", "a set", "an empty array"}  # of nothing: nothing is asked
CALLED = {"a function", "a class"}  # how it is to be called shows where it is called
AS_NUMPY = {"a class", "NumPy's True"}  # what NumPy takes for a dtype
UNHASHABLE = {"[]", "ragged", "a 0-d array", "{}", "a dict", "a set", "an array", "an empty array", *ARRAYS}

# Arguments that mean the same everywhere.
ALWAYS = {
    **dict.fromkeys(
        ("title", "axis", "x_axis", "y_axis", "unit", "because", "what", "change", "layer"), TEXT
    ),
    "alt": {"'nonsense'"},
}

# -- what is left out, and why -----------------------------------------------------------------------------

_RECORD = "a record: the library makes it, and nobody else"
_DEVICE = "a word of a device: said by launches of the library, with what it has made itself"
_HOT = "every run of a plan goes through it, with what the plan has checked"
_RECORDS = (
    "algorithms.spec.Algorithm",
    "gpu.simulator.errors.Mistake",
    "gpu.simulator.requests.Request",
    "gpu.simulator.requests.Site",
    "gpu.simulator.trace.Trace",
    "gpu.simulator.trace.Trace.add",
    "machine.facts.Machine",
    "distributed.border_cost.BorderCost",
    "distributed.border_cost.BreakEven",
    "distributed.layers.Layers",
    "distributed.regions.Region",
    "distributed.regions.Region.hull",
    "distributed.regions.Region.within",
    "distributed.regions.Tile",
    "distributed.report.Run",
    "distributed.simulated.Simulated",
    "distributed.simulated.Timeline",
    "distributed.span.Span",
    "distributed.span.Span.hull",
    "distributed.span.Span.within",
    "distributed.split_time.SplitTime",
    "distributed.third_roof.NetworkRoof",
    "distributed.traffic.Message",
    "networks.layers.Layer",
    "networks.layers.Network",
    "plans.plan.Plan",
    "networks.executor.Executor",
    "networks.profile.Profile",
    "networks.model.Model",
)
SKIPPED = dict.fromkeys(_RECORDS, _RECORD) | {
    **dict.fromkeys(
        [
            f"gpu.simulated_gpu.Simulator.{word}"
            for word in ("put", "empty", "get", "adopt", "hand_back", "holds", "launch")
        ],
        _DEVICE,
    ),
    "inspect.traffic.FirstBlock.launch": _DEVICE,
    **dict.fromkeys(
        ("plans.plan.Plan.run_checked", "plans.plan.Plan.repacked"),
        "for who has looked at the arguments already",
    ),
    "plans.plan.Plan.watched_by": "what watches is made by the library",
    "cpu.epilogue.output": _HOT,
    "cpu.gemm.gemm": _HOT,
    "cpu.partition.partition": "plans are cut by it, which know their sizes",
    "notebook.show": "what no source is found of, `inspect` says",
    "notebook.table": "anything that can be iterated over is a table",
    "algorithms.implicit_gemm.reference.run": _HOT,
    "algorithms.implicit_gemm.reference.taken": _HOT,
    "algorithms.indirect.buffer.offsets_of": "`indirection_buffer` has looked at what it takes",
    "algorithms.winograd.reference.run": _HOT,
    "algorithms.direct.reference.seven_loops": "seven loops on a whiteboard: to be read, and compiled",
    "gpu.tensor_cores.warp_tile.WarpTile": "a named tuple; `tensor_core` looks at it",
    "algorithms.winograd.transforms.in_steps": "takes what `transforms` made, in exact numbers",
    "algorithms.winograd.transforms.operations": "as `in_steps`",
    "cpu.jit.njit": "Numba looks at its options, and says in its own words what is wrong",
    "gpu.kernels.kernel": "Numba looks at its options, and says in its own words what is wrong",
    "gpu.kernels.device_function": "as `kernel`",
    "networks.training.layers.Layer.forward": "each layer has its own",
    "networks.training.layers.Layer.backward": "each layer has its own",
    "networks.training.layers.Layer.node": "each layer has its own",
    "distributed.mosaic.Mosaic.__getitem__": "NumPy says what is wrong with an index",
}
_FOLDER = tempfile.TemporaryDirectory(prefix="convlab-")  # gone at the end
_OF_DASK = tuple(
    f"distributed.{one}"
    for one in ("cluster.connect", "computed.compute", "dask_arrays.apply", "dask_arrays.conv2d")
)

# -- the calls ---------------------------------------------------------------------------------------------


def rows() -> dict[str, Call]:
    """Return a right call of every public function and method, by name."""
    import convlab
    from convlab import ConvProblem, distributed, figures, networks, plan
    from convlab.algorithms.tensor_core import TILES
    from convlab.auto.speeds import speeds as current_speeds
    from convlab.auto.timing import Timing
    from convlab.benchmark import datasheets, model_error, roofline, saved
    from convlab.benchmark.comparison import Effort
    from convlab.benchmark.layers import Workload
    from convlab.benchmark.saved_runs import CPU
    from convlab.cpu.gemm_ladder import one_by_one
    from convlab.cpu.gemm_rungs import rungs
    from convlab.cpu.tile_size import VectorTile
    from convlab.gpu.availability import assembly_fault
    from convlab.gpu.gemm.load_implicit import implicit_loader
    from convlab.gpu.gemm.tile import Tile
    from convlab.gpu.model.speeds import GpuSpeeds
    from convlab.gpu.simulated_gpu import Simulator
    from convlab.index_map import IndexMap
    from convlab.inspect import access_patterns, addressing
    from convlab.inspect.tiling import Tiling
    from convlab.interview import begin, drill
    from convlab.networks.graph import Node
    from convlab.support.files import data_path
    from convlab.support.tables import TextTable
    from convlab.widgets import TaskClock

    names = public()
    found: dict[str, Call] = {}

    def row(name, function=None, /, right=None, named=None, trusted=False, **given):
        found[name] = Call(function or names[name], given, right or {}, named or {}, trusted)

    def same(*several, function=None, **given):
        for name in several:
            row(name, function, **given)

    problem = ConvProblem(1, 5, 6, 4, 2, 3, 3, padding=1)
    x, w = np.ones(problem.x_shape, np.float32), np.ones(problem.w_shape, np.float32)
    y = np.zeros(problem.y_shape, np.float32)
    bias = np.ones(2, np.float32)
    pixels = {"a": np.ones((3, 4), np.float32)}
    one = {"title": "A title", "alt": "Words"}
    speeds = current_speeds()
    row_of = saved.Row("layers", "n", "l", 1, problem, "im2row", True, 1, 3, Timing(1e-3, 1e-3, 1e-3))
    measurement = saved.read(newest_run(data_path("measurements")))
    line = roofline.of_datasheet(datasheets.load("nvidia_t4"))
    roofs = roofline.of_machine(measurement.header["roofs"], measurement.header["machine"])
    trace = access_patterns.ACCESS_PATTERNS[0].trace()
    tile, small = Tile(16, 16, 16, 1, 1, width=1, buffers=1), VectorTile(2, 1, 4)
    xy = access_patterns.ACCESS_PATTERNS[0].pictures

    # the front door
    steps = {name: {"an array"} for name in ("stride", "dilation")} | {"padding": {"0", "an array"}}
    row(
        "api.conv2d",
        **{
            "x": x,
            "w": w,
            "bias": bias,
            "stride": 1,
            "padding": 1,
            "dilation": 1,
            "groups": 1,
            "out": Made(y.copy),
        },
        **{"algorithm": "im2row", "backend": "numpy", "threads": 1},
        right=steps,
    )
    row("api.plan", problem=problem, w=w, bias=bias, algorithm="im2row", backend="numpy", threads=1)
    made = plan(problem, w, backend="numpy")
    row("plans.plan.Plan.__call__", made.__call__, x=x, out=Made(y.copy))
    row("plans.plan.Plan.bound", made.bound, x=x, out=y.copy())
    row("plans.plan.Plan.with_epilogue", made.with_epilogue, epilogue="relu", right={"epilogue": {"None"}})
    row("plans.plan.Plan.with_weights", made.with_weights, w=w)
    row("plans.plan.Plan.takes_turns_with", made.takes_turns_with, other=plan(problem, w, backend="numpy"))
    row("plans.plan.Plan.resize", made.resize, N=1, H=5, W=6)
    sizes = {name: getattr(problem, name) for name in "NHWCKRS"}
    row(
        "problem.ConvProblem",
        **sizes,
        stride=1,
        padding=0,
        dilation=1,
        groups=1,
        dtype="float32",
        right={"stride": {"an array"}, "dilation": {"an array"}, "padding": {"0", "an array"}},
    )
    row("problem.ConvProblem.of", ConvProblem.of, x=x, w=w)
    row("problem.ConvProblem.inside", problem.inside, r=0, s=0, right={"r": {"0"}, "s": {"0"}})
    first = convlab.ALGORITHMS["im2row"]
    row("algorithms.spec.Served.supports", first.supports, problem=problem)
    row("algorithms.spec.Served.form", first.form, backend="numpy")
    for name in ("cost", "workspace_bytes"):
        row(
            f"algorithms.spec.Algorithm.{name}",
            getattr(first, name),
            problem=problem,
            backend="numpy",
            threads=1,
        )

    # layouts
    row("nchw.from_nchw", x=x)
    row("nchw.to_nchw", y=x)
    row("nchw.conv2d_nchw", x=x.transpose(0, 3, 1, 2), w=w.transpose(0, 3, 1, 2), bias=bias)

    # beyond one device
    layers = distributed.Layers.on((1, 5, 6, 4)).conv(w, bias, padding=1)
    row("distributed.layers.Layers.on", distributed.Layers.on, shape=(1, 5, 6, 4), dtype="float32")
    row("distributed.layers.Layers.of", distributed.Layers.of, model=networks.load_model("resnet18"))
    shaping = {"stride": 1, "padding": 1, "dilation": 1, "groups": 1}
    row(
        "distributed.layers.Layers.conv",
        layers.conv,
        w=w[..., :2],
        bias=bias,
        **shaping,
        relu=False,
        right=steps,
    )
    row(
        "distributed.layers.Layers.max_pool",
        layers.max_pool,
        window=2,
        stride=1,
        padding=1,
        right={"padding": {"0"}},
    )
    region = distributed.Region(distributed.Span(0, 1), distributed.Span(0, 1))
    row("distributed.regions.needs", nodes=layers.nodes, output=region)
    row("distributed.regions.tiles", nodes=layers.nodes, height=2, width=2)
    row(
        "distributed.out_of_core.run",
        **{"layers": layers, "source": x, "target": Made(y.copy), "borders": "keep", "memory": "1 GiB"},
        **{"height": 2, "algorithm": "im2row", "backend": "numpy", "threads": 1, "progress": False},
    )
    not_negative, seed = TIMES | WHOLE, {"seed": WHOLE}
    link, chip = distributed.Network(1e-5, 1e9), distributed.Device(1e12, 1e11)
    free = {"latency": not_negative, "bandwidth": TIMES | {"infinity"}, "nbytes": not_negative}
    row("distributed.network.Network", latency=1e-5, bandwidth=1e9, right=free)
    row("distributed.network.Network.seconds", link.seconds, nbytes=8, messages=2, right=free)
    halo = {"nbytes": 8, "neighbours": 2, "at_once": True}
    row(
        "distributed.network.Network.halo_exchange",
        link.halo_exchange,
        **halo,
        right=free | {"neighbours": WHOLE},
    )
    for ring in ("all_gather", "reduce_scatter", "all_reduce"):
        row(f"distributed.network.Network.{ring}", getattr(link, ring), nbytes=8, devices=2, right=free)
    row("distributed.splits.Split", N=1, H=2, W=1, K=1, C=1)
    row(
        "distributed.split_time.Device",
        flops=1e12,
        bandwidth=1e11,
        right={"flops": TIMES, "bandwidth": TIMES},
    )
    cut = {"problem": problem, "split": distributed.Split(H=2), "passes": ("forward", "wgrad")}
    row("distributed.traffic.messages", **cut)
    row("distributed.split_time.time_of", **cut, device=chip, network=link, overlap=True)
    row("distributed.third_roof.network_roof", **cut, device=chip, network=link)
    many = {"devices": 2, "device": chip, "network": link}
    row(
        "distributed.split_time.best_splits",
        **{"problem": problem, **many, "passes": ("forward",), "overlap": True},
    )
    row(
        "distributed.third_roof.NetworkRoof.over",
        distributed.network_roof(problem, cut["split"], chip, link).over,
        network_intensity=np.ones(3),
        right={"network_intensity": {"an array", "a 0-d array"}},
    )
    row("distributed.border_cost.break_even", layers=layers, **many)
    row(
        "distributed.slowness.stragglers",
        **{"machines": 3, "part": 0.5, "factor": 2.0, "seed": 1},
        right=seed | {"part": WHOLE, "factor": TIMES},
    )
    row("distributed.slowness.lognormal", machines=3, sigma=0.1, seed=1, right=seed | {"sigma": not_negative})
    queue = {"machines": 3, "seconds": 1.0, "tiles": 4, "overhead": 0.5, "network": link, "bytes_in": 1}
    queue |= {"bytes_out": 1, "disk": 2.0, "slowness": 1.0, "failures": [(1, 2.0)], "detection": 1.0}
    taken = dict.fromkeys(("seconds", "overhead", "bytes_in", "bytes_out", "detection"), not_negative)
    taken |= {"disk": TIMES | {"infinity"}, "slowness": TIMES, "failures": {"[]"}}
    row("distributed.simulation.simulate_queue", **queue, results="held", right=taken)
    row(
        "distributed.lockstep.simulate_lockstep",
        **{"machines": 3, "seconds": [1.0, 2.0], "network": link, "border": 8, "slowness": 1.0},
        right={"seconds": {"(0, 1, 2)", "an array"}, "border": not_negative, "slowness": TIMES},
    )

    row(
        "distributed.mosaic.Mosaic",
        **{"tile": x[..., :3], "height": 9, "width": 8},
        right={"height": {"True"}, "width": {"True"}},
    )
    mosaic = distributed.Mosaic(x, 9, 8)
    place = Path(_FOLDER.name, "mosaic.npy")
    to = {"path": str(place), "progress": False}
    row("distributed.mosaic.Mosaic.save", mosaic.save, **to)
    nowhere = {"address": "tcp://127.0.0.1:1", "workers": 2, "memory": "1 GiB", "seconds": 0.05}
    row("distributed.cluster.connect", **nowhere, right={"seconds": TIMES}, trusted=True)
    try:
        import dask.array as da
    except ImportError:
        SKIPPED.update(dict.fromkeys(_OF_DASK, "Dask is not installed here"))
    else:
        lying = da.from_array(x, chunks=(1, 2, 6, 4))
        how = {"algorithm": "im2row", "backend": "numpy", "threads": 1}
        row("distributed.dask_arrays.apply", layers=layers, x=lying, **how)
        row(
            "distributed.dask_arrays.conv2d",
            **{"x": lying, "w": w, "bias": bias, **shaping, **how},
            right=steps,
        )
        row("distributed.computed.compute", lazy=lying, progress=False)

    # gradients
    which = {"algorithm": "auto", "backend": "numpy", "threads": 1}
    row("gradients.api.dgrad", problem=problem, dy=y, w=w, **which, out=Made(x.copy))
    row("gradients.api.wgrad", problem=problem, x=x, dy=y, **which, out=Made(w.copy))
    row("gradients.api.plan_dgrad", problem=problem, w=w, **which)
    row("gradients.api.plan_wgrad", problem=problem, **which)
    row("gradients.api.bgrad", dy=y)
    back = {"stride": 1, "padding": 1, "output_padding": 0, "dilation": 1, "groups": 1, **which}
    row(
        "gradients.transposed.conv_transpose2d",
        **{"x": y, "w": w, "bias": np.ones(4, np.float32), **back, "out": Made(x.copy)},
        right=steps | {"output_padding": {"0"}},
    )

    # algorithms
    row("algorithms.fft.transforms.transform_size", problem=problem)
    row("algorithms.im2row.reference.im2row", x=x, problem=problem)
    row("algorithms.im2col.reference.im2col", x=x, problem=problem)
    row("algorithms.im2col.reference.col2im", cols=convlab.im2col(x, problem), problem=problem)
    blocks = {name: {"10**30"} for name in ("block_m", "block_n", "block_k")}
    row("algorithms.implicit_gemm.blocked", block_m=4, block_n=4, block_k=4, right=blocks)
    row(
        "api.implicit_gemm",
        x=x,
        w=w,
        problem=problem,
        block_m=4,
        block_n=4,
        block_k=4,
        backend="numpy",
        right=blocks,
    )
    index, whole_numbers = IndexMap(problem), np.arange(3)
    row(
        "algorithms.implicit_gemm.reference.gather",
        x=x,
        index=index,
        m=whole_numbers,
        k=whole_numbers,
        group=0,
        right={"m": {"0", "an array"}, "k": {"0", "an array"}, "group": {"0"}},
    )
    row("index_map.IndexMap", problem=problem, layout="nhwc_krsc")
    cells = {"0", "an array"}
    for name in ("pixel", "tap", "source", "x_at", "w_at", "y_at"):
        method = getattr(index, name)
        given = dict.fromkeys(inspect.signature(method).parameters, 0)
        row(
            f"index_map.IndexMap.{name}",
            method,
            **given,
            right=dict.fromkeys(given, cells) | {"group": {"0"}},
        )
    row("index_map.IndexMap.inside", index.inside, h=0, w=0, right=dict.fromkeys("hw", cells | {"-1"}))
    row(
        "algorithms.indirect.buffer.indirection_buffer",
        problem=problem,
        rows=2,
        first=0,
        right={"first": {"0"}},
    )
    row("algorithms.precomputed_gemm.offsets.deltas", problem=problem, block_c=4)
    row("algorithms.precomputed_gemm.offsets.walk", problem=problem, block_c=4)
    row("algorithms.precomputed_gemm.offsets.tables", problem=problem, rows=8)
    folding = ConvProblem(1, 8, 8, 3, 4, 3, 3, stride=2, padding=1)
    from convlab.algorithms.winograd_s2d.space_to_depth import folded

    turned = folded(folding)
    row("algorithms.winograd_s2d.space_to_depth.folded", problem=folding)
    row(
        "algorithms.winograd_s2d.space_to_depth.fold_weights",
        problem=folding,
        w=np.ones(folding.w_shape, "f4"),
    )
    row(
        "algorithms.winograd_s2d.space_to_depth.fold_numpy",
        problem=folding,
        x=np.ones(folding.x_shape, "f4"),
        z=np.zeros(turned.x_shape, "f4"),
    )
    row(
        "algorithms.tensor_core.rounding.rounded",
        array=x,
        kind="fp16",
        right={"array": {"an array", "a 0-d array"}},
    )
    row("algorithms.tensor_core.tensor_core", inputs="fp16", tile=TILES[0])
    points = {"points": {"(0, 1, 2)"}}
    row("algorithms.winograd.error.amplification", m=2, points=(0, 1, -1), r=3, right=points)
    row("algorithms.winograd.transforms.matrices", m=2, points=(0, 1, -1), r=3, right=points)
    row("algorithms.winograd.transforms.transforms", m=2, points=(0, 1, -1), r=3, right=points)
    row(
        "algorithms.winograd.error.measured_error",
        m=2,
        points=(0, 1, -1),
        dtype="float32",
        C=2,
        right=points,
    )
    row(
        "support.aligned.aligned_empty",
        shape=(2, 3),
        dtype="float32",
        right={"shape": {"0", "(0, 1, 2)", "[]", "an array"}, "dtype": AS_NUMPY},
    )
    row("algorithms.depthwise.cpu.as_called", problem=ConvProblem(1, 5, 6, 4, 4, 3, 3, groups=4))
    row("cpu.tile_model.TileBounds", rows=7, vectors=2, registers=32, units=2)
    row("cpu.assembly.hottest_loop", kernel=one_by_one, arguments=(w[0, 0], w[0, 0], w[0, 0]), trusted=True)
    block = convlab_blocks(problem)
    row("inspect.block_footprint.implicit_gemm_blocks", problem=problem, block_m=4, block_n=4, block_k=4)
    row("inspect.block_footprint.count", problem=problem, block=block)
    row("oracle.reference", x=x, w=w, problem=problem, bias=bias, right={"bias": {"an array"}})
    row(
        "oracle.tolerance",
        x=x,
        w=w,
        problem=problem,
        bias=bias,
        right={"bias": {"an array"}},
    )
    row("support.files.data_path", parts=("networks", "vgg16.csv"), right={"parts": TEXT})
    a = np.ones((4, 8), np.float32)
    row("cpu.gemm_ladder.pack", b=a, cols=4)
    row("cpu.gemm_rungs.rungs", dtype="float32")
    row(
        "cpu.gemm_rungs.Rung",
        name="a",
        change="b",
        kernel=one_by_one,
        tile=small,
        right={"name": TEXT, "kernel": CALLED},
    )
    row("cpu.gemm_rungs.Rung.prepare", rungs()[0].prepare, a=a, b=np.ones((8, 4), "f4"))
    row(
        "cpu.gemm_rungs.Rung.arguments",
        rungs()[0].arguments,
        a=a,
        b=np.ones((8, 4), "f4"),
        y=np.zeros((4, 4), "f4"),
    )
    row("cpu.tile_size.VectorTile", rows=2, vectors=1, lanes=4, dtype="float32")
    row(
        "cpu.tile_size.tile_for",
        dtype="float32",
        rows=4,  # every run asks: Python says what has no hash
        right={"dtype": UNHASHABLE, "rows": UNHASHABLE},
    )
    row("cpu.product_tile.tile_of", problem=problem, right={"problem": UNHASHABLE})
    same("support.units.bytes_text", "support.units.count_text", count=5, right={"count": NUMBER})
    row("support.units.ratio_text", value=5.0, right={"value": NUMBER})
    row("support.units.time_text", seconds=5.0, right={"seconds": NUMBER})

    # networks
    row("networks.layers.load", name="vgg16", batch=1, dtype="float32", named={"name": "network"})
    row(
        "networks.layers.Network.__getitem__",
        convlab.networks.load("vgg16").__getitem__,
        name="features.0",
        right={"name": {"0", "-1"}},
        named={"name": "has no layer"},
    )
    row(
        "networks.model.load_model",
        name="squeezenet1_0",
        size=32,
        batch=1,
        dtype="float32",
        named={"name": "network"},
    )
    model = convlab.networks.load_model("squeezenet1_0", size=32)
    photo = np.full(model.photo_shape, 0.5, np.float32)
    ready = model.prepare("im2row", backend="numpy", progress=False)
    row("networks.model.Model.check_photo", model.check_photo, photo=photo)
    row("networks.model.Model.reference", model.reference, photo=photo, trusted=True)
    row(
        "networks.model.Model.tolerance",
        model.tolerance,
        reference=np.ones((1, 512)),
        rounding=1.0,
        right={"reference": {"an array", "a 0-d array"}, "rounding": TIMES},
    )
    row(
        "networks.model.Model.prepare",
        model.prepare,
        algorithm="im2row",
        backend="numpy",
        threads=1,
        fused=True,
        progress=False,
        right={"algorithm": {"{}"}},
        trusted=True,
    )
    row("networks.executor.Executor.run", ready.run, photo=photo)
    row("networks.executor.Executor.profile", ready.profile, photo=photo, rounds=1, progress=False)

    # a network that learns
    of = "networks.training."
    conv, pool = networks.Conv(problem, backend="numpy"), networks.MaxPool(5)
    tiny = networks.Sequential(conv=conv, dense=networks.Dense((5, 6, 2), 3, backend="numpy"))
    row(
        f"{of}layers.Conv",
        problem=problem,
        seed=0,
        backend="numpy",
        threads=1,
        right={"seed": WHOLE | {"(0, 1, 2)"}},
    )
    row(f"{of}layers.Dense", shape=(5, 6, 2), K=3, dtype="float32")
    row(f"{of}layers.MaxPool", window=2)
    its = {"name": TEXT}
    windows = pool.forward(np.ones((1, 5, 5, 4), np.float32))
    conv.forward(x)
    for layer, before, after in ((conv, x, y), (pool, np.ones((1, 5, 5, 4), np.float32), windows)):
        name = f"{of}layers.{type(layer).__name__}"
        row(
            f"{name}.node", layer.node, name="y", x=Node("x", "input", (), before.shape, "float32"), right=its
        )
        row(f"{name}.forward", layer.forward, x=before)
        row(f"{name}.backward", layer.backward, dy=after)
    row(f"{of}sequential.Sequential", trusted=True)  # all its arguments are layers, by their names
    scores, labels = tiny.forward(x), np.zeros(1, int)
    row(f"{of}sequential.Sequential.nodes", tiny.nodes, N=1)
    row(f"{of}sequential.Sequential.forward", tiny.forward, x=x)
    row(f"{of}sequential.Sequential.backward", tiny.backward, dy=scores)
    row(f"{of}sequential.Sequential.load", tiny.load, parameters=tiny.parameters)
    row(f"{of}sequential.Sequential.predict", tiny.predict, pictures=x)
    for name in ("accuracy", "check"):
        row(f"{of}sequential.Sequential.{name}", getattr(tiny, name), pictures=x, labels=labels)
    row(f"{of}sequential.digits_network", seed=0, dtype="float32", right={"seed": WHOLE})
    settings = {"epochs": 1, "batch": 1, "rate": 0.1, "momentum": 0.5, "decay": 0.1, "seed": 0}
    row(
        f"{of}descent.Training",
        **{"network": tiny, "pictures": x, "labels": labels, **settings},
        right={"epochs": {"10**30"}, "rate": TIMES, "momentum": {"0"}, "decay": TIMES | {"0"}, "seed": WHOLE},
    )
    row(f"{of}checkpointing.checkpointing", nodes=tiny.nodes(1), every=1, right={"every": {"10**30"}})
    less = networks.Checkpointed(1, conv=networks.Conv(problem, backend="numpy"))

    def there_and_back(dy):
        less.forward(x)
        return less.backward(dy)

    row(f"{of}checkpointing.Checkpointed", every=1, trusted=True)
    row(f"{of}checkpointing.Checkpointed.forward", less.forward, x=x)
    row(f"{of}checkpointing.Checkpointed.backward", there_and_back, dy=y)
    training = networks.Training(tiny, x, labels, **settings)
    row(f"{of}descent.Training.run", training.run, progress=False)

    # pictures
    row(
        "figures.charts.bars",
        values={"a": 1.0},
        **one,
        axis="s",
        text=str,
        roles="input",
        log=False,
        ranges={"a": (1.0, 2.0)},
        roof=("roof", 2.0),
        marks={"a": 1.0},
        right={"text": CALLED, "ranges": {"{}"}, "roles": {"{}"}, "marks": {"{}"}},
    )
    timing = {"a": Timing(1.0, 1.0, 1.0)}
    row("figures.charts.times", timings=timing, **one, log=True, layer=problem)
    row(
        "figures.charts.curves",
        lines={"a": {1.0: 2.0}},
        **one,
        x_axis="s",
        y_axis="s",
        roles={"a": "input"},
        dashed={"a": {1.0: 2.0}},
        text=str,
        log=False,
        right={"text": CALLED, "dashed": {"{}"}},
    )
    cut_in_two = distributed.network_roof(problem, cut["split"], chip, link)
    row("figures.network_roof_chart.network_roof", roofs={"a": cut_in_two}, **one)
    row("figures.timeline_chart.timeline", run=distributed.simulate_queue(2, 1.0, 3), **one)
    row("figures.charts.staircase", speeds={1024: 1e9, 2048: 1e9}, **one)
    row("figures.images.gallery", images=pixels, **one, columns=1, width=2.0, right={"width": {"1.5"}})
    row("figures.images.grids", arrays=pixels, **one, roles={"a": "input"}, right={"roles": {"{}"}})
    row("figures.images.counts", arrays={"a": np.ones((3, 4), int)}, **one)
    row("figures.mma_cells.mma_layout", lane=9, right={"lane": {"0"}})
    row("cost.layers.cost_of", layers=(problem,))
    row("figures.picture.photograph", size=4)
    picture = figures.tensors(problem)
    row(
        "figures.picture.Picture",
        png=picture.png,
        alt="Words",
        width=3,
        photo=False,
        layers=(picture.png, picture.png),
        right={"png": {"bytes"}},
    )
    row("figures.picture.show", fig=Made(figure), alt="Words", photo=False)
    row(
        "figures.address_grids.tap_addresses",
        m=2,
        problem=ConvProblem(1, 5, 6, 4, 1, 3, 3, padding=1),
        right={"m": {"0"}},
    )
    judged = model_error.judge(model_error.rows_of(measurement)[:8], speeds)
    row("figures.model_error_chart.model_error", found=judged)
    some = {"passes": ANY_LIST - {"an empty array"}}
    row("benchmark.pass_comparison.measure_passes", problem=problem, passes=["wgrad"], rounds=1, right=some)
    row("benchmark.passes.pass_material", problem=problem, pass_="dgrad")
    row("benchmark.roofline.look_again", line=line, points=[], right={"points": ANY_LIST})
    row("support.measured.fastest", seconds={"a": 1.0, "b": 2.0})
    row(
        "figures.roofline_chart.roofline",
        line=line,
        points=[],
        title="A title",
        beside=[],
        right={"points": ANY_LIST, "beside": ANY_LIST},
    )
    row("figures.roofline_chart.rate_text", roof=line.adds)
    row(
        "figures.gpu_roofline_chart.gpu_roofline",
        line=line,
        steps=[],
        others=[],
        title="A title",
        right={"steps": ANY_LIST, "others": ANY_LIST},
    )
    row("figures.network_chart.network_profile", profile=ready.profile(photo, rounds=1, progress=False))
    row("figures.tensor_boxes.tensors", problem=problem)
    row("figures.chip_levels.chip", machine=datasheets.load("nvidia_h100"))
    row("figures.thread_grid.threads", trace=trace, array="y", kind="st")
    row("figures.thread_charts.thread_shares", problem=problem, threads=2, rows=7, cols=32)
    row("figures.thread_charts.thread_gains", run=measurement, network="resnet18")

    # lessons
    row(
        "lessons.checks.check",
        name="output_size",
        function=lambda *sizes: None,
        named={"name": "exercise"},
        right={"function": set(VALUES)},
    )
    row(
        "lessons.checks.reveal",
        guess=1.0,
        actual=1.0,
        unit="s",
        because="",
        right={"guess": set(VALUES), "actual": NUMBER},
    )  # fmt: skip  a note asks for a number
    row("lessons.tutor.hint", name="output_size", named={"name": "exercise"})
    row("lessons.tutor.solution", name="output_size", named={"name": "exercise"})
    row("interview.coding.begin.begin", name="conv2d_nchw")
    row("interview.coding.begin.find_the_bug", seed=1, right={"seed": {"0"}})
    row("interview.walks.show.walk_through", name="gpu", at=None)
    row("interview.mocks.talk.mock", seed=1, right={"seed": {"0"}})
    row("interview.coding.timed.give_up", task=Made(lambda: begin("conv2d_nchw")))
    prediction = {
        "name": "a prediction",
        "question": "How many?",
        "actual": 3.0,
        "unit": "times",
        "because": "So it is.",
        "misconceptions": {49.0: "The stride!"},
        "figure": picture,
    }
    taken = {"actual": NUMBER, "misconceptions": {"{}"}, **dict.fromkeys(("unit", "because"), TEXT)}
    taken |= {"name": {"'nonsense'"}, "question": {"'nonsense'"}}
    row("lessons.predictions.predict", **prediction, right=taken)
    row("widgets.guess.Guess", **prediction, right=taken | {"name": TEXT})
    words = {"name": {"'nonsense'"}, "statement": {"'nonsense'"}}
    words |= dict.fromkeys(("hand_in", "call", "lines"), TEXT) | {"press": CALLED, "minutes": TIMES}
    row("widgets.task_clock.TaskClock", minutes=30.0, right=words)
    told = {"used": {"0", "1.5", "10**30"}, "stands": {"''"}, "aside": TEXT}
    row("widgets.task_clock.TaskClock.tell", TaskClock().tell, used=60.0, stands="running", right=told)
    launch = {"kernel": access_patterns.side_by_side, "grid": 1, "block": 32}
    row(
        "lessons.checks.trial", **launch, arguments=xy(), named={"arguments": "x"}, right={"arguments": TAKEN}
    )
    row(
        "gpu.simulator.run",
        **launch,
        arguments=xy(),
        blocks=[0],
        traced=True,
        shared_bytes=0,
        accumulate="rounded",
        named={"arguments": "x"},
        right={
            "shared_bytes": {"0"},
            "blocks": ANY_LIST,
            "arguments": TAKEN,
        },
    )

    # widgets
    window = {"stride": 1, "padding": 1}
    row(
        "widgets.sliding_window.SlidingWindow",
        H=6,
        W=8,
        R=3,
        S=3,
        **window,
        dilation=1,
        flip=False,
        step=0,
        right={"step": {"0"}, "padding": {"0", "an array"}, "stride": {"an array"}, "dilation": {"an array"}},
    )
    row("widgets.channel_mixing.ChannelMixing", channels=16, groups=1, size=7, taps=1)
    row(
        "widgets.im2col_fills.Im2colFills",
        H=4,
        W=5,
        C=2,
        R=3,
        S=3,
        **window,
        layout="im2row",
        order="RSC",
        copies=False,
        step=0,
        right={"step": {"0"}, "padding": {"0"}},
    )
    row(
        "widgets.indirection_explorer.IndirectionExplorer",
        H=5,
        W=5,
        C=2,
        R=3,
        S=3,
        **window,
        N=2,
        image=0,
        rows=3,
        step=0,
        right={"step": {"0"}, "padding": {"0"}, "image": {"0"}},
    )
    row(
        "widgets.memory_blowup.MemoryBlowup",
        network="resnet18",
        layer=0,
        batch=1,
        dtype="float32",
        algorithm="im2row",
        right={"layer": {"0"}},
    )
    row(
        "widgets.predicted_times.PredictedTimes",
        network="resnet18",
        layer=0,
        own=None,
        batch=1,
        machine="here",
        slower="nothing",
        right={"layer": {"0"}, "own": {"{}"}},
    )
    row(
        "widgets.pyramid_over_cut.PyramidOverCut",
        layers=5,
        cut=16,
        every=8,
        taps=3,
        stride=1,
        dilation=1,
        H=32,
        W=512,
        C=32,
        flops=1e13,
        latency=1e-5,
        bandwidth=1e10,
    )
    row(
        "widgets.register_tile.RegisterTile",
        rows=7,
        vectors=2,
        registers=32,
        units=2,
        step=0,
        right={"step": {"0"}},
    )
    row(
        "widgets.roofline_explorer.RooflineExplorer",
        network="resnet18",
        layer=0,
        algorithm="indirect",
        batch=1,
        C=0,
        K=0,
        R=0,
        machine=None,
        here=roofs,
        measured=[],
        right={name: {"0"} for name in ("layer", "C", "K", "R")} | {"measured": ANY_LIST},
    )
    row("widgets.spectra.Spectra", kind="blur", taps=7, zeros=2, forget=False, right={"zeros": {"0"}})
    row(
        "widgets.tile_by_tile.TileByTile",
        H=4,
        W=5,
        C=2,
        K=4,
        R=3,
        S=3,
        **window,
        block_m=6,
        block_n=2,
        block_k=6,
        algorithm="implicit_gemm",
        step=0,
        right={"step": {"0"}, "padding": {"0"}},
    )
    row(
        "widgets.tiling_explorer.TilingExplorer",
        layer="layer1.0.conv1",
        batch=8,
        gpu="H100",
        tiling=Tiling(),
        compiled={},
        right={"layer": set(), "compiled": {"{}"}},
    )
    row(
        "widgets.transposed_window.TransposedWindow",
        H=3,
        W=4,
        taps=3,
        stride=2,
        padding=1,
        output_padding=1,
        view="zeros",
        step=0,
        right={name: {"0"} for name in ("padding", "output_padding", "step")},
    )
    row(
        "widgets.warp_microscope.WarpMicroscope",
        traces=trace,
        kernel=0,
        access=0,
        step=0,
        flaw=None,
        right={name: {"0"} for name in ("kernel", "access", "step")},
    )
    row("widgets.winograd_tile.WinogradTile", m=2, dimensions=2, step=0, right={"step": {"0"}})

    # gpu
    row("notebook.random_arrays", problem=problem)
    row("notebook.trace", algorithm="direct", problem=problem, device=Simulator, right={"device": CALLED})
    row("inspect.access_patterns.turned_in_shared", width=33)
    row("algorithms.direct.gpu.one_thread_per_output", dtype="float32")
    row("algorithms.direct.gpu_filter_threads.shared", dtype="float32", R=3, S=3)
    row("gpu.tensor_cores.fragments.one_product", row=16)
    same(
        "algorithms.indirect.gpu.indirect_loader",
        "algorithms.precomputed_gemm.gpu.precomputed_loader",
        "gpu.gemm.load_implicit.implicit_loader",
        "gpu.gemm.load_matrix.matrix_loader",
        tile=tile,
        width=1,
        dtype="float32",
    )
    row("gpu.tensor_cores.product.product", kind="fp16", tile=TILES[-1])
    row(
        "gpu.gemm.kernel.tiled_product",
        tile=tile,
        loader=implicit_loader,
        x_width=1,
        y_width=1,
        dtype="float32",
        columns=1,
        w_width=1,
        apart=False,
        right={"loader": CALLED},
    )
    row("gpu.gemm.outer_product.outer_products", tile=tile, dtype="float32")
    row(
        "gpu.occupancy.occupancy",
        arch="sm_90",
        threads=256,
        registers=64,
        shared_bytes=4096,
        right={"registers": {"0"}, "shared_bytes": {"0"}},
    )
    of_size = GpuSpeeds.of_size(132)
    row("gpu.gemm.heuristics.choose_tile", problem=problem, given=(None, None, None), speeds=of_size)
    row("gpu.gemm.heuristics.estimate", problem=problem, tile=tile, parts=1, speeds=of_size)
    row("gpu.gemm.tile.Tile", block_m=16, block_n=16, block_k=16, thread_m=1, thread_n=1, width=1, buffers=1)
    row("gpu.gemm.tile.Tile.check", tile.check, dtype="float32")
    row("gpu.gemm.tile.Tile.shared_bytes", tile.shared_bytes, dtype="float32")
    for name in ("lanes", "loads_a"):
        row(f"gpu.gemm.tile.Tile.{name}", getattr(tile, name), width=1)
    row("gpu.gemm.tile.Tile.loads_across", tile.loads_across, size=16, width=1)
    row(
        "inspect.tiling.Tiling",
        **{name: 8 for name in ("block_m", "block_n", "block_k", "thread_m", "thread_n")},
        buffers=1,
        split_k=1,
    )
    row("inspect.tiling.Tiling.of", Tiling.of, tile=tile, split_k=1)
    row("inspect.tiling.Tiling.held", Tiling().held, arch="sm_90")
    row("inspect.tiling.tile_traffic", problem=problem, tiling=Tiling())
    row(
        "algorithms.implicit_gemm.gpu.rung",
        name="a",
        tile=tile,
        change="b",
        traffic="c",
        parts=1,
        right={"name": TEXT, "traffic": TEXT},
    )
    kernel_arguments = (np.ones(4, "f4"),)
    if assembly_fault() is None:
        row(
            "gpu.assembly.assemble",
            kernel=_nothing,
            arguments=kernel_arguments,
            arch="sm_90",
            trusted=True,
            right={"arguments": set(VALUES)},
        )
    else:
        SKIPPED["gpu.assembly.assemble"] = "the compiler's tools are not installed here"
    row("inspect.traffic.FirstBlock", traced=True)
    row("gpu.simulated_gpu.Simulator", traced=True, accumulate="rounded")
    row("gpu.device.simulated", traced=True, accumulate="rounded")
    row("gpu.device.using", device=Simulator())
    same(
        "inspect.traffic.first_block",
        "inspect.launches.record_launches",
        "inspect.launches.last_launch",
        problem=problem,
        algorithm="direct",
    )
    row("inspect.traffic.sites", traces=trace, right={"traces": ANY_LIST})
    row("inspect.traffic.global_traffic", traces=trace, kind="ld", right={"traces": ANY_LIST})
    row("algorithms.direct.gpu_filter_traffic.reads", problem=ConvProblem(1, 8, 8, 1, 1, 3, 3))
    row(
        "gpu.simulator.global_memory.poisoned",
        shape=(2, 3),
        dtype="float32",
        right={"shape": {"0", "(0, 1, 2)", "[]", "an array"}, "dtype": AS_NUMPY},
    )
    row("gpu.simulator.trace.Trace.requests", trace.requests, site=trace.sites()[0])
    row("gpu.simulator.trace.Trace.reads", trace.reads, array="x")
    same("gpu.availability.compiler_is_here", "gpu.availability.gpu_is_here", what="a kernel")
    row("inspect.addressing.divisions", functions=(addressing.led,))
    row(
        "inspect.addressing.windows",
        name="led by deltas",
        problem=ConvProblem(1, 3, 3, 1, 1, 3, 3, padding=1),
        x=np.ones((1, 3, 3, 1), np.float32),
        rows=32,
    )

    # measuring
    case = Workload("resnet18", "conv1", problem)
    effort = Effort(rounds=1, most=1, budget=0.0)
    row(
        "auto.autotune.autotune",
        problems=problem,
        threads=1,
        trusted=True,
        right={"problems": ANY_LIST},
    )
    row("benchmark.read_bandwidth.read_speeds", smallest=8192, largest=8192, rounds=1)
    row(
        "benchmark.layers.Workload",
        network="resnet18",
        layer="conv1",
        problem=problem,
        count=1,
        right={"network": TEXT},
    )
    positive = {"1.5", "10**30", "infinity"}
    row(
        "benchmark.comparison.Effort",
        rounds=1,
        most=1,
        budget=0.0,
        slow=6.0,
        patience=1.0,
        right={"budget": positive | {"0"}, "slow": positive, "patience": positive},
    )
    row("auto.timing.material", problem=problem)
    row("benchmark.datasheets.load", name="nvidia_t4", named={"name": "datasheet"})
    row("benchmark.datasheets.gpu_speeds", name="nvidia_h100", named={"name": "datasheet"})
    folder = data_path("measurements")
    row("benchmark.gpu.climb.device_climb", board="nvidia_h100", named={"board": "datasheet"})
    row(
        "benchmark.ladder_prediction.predicted_ladder",
        name="filter",
        board="nvidia_h100",
        named={"name": "ladder", "board": "datasheet"},
    )
    row("benchmark.gpu.times.ladder_times", name="filter", folder=folder, named={"name": "ladder"})
    row(
        "benchmark.gpu.times.layer_times",
        workload=case,
        names=["direct"],
        beside="cuDNN",
        folder=folder,
        right={"names": ANY_LIST, "beside": TEXT},
    )
    rows_right = {"rows": ANY_LIST}
    row("benchmark.model_error.judge", rows=[row_of], speeds=speeds, right=rows_right)
    row(
        "benchmark.model_error.regret",
        rows=[row_of],
        chosen=lambda rows: rows[0].candidate,
        right=rows_right | {"chosen": CALLED},
    )
    row("benchmark.model_error.mean_ratio", judged=judged)
    row("benchmark.model_error.rows_of", measurement=measurement)
    row("benchmark.model_error.speeds_of", measurement=measurement)
    row("benchmark.model_error_tables.errors", judged=judged, right={"judged": ANY_LIST})
    row("benchmark.model_error_tables.prices", measurement=measurement)
    row(
        "benchmark.measure_layer.measure_layer",
        problem=problem,
        names=["im2row"],
        layer="a",
        rounds=1,
        trusted=True,
        right={"names": ANY_LIST},
    )
    row(
        "benchmark.all_cores.layer_gain",
        problem=problem,
        algorithm="im2row",
        threads=1,
        rounds=1,
        trusted=True,
    )
    row("benchmark.all_cores.memory_gain", threads=1, rounds=1, trusted=True)
    row("benchmark.dukhan_2019.compare_three", workload=case, effort=effort, cache="warm", trusted=True)
    row("benchmark.dukhan_2019.three_ways", problem=problem, x=x, w=w)
    row("benchmark.roofline_points.compulsory_bytes", problem=problem)
    row("benchmark.roofline_points.point", problem=problem, algorithm="im2row", seconds=1.0, backend="cpu",
        layer="a", threads=1,
        right={"algorithm": TEXT, "layer": TEXT, "seconds": {"1.5", "10**30"}})  # fmt: skip
    row("benchmark.roofline_points.points", rows=[row_of], right=rows_right)
    row(
        "auto.predict.predict",
        problem=problem,
        algorithm="im2row",
        speeds=speeds,
        threads=1,
        include_packing=False,
    )
    row("benchmark.roofline.of_datasheet", sheet=datasheets.load("nvidia_t4"))
    here = measurement.header
    row(
        "benchmark.roofline.of_machine",
        roofs=here["roofs"],
        machine=here["machine"],
        name="a",
        right={"name": TEXT, "machine": {"{}", "a dict"}},
    )
    row(
        "auto.roofs.multiply_adds",
        threads=1,
        rounds=1,
        seconds=1e-5,
        tile=small,
        loop=lambda flops: flops,
        right={"seconds": {"1.5", "10**30"}, "loop": CALLED},
    )
    row("auto.roofs.flops_after", run=lambda: None, flops=1, right={"run": CALLED})
    row("benchmark.saved_runs.runs", folder=folder, what=CPU)
    row("benchmark.saved.read", path=newest_run(folder))
    row(
        "benchmark.summary.by_kind",
        rows=[row_of],
        ours=["im2row"],
        baselines=None,
        right=rows_right | {name: {*ANY_LIST, "None", "a dict", "texts"} for name in ("ours", "baselines")},
    )
    row("interview.drill_cards.cards", kinds="flops", per_kind=1)
    row("interview.drills.drill", kind="flops", seed=1, right={"seed": WHOLE})
    row(
        "interview.history.answer",
        one=drill("flops", 1),
        text="1.2 GFLOP",
        sure=70,
        right={"text": TEXT, "sure": {"0", "1.5"}},
    )
    row("support.tables.as_text", table=TextTable("a", ("b",), [("c",)]))
    row(
        "auto.timing.compare",
        candidates={"a": lambda: a},
        expected=a,
        limit=0.0,
        rounds=1,
        warm=0,
        right={"limit": {"0", "1.5", "10**30", "infinity"}, "warm": {"0"}},
    )
    return found


def _nothing(x):
    x[0] = 1


def figure():
    """Return an empty matplotlib figure."""
    from matplotlib.figure import Figure

    return Figure(figsize=(1, 1))


def newest_run(folder):
    """Return a saved run that has roofs and overheads."""
    from convlab.benchmark import saved

    for path in sorted(folder.glob("*.csv")):
        header = saved.read(path).header
        if "overheads" in header and "roofs" in header:
            return path
    raise AssertionError("no saved run has overheads")


def convlab_blocks(problem):
    from convlab.inspect.block_footprint import implicit_gemm_blocks

    return implicit_gemm_blocks(problem, 4, 4, 4)[0]
