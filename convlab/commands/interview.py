"""``convlab interview``: the whole interview in a terminal; by itself, drills.

Each command imports what it needs when it runs, so that ``convlab --help`` answers at once.
"""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from convlab.commands.options import Work, number, print_table
from convlab.errors import ParameterError

if TYPE_CHECKING:
    from convlab.lessons.progress_file import ProgressFile

app = typer.Typer(
    help="Ask drills with fresh numbers, judge what you type, and remember what you missed.",
    invoke_without_command=True,
    rich_markup_mode=None,
)


@app.callback()
def drills(
    context: typer.Context,
    kind: Annotated[
        str | None, typer.Option(metavar="KIND", help="Only this kind, e.g. flops; by default what is due.")
    ] = None,
    seed: Annotated[
        str | None, typer.Option(metavar="INTEGER", help="The same drills for the same seed; by default new.")
    ] = None,
    count: Annotated[str, typer.Option(metavar="INTEGER", help="How many drills, 1 to 1000.")] = "10",
    work: Work = None,
) -> None:
    """Ask drills with fresh numbers, judge what you type, and remember what you missed."""
    if context.invoked_subcommand is not None:
        return _hand_on(context, context.invoked_subcommand)
    from convlab.interview import KINDS, terminal
    from convlab.support.checks import check_choice

    if kind is not None:
        check_choice("--kind", kind, KINDS)
    first = None if seed is None else number("--seed", seed, 0, terminal.MOST_SEED)
    many = number("--count", count, 1, 1000)
    if status := terminal.run(memory_of(work), kind, first, many):
        raise typer.Exit(status)


def _hand_on(context: typer.Context, name: str) -> None:
    """Let options that stand before a command hold for it, and refuse those that it does not have."""
    known = {one.name for one in context.command.get_command(context, name).params}
    given = {one: value for one, value in context.params.items() if _is_typed(context, one)}
    if foreign := sorted(given.keys() - known):
        raise ParameterError(f"--{foreign[0]} is no option of `{name}`; expected it without")
    context.default_map = {name: {one: str(value) for one, value in given.items()}}


def _is_typed(context: typer.Context, option: str) -> bool:
    source = context.get_parameter_source(option)
    return source is not None and source.name == "COMMANDLINE"


@app.command("walk")
def walk(
    name: Annotated[
        str | None, typer.Argument(help="Which question, e.g. gpu; by default the one you know least of.")
    ] = None,
    work: Work = None,
) -> None:
    """Ask a question for the whiteboard, and go through its points: which of them did you make?"""
    from convlab.interview import WALKS
    from convlab.interview.walks import terminal
    from convlab.support.checks import check_choice

    if name is not None:
        check_choice("NAME", name, WALKS)
    if status := terminal.run(memory_of(work), name):
        raise typer.Exit(status)


Anew = Annotated[bool, typer.Option("--anew", help="Once more from the start, with all the time.")]


@app.command()
def code(
    name: Annotated[
        str | None, typer.Argument(help="The task, e.g. conv2d_nchw; by default all are listed.")
    ] = None,
    anew: Anew = False,
    work: Work = None,
) -> None:
    """Begin a task against the clock, or go on with it; its file is for you to write in."""
    from convlab.interview.coding import terminal

    with _memory(work) as memory:
        if name is None:
            print_table(("task", "time", "how it stands", "next"), terminal.tasks())
        else:
            terminal.begin(name, memory.path and memory.path.parent, anew=anew)


@app.command()
def submit(
    answer: Annotated[str, typer.Argument(metavar="FILE|NAME", help="A file, or the task whose file it is.")],
    work: Work = None,
) -> None:
    """Try an answer on hidden cases, in a process of its own; the exit status is 0 if it is right."""
    from convlab.interview.coding import terminal

    with _memory(work) as memory:
        status = terminal.submit(answer, memory.path.parent if memory.path else Path())
    raise typer.Exit(status)


def _pressing(what: str) -> Callable[[Path | None], None]:
    def command(work: Work = None) -> None:
        from convlab.interview.coding import terminal

        with _memory(work):
            terminal.press(what)

    return command


for _what, _does in {
    "pause": "Stop the clock of the task that runs.",
    "resume": "Let the clock run again that was stopped last.",
    "hint": "Help on with the task that runs; each hint gives away more.",
    "give-up": "Show the solution of the task that runs.",
}.items():
    app.command(_what, help=_does)(_pressing(_what))


@app.command()
def bug(
    seed: Annotated[
        str | None, typer.Argument(metavar="[SEED]", help="Which round; by default the next.")
    ] = None,
    anew: Anew = False,
    work: Work = None,
) -> None:
    """Show a program with one wrong line, and ask which it is and what should stand there."""
    from convlab.interview.coding import terminal
    from convlab.support.checks import LARGEST

    with _memory(work):
        status = terminal.mend(None if seed is None else number("SEED", seed, 0, LARGEST), anew=anew)
    raise typer.Exit(status)


@app.command()
def mock(
    seed: Annotated[
        str | None,
        typer.Option(metavar="INTEGER", help="The same interview for the same seed; by default new."),
    ] = None,
    report: Annotated[
        Path | None, typer.Option("--report", metavar="FILE", help="Write the report to FILE, an .html.")
    ] = None,
    anew: Anew = False,
    work: Work = None,
) -> None:
    """Take an interview of 45 minutes: drills, code, a question for the whiteboard; and read the report."""
    from convlab.interview.mocks import terminal
    from convlab.interview.mocks.report import is_ours
    from convlab.support.checks import LARGEST
    from convlab.workspace import folders

    if report is not None:  # before the 45 minutes
        report = folders.replaceable(report, "--report", is_ours, "a report")
    number_of = None if seed is None else number("--seed", seed, 0, LARGEST)
    if status := terminal.run(memory_of(work), number_of, report, anew=anew):
        raise typer.Exit(status)


@app.command()
def sheet(
    save: Annotated[
        Path | None, typer.Option("--save", metavar="FILE", help="Write it to FILE, a .pdf or an .html.")
    ] = None,
) -> None:
    """Print the cheat sheet, or write it as a page of A4; every number on it is computed now."""
    from convlab.interview import cheat_sheet

    made = cheat_sheet()
    print(made if save is None else f"{made.save(save)} is written; it prints on one page of A4.")


@app.command()
def plan(work: Work = None) -> None:
    """Print a plan for the two days before an interview; what you missed comes first."""
    from convlab.interview.plan import plan_of

    with _memory(work) as memory:
        print(plan_of(memory).text(in_terminal=True))


# -- shared by the commands --------------------------------------------------------------------------------


@contextmanager
def _memory(work: Path | None) -> Iterator[ProgressFile]:
    """Let all be remembered in the learner's folder, and say what stands in the way of that."""
    from convlab.lessons import progress

    memory = memory_of(work)
    try:
        with progress.kept_in(memory):
            yield memory
    finally:  # where a file cannot be read, that is why nothing of it is known
        if trouble := memory.trouble():
            print(f"convlab: {trouble}", file=sys.stderr)


def memory_of(work: Path | None) -> ProgressFile:
    """Return where answers are kept: the folder that is named, this one, or the one of `convlab lab`."""
    from convlab.lessons import progress as memory
    from convlab.support.learners_folder import RECORD
    from convlab.workspace import folders

    if work:
        return memory.of(folders.work_folder(work), f"--work {shlex.quote(str(work))}")
    kept = memory.here()
    if kept.path is None and memory.NAMED not in os.environ:  # called outside of the learner's folder
        usual = folders.usual_folder()
        return memory.of(usual) if (usual / RECORD).is_file() else kept
    return kept
