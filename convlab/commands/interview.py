"""``convlab interview``: the whole interview in a terminal; by itself, drills.

Each command imports what it needs when it runs, so that ``convlab --help`` answers at once.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from convlab.commands.options import Work, number

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
        return
    from convlab.interview import KINDS, terminal
    from convlab.support.checks import check_choice

    if kind is not None:
        check_choice("--kind", kind, KINDS)
    first = None if seed is None else number("--seed", seed, 0, terminal.MOST_SEED)
    many = number("--count", count, 1, 1000)
    if status := terminal.run(memory_of(work), kind, first, many):
        raise typer.Exit(status)


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


def memory_of(work: Path | None) -> ProgressFile:
    """Return where answers are kept: the folder that is named, this one, or the one of `convlab lab`."""
    from convlab.lessons import progress as memory
    from convlab.support.learners_folder import RECORD
    from convlab.workspace import folders, notebooks

    kept, usual = memory.here(), notebooks.ROOT / "work"
    if work:
        return memory.of(folders.work_folder(work))
    if kept.path is None and memory.NAMED not in os.environ and (usual / RECORD).is_file():
        return memory.of(usual)  # called outside of the learner's folder
    return kept


@app.command()
def mock(
    seed: Annotated[
        str | None,
        typer.Option(metavar="INTEGER", help="The same interview for the same seed; by default new."),
    ] = None,
    report: Annotated[
        Path | None, typer.Option("--report", metavar="FILE", help="Write the report to FILE, an .html.")
    ] = None,
    anew: Annotated[bool, typer.Option("--anew", help="Begin it once more, with all the time.")] = False,
    work: Work = None,
) -> None:
    """Take an interview of 45 minutes: drills, code, a question for the whiteboard; and read the report."""
    from convlab.interview.mocks import terminal
    from convlab.support.checks import LARGEST

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

    print(plan_of(memory_of(work)).text(in_terminal=True))
