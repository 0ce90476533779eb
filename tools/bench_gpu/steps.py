"""What is measured on a GPU, the most important first; and the process that takes one step of it.

    roofs         copying, reading from L2, multiplying and adding; what nothing costs
    image         4000x4000 pixels and a filter of 7x7, against a copy of as many bytes
    layers_32     ResNet-18 and SqueezeNet 1.0, 32 images: all our algorithms, all of cuDNN's forms
    depthwise_32  MobileNetV1's depthwise layers, likewise
    ladder        kernels rung by rung
    tiles         every tile of a product by itself
    dgrad_32, wgrad_32   the gradients of ResNet-18's layers and of depthwise ones, 32 images, and cuDNN's
    layers_1, depthwise_1   one image

    python -m tools.bench_gpu.steps JOURNAL STEP

It gets ready, and begins when a line comes on its standard input (`turns.py`).

A candidate whose kernel takes the process with it, or never ends, is named by the line that the journal got
before it ran (`run.py` reads it, and starts another process for the rest).
"""

from __future__ import annotations

import faulthandler
import gc
import os
import signal
import sys
from collections.abc import Iterable
from functools import partial
from pathlib import Path

from convlab.algorithms import ALGORITHMS
from convlab.benchmark import layers
from convlab.benchmark.baselines import at_hand
from convlab.benchmark.comparison import Comparison
from convlab.benchmark.gpu import roofs
from convlab.benchmark.gpu.ladders import Ladder, ladders
from convlab.benchmark.gpu.times import enter_copy
from convlab.benchmark.layers import Workload
from convlab.benchmark.suite import Task
from convlab.errors import ConvError, UnsupportedError, WorkspaceError
from tools.bench_gpu import places, scale, tiles
from tools.bench_gpu.cudnn import BACKWARDS, CUDNN, FLOAT32
from tools.bench_gpu.journal import Journal
from tools.bench_gpu.passes import DevicePass

FOR_PICTURES = "direct", "depthwise"  # the others would multiply matrices of one column
LOST = 75  # exit code of a process whose device does not answer any more
LONGEST = 90.0  # seconds that a candidate may take, compiling included


class DeviceSuite:
    """A whole run.

    Parameters
    ----------
    journal : Journal
        Its header says what was asked for.
    clock : EventClock or StandIn, optional
        Without one the tasks are only listed.
    patience : float, optional
        Seconds that a candidate may take; then this process ends. Without it nothing ends it.
    """

    of_layer, of_pass = Comparison, DevicePass

    def __init__(self, journal: Journal, clock=None, patience: float | None = None):
        self.journal, self.clock, self.patience, self.baselines = journal, clock, patience, []
        options = journal.header["options"]
        self.words, self.place = options["words"], options["place"]
        self.scale, self.on_gpu = scale.scale_at(self.place), self.place == places.GPU
        self._parent = os.getppid()

    def tasks(self) -> list[Task]:
        """Return the tasks, in order; those of one part are one step, and one process.

        To start a process and to compile takes seconds, so there are few.
        """
        size, many = self.scale, self.scale.images
        resnet, squeezenet, depthwise = size.resnet, size.squeezenet, size.depthwise
        climbed = [one for one in ladders() if layers.select([size.of_ladder(one)], self.words)]
        return [
            Task("roofs", "roofs", self._roofs),
            *self._tasks("roofs", "image", [size.picture], self._image),
            *self._tasks("many images", f"layers_{many}", resnet, self._layer, many),
            *self._tasks("many images", f"depthwise_{many}", depthwise, self._layer, many),
            *(Task("ladders", f"ladder {one.name}", partial(self._ladder, one)) for one in climbed),
            *(one for kind in tiles.NUMBERS for one in self._tiles(kind)),
            *self._tasks("gradients", f"dgrad_{many}", [*resnet, *depthwise], self._gradient, many),
            *self._tasks("gradients", f"wgrad_{many}", [*resnet, *depthwise], self._gradient, many),
            *self._tasks("many more images", f"layers_{many}", squeezenet, self._layer, many),
            *self._tasks("one image", "layers_1", resnet, self._layer),
            *self._tasks("one image", "depthwise_1", depthwise, self._layer),
            *self._tasks("one image", "layers_1", squeezenet, self._layer),
        ]

    def _tasks(self, step: str, part: str, group: Iterable[Workload], run, images: int = 1) -> list[Task]:
        found = []
        for one in layers.select(group, self.words):
            label = f"{part}: {one.name}"
            found.append(Task(step, label, partial(run, part, label, layers.in_batches(one, images))))
        return found

    def _tiles(self, numbers: str) -> list[Task]:
        part, layers_3x3 = f"{tiles.PART}_{numbers}", tiles.served(self.scale.resnet)
        return self._tasks("tiles", part, layers_3x3, self._every_tile, self.scale.images)

    # -- the tasks -----------------------------------------------------------------------------------------

    def _roofs(self) -> None:
        if self._begin("roofs", "roofs"):  # who took the process along is not tried again
            count = self.journal.header["device"].get("multiprocessors") or 1
            found = roofs.measure(self.clock, count, sizes=self.scale.roofs)
            if self.on_gpu:
                self.journal.add("roofs", found.as_dict())
        self.journal.keep("roofs")

    def _image(self, part: str, label: str, workload: Workload) -> None:
        comparison = self._comparison(label, workload)
        enter_copy(comparison)
        comparison.enter_ours({name: ALGORITHMS[name] for name in FOR_PICTURES})
        comparison.enter_baselines(one for one in self.baselines if one.name in FLOAT32)
        self._keep(label, comparison, part)

    def _ladder(self, ladder: Ladder) -> None:
        label = f"ladder {ladder.name}"
        comparison = self._comparison(label, self.scale.of_ladder(ladder))
        rungs = list(ladder.rungs().items())
        if self.place == places.SIMULATOR:
            del rungs[2:]  # the higher ones have large tiles, which take the simulator seconds each
        comparison.enter_ours(dict(rungs))
        comparison.enter_baselines(one for one in self.baselines if one.name in FLOAT32)
        self._keep(label, comparison, label)

    def _every_tile(self, part: str, label: str, workload: Workload) -> None:
        comparison = self._comparison(label, workload)
        every = list(tiles.tiles(part.removeprefix(f"{tiles.PART}_")).items())
        comparison.enter_ours(dict(every[-2:] if self.place == places.SIMULATOR else every))
        self._keep(label, comparison, part)

    def _layer(self, part: str, label: str, workload: Workload) -> None:
        comparison = self._comparison(label, workload)
        comparison.enter_ours()
        comparison.enter_baselines(self.baselines)
        self._keep(label, comparison, part)

    def _gradient(self, part: str, label: str, workload: Workload) -> None:
        pass_, _, _ = part.partition("_")
        comparison = self.of_pass(workload, pass_, self.scale.effort, self.clock, **self._told(label))
        comparison.enter_ours()
        comparison.enter_baselines(self.baselines)
        self._keep(label, comparison, part)

    def _comparison(self, label: str, workload: Workload) -> Comparison:
        return self.of_layer(workload, self.scale.effort, self.clock, **self._told(label))

    def _told(self, label: str) -> dict:
        return {"on_attempt": partial(self._begin, label), "on_failure": partial(self._note_failure, label)}

    def _keep(self, label: str, comparison: Comparison, part: str) -> None:
        rows = comparison.rows(part)
        for name in comparison.left_out:
            self.journal.add("left out", [label, name, "it is too slow"])
        self.journal.keep(label, rows)

    # -- who is at work, and who failed --------------------------------------------------------------------

    def _begin(self, label: str, name: str) -> bool:
        """Write down who is tried next; say no if it has failed here before."""
        if os.getppid() != self._parent:  # nobody waits for this any more
            os._exit(1)
        if name in self.journal.failed_on(label):
            return False
        self.journal.add("at", [label, name])
        if self.patience:  # a kernel that never ends is ended
            faulthandler.dump_traceback_later(self.patience, exit=True, file=sys.__stderr__)
        return True

    def _note_failure(self, label: str, name: str, error: Exception) -> None:
        wanting = isinstance(error, WorkspaceError | UnsupportedError)  # memory, or a library
        said = str(error) if isinstance(error, ConvError) else f"{type(error).__name__}: {error}"
        self.journal.add("refused" if wanting else "wrong", [label, name, said.partition("\n")[0]])
        if not self.clock.is_alive():
            os._exit(LOST)  # an ordinary end would ask the lost device to give its memory back


def check_words(words: str, place: str) -> None:
    """Refuse words that choose no layer at all; where there is no GPU there are only the tiny ones."""
    layers.check_words(words, scale.scale_at(place).layers)


def take(journal: Journal, step: str, clock, patience: float | None = None) -> None:
    """Take the tasks of one step that are not done yet."""
    suite, asked = DeviceSuite(journal, clock, patience), journal.header["options"]["baselines"]
    if not (suite.on_gpu and asked):
        reason = "not asked for" if suite.on_gpu else f"there is no GPU: this is the {suite.place}"
        skipped = dict.fromkeys(CUDNN, reason)
    else:
        suite.baselines, skipped = at_hand([*CUDNN.values(), *BACKWARDS])
    journal.add("skipped", skipped)
    for task in suite.tasks():
        if task.part == step and task.label not in journal.done:
            print(f"  {task.label}", flush=True)
            try:
                task.run()
            except Exception as error:  # one layer is lost, the others need not be
                journal.add("failed", {task.label: f"{type(error).__name__}: {error}".partition("\n")[0]})
                if not clock.is_alive():
                    os._exit(LOST)
            faulthandler.cancel_dump_traceback_later()
            gc.collect()  # the next layer may have what this one took, from PyTorch's pool too
            if "torch" in sys.modules and sys.modules["torch"].cuda.is_available():
                sys.modules["torch"].cuda.empty_cache()


def main(path: str, step: str) -> None:
    """Take one step in this process, when its turn has come."""
    from tools.bench_gpu.facts import state
    from tools.bench_gpu.rehearsal import Rehearsal
    from tools.bench_gpu.turns import Turn

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that started this one
    turn, journal = Turn(patience=LONGEST), Journal(Path(path))
    place = journal.header["options"]["place"]
    if place == places.GPU:
        Rehearsal(journal, turn).take(step)
    turn.wait()
    journal.read()  # what the steps before this one have found
    if not journal.header["device"]:
        journal.add("device", places.facts_of(place))
    take(journal, step, places.clock_at(place), LONGEST)
    if place == places.GPU:
        journal.add("states", {step: state()})


if __name__ == "__main__":
    main(*sys.argv[1:])
