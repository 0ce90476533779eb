"""The command line: ``convlab lab | start | run | progress | interview | doctor | algorithms | ...``.

Without a command it opens the course, and a notebook's number or name is a command, too, as with ``lab.py``.
Each command imports what it needs when it runs, so that ``convlab --help`` answers at once.
"""

from __future__ import annotations

import codecs
import errno
import json
import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import Annotated

import typer
from typer.core import TyperGroup

from convlab.commands import bench, interview
from convlab.commands.options import Work, number, print_table
from convlab.errors import ConvError, ParameterError


class _Commands(TyperGroup):
    """Knows what is meant where no command is named; a wrong input gets one line and exit code 2."""

    def parse_args(self, ctx, args):
        first = args[0] if args else "-"
        if first.startswith("-") and first not in _OURS:
            args = ["lab", *args]
        elif first not in self.commands and _is_notebook(first):
            args = ["start", *args]
        return super().parse_args(ctx, args)

    def invoke(self, ctx):
        try:
            return super().invoke(ctx)
        except ConvError as error:
            print(f"convlab: {error}", file=sys.stderr)
            raise typer.Exit(2) from None


_OURS = "-h", "--help", "--version"  # all other options are those of `lab`
_HELP = """How does a 2-D convolution actually run? A course in notebooks, and its tools.

Without a command it opens the course, as `lab` does; a notebook is a command, too: `convlab 02`.
"""
app = typer.Typer(
    cls=_Commands,
    help=_HELP,
    context_settings={"help_option_names": ["-h", "--help"]},
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)

Browser = Annotated[bool, typer.Option("--browser/--no-browser", help="Open a browser window.")]
Port = Annotated[
    str | None, typer.Option(metavar="INTEGER", help="Port, 1 to 65535; by default the first free one.")
]
Ip = Annotated[
    str | None, typer.Option(metavar="ADDRESS", help="Address to listen on; by default this machine.")
]


def _say_version(asked: bool) -> None:
    if asked:
        from convlab.support.version import VERSION
        from convlab.workspace import notebooks

        print(f"convlab {VERSION}, the course in {notebooks.ROOT}")
        raise typer.Exit


@app.callback(help=_HELP)
def convlab(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_say_version, is_eager=True, help="Say which course this is."),
    ] = False,
) -> None:
    """Carry the options that stand before a command."""


@app.command()
def lab(
    more: Annotated[
        list[str] | None, typer.Argument(metavar="[-- ARGUMENTS]", help="For JupyterLab itself.")
    ] = None,
    browser: Browser = True,
    port: Port = None,
    ip: Ip = None,
    work: Work = None,
) -> None:
    """Open the course in JupyterLab, on your own copies of the notebooks."""
    from convlab.workspace import copies, folders, notebooks

    at = _port(port, ip)
    for word in more or ():
        if not word.startswith("-"):
            raise ParameterError(f"argument={word!r}; expected options for JupyterLab")
    course = notebooks.course_notebooks()
    folder = folders.work_folder(work)
    made = copies.update(course, folder)
    _report(made, folder)
    _open(folder, made[0].path.name, browser, at, ip, tuple(more or ()))


@app.command()
def start(
    notebook: Annotated[str, typer.Argument(help="Its number or name, e.g. 02.")],
    fresh: Annotated[
        bool, typer.Option("--fresh", help="A fresh copy, beside yours if you changed it.")
    ] = False,
    no_open: Annotated[
        bool, typer.Option("--no-open", help="Only make the copy and print its path.")
    ] = False,
    browser: Browser = True,
    port: Port = None,
    ip: Ip = None,
    work: Work = None,
) -> None:
    """Open one notebook, as your own copy."""
    from convlab.workspace import copies, folders, notebooks

    at = _port(port, ip)
    source = notebooks.find(notebook, notebooks.course_notebooks())
    folder = folders.work_folder(work)
    every = copies.update(notebooks.course_notebooks(), folder)  # it has links to the others
    made = copies.fresh(source, folder) if fresh else next(c for c in every if c.path.name == source.name)
    _report([made], folder)
    if no_open:
        print(made.path)
    else:
        _open(folder, made.path.name, browser, at, ip, ())


@app.command()
def run(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="[NOTEBOOK]...", help="By default all.")
    ] = None,
    mine: Annotated[
        bool, typer.Option("--mine", help="Your own copies, not the course's notebooks.")
    ] = False,
    work: Work = None,
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Where the pages go; by default pages/ of your folder.")
    ] = None,
    timeout: Annotated[
        str, typer.Option(metavar="SECONDS", help="How long one cell may take, at least 1.")
    ] = "300",
) -> None:
    """Execute notebooks from top to bottom and write them as HTML pages, dark on light."""
    from convlab.workspace import folders, home, notebooks

    seconds = number("--timeout", timeout, 1, 86_400)
    mine = mine or work is not None
    there = notebooks.own_notebooks(folders.work_folder(work)) if mine else notebooks.course_notebooks()
    chosen = [notebooks.find(name, there) for name in names or ()] or there
    folder = folders.writable(out or (work or folders.usual_folder()) / "pages", "--out")
    _say_which(work or folders.usual_folder())
    home.settle(folder if out else folder.parent)
    from convlab.support.progress import Steps
    from convlab.workspace.pages import is_ours, make_page

    failures, stems = [], [path.stem for path in chosen]
    for stem in stems:
        folders.replaceable(folder / f"{stem}.html", "--out", is_ours, "a page that `convlab run` wrote")
    with Steps(len(chosen)) as steps:
        for path in chosen:
            steps.begin(path.stem)
            failure = make_page(path, folder, timeout=seconds, others=stems, on_cell=steps.part)
            if failure:
                failures.append(failure)
    for failure in failures:
        print(f"convlab: {failure}", file=sys.stderr)
    print(f"{len(chosen) - len(failures)} of {len(chosen)} ran; the pages are in {folder}")
    if failures:
        raise typer.Exit(1)


@app.command()
def doctor(
    as_json: Annotated[bool, typer.Option("--json", help="The same as JSON.")] = False,
) -> None:
    """Say what this machine has, what is missing, and the command that adds it."""
    from convlab import doctor as examination

    diagnosis = examination.examine()
    print(json.dumps(diagnosis.as_dict(), indent=2) if as_json else diagnosis.describe())
    if not diagnosis.can_run:
        raise typer.Exit(1)


@app.command()
def progress(work: Work = None) -> None:
    """Say how far you are: exercises and predictions of each notebook, and how good your guesses were."""
    from convlab.lessons import progress as memory
    from convlab.lessons.course import Standing, chapters
    from convlab.lessons.map_of_course import CourseMap
    from convlab.workspace import folders

    if work is not None and not os.path.isdir(work):
        raise ParameterError(f"--work={str(work)!r} is no folder that is there; expected yours")
    kept = memory.of(work) if work else memory.here()
    if kept.path is None:  # called outside of the learner's folder: the one that `convlab lab` would open
        kept = memory.of(folders.usual_folder())
    print(CourseMap(chapters(), Standing(kept.events())))
    if trouble := kept.trouble():
        print(f"convlab: {trouble}", file=sys.stderr)


app.add_typer(interview.app, name="interview")
app.add_typer(bench.app, name="bench")


@app.command()
def algorithms() -> None:
    """List the algorithms and the backends that run them."""
    from convlab.algorithms import ALGORITHMS

    print_table(
        ("algorithm", "backends", "what it does"),
        [(name, ", ".join(one.backends), one.summary) for name, one in ALGORITHMS.items()],
    )


@app.command()
def networks(
    name: Annotated[str | None, typer.Argument(help="Show this network's layers.")] = None,
) -> None:
    """List the networks at hand, or the convolution layers of one."""
    from convlab import networks as table
    from convlab.support.units import count_text

    if name is None:
        loaded = [table.load(each) for each in table.names()]
        rows = [(each.name, str(len(each)), f"{count_text(each.macs)}MAC", each.title) for each in loaded]
        print_table(("network", "layers", "work", "from"), rows)
        return
    rows = []
    for layer in table.load(name):
        p = layer.problem
        sizes = f"{p.H}×{p.W}×{p.C}", f"{p.K}×{p.R}×{p.S}", f"{p.P}×{p.Q}×{p.K}"
        rows.append((layer.name, *sizes, f"{count_text(p.macs)}MAC"))
    print_table(("layer", "input H×W×C", "filter K×R×S", "output P×Q×K", "work"), rows)


# -- shared by the commands --------------------------------------------------------------------------------


def _port(port: str | None, ip: str | None) -> int | None:
    """Return the port as a number, if one is given; refuse a port or an address that cannot be."""
    from convlab.workspace import server

    if ip is not None:
        server.check_address(ip)
    return None if port is None else number("--port", port, 1, 65535)


def _is_notebook(word: str) -> bool:
    """Return whether a word that is no command means a notebook; a number does, even if none has it."""
    from convlab.workspace import notebooks

    if word.isdecimal():
        return True
    try:
        return bool(notebooks.find(word, notebooks.course_notebooks()))
    except ConvError:
        return False


def _say_which(folder: Path) -> None:
    """Say which course this is, where another is at hand."""
    from convlab.workspace import folders

    if mixed_up := folders.mixed_up(folder):
        print(f"convlab: {mixed_up}", file=sys.stderr)


def _report(made, folder: Path) -> None:
    """Say in a line what happened to the copies, and which course it is; nothing where all is as ever."""
    from convlab.support.install import course_command

    _say_which(folder)
    names = {
        state: [copy.path.stem for copy in made if copy.state == state]
        for state in ("new", "updated", "behind")
    }
    if names["new"]:
        print(f"Your copies are in {made[0].path.parent} ({len(names['new'])} new).", file=sys.stderr)
    if names["updated"]:
        print(f"Brought up to date: {', '.join(names['updated'])}.", file=sys.stderr)
    for name in names["behind"]:
        print(
            f"{name}: the course has a newer version; yours has your changes and is kept. "
            f"A fresh copy beside it: {course_command(f'start {name[:2]} --fresh')}",
            file=sys.stderr,
        )


def _open(
    folder: Path, notebook: str, browser: bool, port: int | None, ip: str | None, more: tuple[str, ...]
) -> None:
    """Show a notebook in the JupyterLab that already serves the folder, or in a new one."""
    from convlab.workspace import home, server

    home.settle(folder)
    there = server.running(folder) if (ip, more) == (None, ()) else None
    if there and port in (None, there["port"]):
        url = server.address(there, notebook)
        print(f"JupyterLab is already running: {url}")
        server.show(url, browser=browser)
    else:
        if port is not None:
            server.check_port(port, ip)
        print("Starting JupyterLab; Ctrl-C here stops it.", file=sys.stderr)
        server.serve(folder, notebook, browser=browser, port=port, ip=ip, more=more)


def _as_far_as_it_goes(error: UnicodeError) -> tuple[bytes, int]:
    """Return what a console is given for letters that it does not have: `?`.

    In a plain C locale an umlaut of a path came as bytes, not as a letter; they go out as they came in.
    """
    letters = error.object[error.start : error.end]
    return b"".join(bytes([ord(c) & 0xFF]) if "\udc80" <= c <= "\udcff" else b"?" for c in letters), error.end


def main() -> None:
    """Run the command line under its own name, also as ``python -m convlab.cli``."""
    codecs.register_error("convlab", _as_far_as_it_goes)
    for stream in (sys.stdout, sys.stderr):  # a console that cannot print a letter must not stop us
        with suppress(AttributeError, ValueError):
            stream.reconfigure(errors="convlab")
    try:
        try:
            app(prog_name="convlab")
        finally:
            if sys.stdout:
                sys.stdout.flush()  # what cannot be written is said now, and not by Python when it ends
    except OSError as error:
        sys.exit(_cut_off(error))


def _cut_off(error: OSError) -> int:
    """Say what the system refused, unless nobody reads on: `| head` has its lines; return the exit status."""
    if error.errno != errno.EPIPE:
        what = repr(error.filename) if error.filename else "what is said here cannot be written"
        print(f"convlab: {what}: {error.strerror}", file=sys.stderr)
    if sys.__stdout__:
        with open(os.devnull, "w") as nowhere:  # for the rest, which Python would try to write when it ends
            os.dup2(nowhere.fileno(), sys.__stdout__.fileno())
    return 1


if __name__ == "__main__":
    main()
