"""``convlab bench``: how fast this machine is.

Each command imports what it needs when it runs, so that ``convlab --help`` answers at once.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from convlab.commands.options import print_table
from convlab.errors import ParameterError

app = typer.Typer(help="Measure this machine.", no_args_is_help=True, rich_markup_mode=None)


@app.command("cpu")
def bench_cpu(
    quick: Annotated[
        bool, typer.Option("--quick", help="One layer of each class: two minutes instead of twelve.")
    ] = False,
    layers: Annotated[
        str, typer.Option(metavar="NAME", help="Only layers whose name or class holds this.")
    ] = "",
    part: Annotated[
        str, typer.Option(metavar="PART", help="Only this part; passes: forwards and backwards.")
    ] = "",
    baselines: Annotated[
        bool, typer.Option("--baselines/--no-baselines", help="Measure others' libraries, too.")
    ] = True,
    save: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="By default a new file in measurements/ of your folder."),
    ] = None,
) -> None:
    """Run every algorithm on layers of real networks, beside PyTorch and other libraries; save the times."""
    from datetime import datetime

    from convlab.benchmark import bench, report, saved
    from convlab.benchmark.layers import check_words
    from convlab.benchmark.pass_baselines import EVERY
    from convlab.benchmark.suite import Suite
    from convlab.support.progress import Steps
    from convlab.support.tables import as_text
    from convlab.workspace import folders, home

    if layers:
        check_words(layers)
    Suite.check_part(part)
    name = f"cpu-{datetime.now():%Y%m%d-%H%M%S}.csv"
    usual = folders.usual_folder() / "measurements" / name
    path = folders.replaceable(save or usual, "--save", saved.is_ours, saved.OURS)
    home.settle(path.parent if save else usual.parents[1])
    with Steps() as steps:
        measurement, stopped = bench.bench_cpu(
            path,
            quick=quick,
            words=layers,
            part=part,
            baselines=EVERY if baselines else (),
            on_start=steps.expect,
            on_task=lambda task: steps.begin(f"{task.part}: {task.label}"),
        )
    for table in report.tables(measurement):
        print(as_text(table))
    print("\n".join([*report.notes(measurement), saved.what_is_kept(measurement, path)]))
    if stopped:
        print(f"convlab: {stopped}", file=sys.stderr)
        raise typer.Exit(130 if stopped == bench.INTERRUPTED else 1)


@app.command("gpu", add_help_option=False, context_settings={"ignore_unknown_options": True})
def bench_gpu(
    options: Annotated[list[str] | None, typer.Argument(metavar="[OPTIONS]...")] = None,
) -> None:
    """Measure the NVIDIA GPU: its roofs, ladders of kernels, every algorithm beside cuDNN; save the times."""
    import subprocess

    from convlab.support import another_python
    from convlab.workspace import notebooks

    if not (notebooks.ROOT / "tools" / "bench_gpu").is_dir():
        raise ParameterError(
            f"no tools in {notebooks.ROOT}; expected a checkout of the course: an installed convlab comes "
            "without tools/. Clone it, or unpack its source archive, and run there: python -m tools.bench_gpu"
        )
    command = [sys.executable, *another_python.module("tools.bench_gpu"), *(options or ())]
    try:
        raise typer.Exit(subprocess.call(command))
    except KeyboardInterrupt:  # it has said so
        raise typer.Exit(130) from None


@app.command("speeds")
def bench_speeds(
    forget_tuned: Annotated[
        bool, typer.Option("--forget-tuned", help="Also forget what convlab.autotune has measured.")
    ] = False,
    if_unknown: Annotated[
        bool, typer.Option("--if-unknown", help="Only if this machine was not measured yet.")
    ] = False,
) -> None:
    """Measure the speeds by which "auto" chooses, and keep them; shown beside those it went by before."""
    from convlab.auto import machine_file, measure
    from convlab.auto.disturbance import AGAIN, watched
    from convlab.support.progress import Steps

    if if_unknown and (at := machine_file.measured_at()):
        print(f"The speeds of this machine are known; they were measured {at}.")
        return
    with Steps() as steps, watched() as watch:
        steps.expect(measure.steps())
        before, now = measure.renew(forget_tuned=forget_tuned, on_step=steps.begin)
    then = measure.in_words(before) if before else {}
    print_table(
        ("speed", (before and before.model) or "known before", "now"),
        [(name, then.get(name, ""), text) for name, text in measure.in_words(now).items()],
    )
    if not watch.quiet:
        print(f"{watch} {AGAIN}")
    print(machine_file.trouble() or f'"auto" goes by these from now on; kept in {machine_file.folder()}')


@app.command("roofs")
def bench_roofs() -> None:
    """Measure the roofs of this machine: how fast it multiplies and copies at most."""
    from convlab.auto.disturbance import AGAIN, watched
    from convlab.auto.roofs import Roofs

    with watched() as watch:
        print(Roofs.here().describe())
    if not watch.quiet:
        print(f"{watch} {AGAIN}")
