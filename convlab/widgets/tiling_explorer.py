"""The tiling explorer: tile sizes, and what they cost in registers, shared memory and traffic."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import astuple, replace

import traitlets

from convlab.gpu import occupancy
from convlab.gpu.occupancy import GPUS
from convlab.inspect import tiling
from convlab.inspect.tiling import TROUBLE, Tiling
from convlab.problem import ConvProblem
from convlab.support.checked import checked
from convlab.support.units import bytes_text, plural, ratio_text
from convlab.widgets.shared.layers import distinct_layers, plain_layer
from convlab.widgets.shared.live import Live, Step
from convlab.widgets.shared.traits import Choice, as_word

BLOCKS = ("8", "16", "32", "64", "128", "256")
DEPTHS = ("4", "8", "16", "32")
THREADS = ("1", "2", "4", "8", "16")
SPLITS = ("1", "2", "4", "8", "16")
BATCHES = ("1", "8", "32")
SENTENCES = TROUBLE | {
    "refused": "This block does not start",
    "idle": "{blocks} for the {processors} multiprocessors of {gpu}: {idle} have nothing to do",
    "saved": "{ratio} fewer bytes than with no tile; {blocks} at once, held up by {limit}",
}
_SIZES = ("block_m", "block_n", "block_k", "thread_m", "thread_n", "split_k", "buffers")


LAYERS = distinct_layers("resnet18")
_SQUARE = {"block_m": "64", "block_n": "64", "block_k": "8", "thread_m": "4", "thread_n": "4"}
_LATE = {"layer": "layer4.0.conv2", "batch": "1"}
FIRST_STEPS = (
    Step("The bold row is what this tiling asks of memory: how far is it from no tile, and from the least?"),
    Step("Blocks of 64 × 64, threads of 4 × 4: what does the bold row say now, and what grows?", _SQUARE),
    Step("A late layer, one image: how many multiprocessors have a block, how many none?", _SQUARE | _LATE),
)
FEW_BLOCKS = (  # where it opens with a layer of few blocks
    Step("One image of a late layer: how many multiprocessors have a block to work on, how many none?"),
    Step("Eight blocks share each sum: now more of them run. What does it cost in bytes?", {"split_k": "8"}),
    Step(
        "Smaller blocks instead, 32 × 32: which of the two ways asks memory for fewer bytes?",
        {"block_m": "32", "block_n": "32", "thread_m": "4", "thread_n": "4"},
    ),
)


class TilingExplorer(Live):
    """A layer's matrix product, cut into blocks of threads and tiles of a thread; what that takes, and saves.

    Parameters
    ----------
    layer : str
        A layer of ResNet-18, by the name in its table; of equal ones the first.
    batch : int
        Images: 1, 8 or 32.
    gpu : str
        A name of `convlab.gpu.occupancy.GPUS`.
    tiling : Tiling, optional
        The sizes to open with; powers of two in the ranges of the sliders.
    compiled : mapping of Tiling to int, optional
        Registers that the compiler took for some tilings, to be shown beside the estimate.

    Raises
    ------
    ConvError
        If one of these is not among the choices.

    Examples
    --------
    >>> TilingExplorer(tiling=Tiling(64, 64, 8, 8, 4)).tiling.threads
    128
    """

    sentences = SENTENCES
    measured_here = ("compiled",)
    block_m, block_n, block_k = Choice(BLOCKS, "128"), Choice(BLOCKS, "64"), Choice(DEPTHS, "8")
    thread_m, thread_n = Choice(THREADS, "8"), Choice(THREADS, "8")
    split_k, buffers = Choice(SPLITS), Choice(("1", "2"), "2")
    layer, batch, gpu = Choice(tuple(LAYERS)), Choice(BATCHES, "32"), Choice(tuple(GPUS), "H100")
    choices = traitlets.Dict().tag(sync=True)  # of every slider
    layers, gpus = traitlets.Dict().tag(sync=True), traitlets.Dict().tag(sync=True)
    most = traitlets.Dict().tag(sync=True)  # what a block and a thread may have
    compiled = traitlets.Dict().tag(sync=True)

    @checked
    def __init__(
        self,
        layer: str = "layer1.0.conv1",
        *,
        batch: int = 32,
        gpu: str = "H100",
        tiling: Tiling | None = None,
        compiled: Mapping[Tiling, int] | None = None,
    ):
        opening = tiling or Tiling(128, 64, 8, 8, 8)
        super().__init__(
            **{name: str(getattr(opening, name)) for name in _SIZES},
            **{"layer": layer, "batch": as_word("batch", batch, BATCHES), "gpu": gpu},
            choices={"block_m": BLOCKS, "block_n": BLOCKS, "block_k": DEPTHS, "split_k": SPLITS}
            | {"thread_m": THREADS, "thread_n": THREADS},
            layers={name: plain_layer(name, problem) for name, problem in LAYERS.items()},
            gpus={name: _gpu(*facts) for name, facts in GPUS.items()},
            most=_most(),
            compiled={key_of(one): registers for one, registers in (compiled or {}).items()},
        )

    def lead(self) -> Sequence[Step]:
        """Return the steps: about bytes, or about multiprocessors where it opens with too few blocks."""
        return FEW_BLOCKS if self.batch == "1" else FIRST_STEPS

    @property
    def tiling(self) -> Tiling:
        """The sizes that are shown now."""
        return Tiling(**{name: int(getattr(self, name)) for name in _SIZES})

    @property
    def problem(self) -> ConvProblem:
        """The layer that is shown now."""
        return replace(LAYERS[self.layer], N=int(self.batch))

    def describe(self) -> str:
        """Return the present state in words."""
        one, problem = self.tiling, self.problem
        moved = sum(tiling.tile_traffic(problem, one).values())
        intensity = problem.flops / moved
        arch, _ = GPUS[self.gpu]
        held = 0 if one.trouble else one.held(arch).blocks
        return (
            f"{self.layer}, batch {problem.N}, in blocks of {one.block_m} pixels by {one.block_n} filters, "
            f"{one.block_k} terms at once, {one.thread_m} by {one.thread_n} outputs a thread: "
            f"{one.threads} threads, about {one.registers} registers each, {bytes_text(one.shared_bytes)} of "
            f"shared memory; {plural(held, 'block')} at once on {self.gpu}. The layer asks "
            f"memory for {bytes_text(moved)}, {intensity:.{2 if intensity < 1 else 1}f} FLOPs a byte. "
            f"{one.trouble or self._finding(moved)}."
        )

    def _finding(self, moved: int) -> str:
        """Return what the figure says of a tiling that starts and asks memory for so many bytes."""
        arch, processors = GPUS[self.gpu]
        count = tiling.blocks(self.problem, self.tiling)
        if count < processors:
            idle = {"processors": processors, "gpu": self.gpu, "idle": processors - count}
            return self._say("idle", blocks=plural(count, "block"), **idle)
        held, most = self.tiling.held(arch), sum(tiling.untiled(self.problem).values())
        blocks = plural(held.blocks, "block")
        return self._say("saved", ratio=ratio_text(most / moved), blocks=blocks, limit=held.limited_by)


def key_of(one: Tiling) -> str:
    """Return a tiling as the page writes it; how a sum is split changes no register."""
    return ",".join(map(str, astuple(replace(one, split_k=1))))


def _gpu(arch: str, processors: int) -> dict:
    whole = occupancy.MULTIPROCESSORS[arch]
    return {
        **{"arch": arch, "processors": processors},
        **{"threads": whole.threads, "blocks": whole.blocks, "sharedBytes": whole.shared_bytes},
        **{"registers": occupancy.REGISTERS, "quarters": occupancy.QUARTERS},
        **{"registerUnit": occupancy.REGISTER_UNIT, "sharedUnit": occupancy.SHARED_UNIT},
        "sharedReserved": occupancy.SHARED_RESERVED,
    }


def _most() -> dict[str, int]:
    return {
        **{"threads": tiling.MOST_THREADS, "shared": tiling.MOST_SHARED},
        **{"registers": tiling.MOST_REGISTERS, "others": tiling.OTHERS},
    }
