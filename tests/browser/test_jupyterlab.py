"""The notebooks' figures in a real JupyterLab, moved by hand; and a whole notebook, run to its end."""

import ast
import time

import nbformat
import pytest
from browser_tools import SLIDERS, drag, moves, open_controls, press_arrow, until
from effort import in_turns, share
from notebook_tools import NOTEBOOKS

from convlab import widgets
from convlab.lessons import progress
from convlab.support.learners_folder import RECORD
from convlab.widgets.shared.live import UNRUN

pytestmark = pytest.mark.browser

TROUBLE = ", ".join(
    (
        "[data-mime-type='application/vnd.jupyter.error']",
        "[data-mime-type='application/vnd.jupyter.stderr']",
        ".jupyter-widgets-error-widget",
        ".cl-alert",
    )
)


def figure_cells(path) -> list:
    """Return the cells of a notebook that show one of our figures, which is what their last line does."""
    shows = tuple(f"{name}(" for name in widgets.__all__)
    code = (cell for cell in nbformat.read(path, as_version=4).cells if cell.cell_type == "code")
    return [cell for cell in code if cell.source.rpartition("\n")[2].startswith(shows)]


def kind(cell) -> str:
    """Return the name of the figure that a cell shows."""
    return cell.source.rpartition("\n")[2].partition("(")[0]


def with_figures(path, kinds):
    """Return the cells of a notebook that show a figure of these kinds, and those that they need."""
    notebook = nbformat.read(path, as_version=4)
    figures, names, kept = {c.id for c in figure_cells(path) if kind(c) in kinds}, set(), []
    for cell in reversed([cell for cell in notebook.cells if cell.cell_type == "code"]):
        tree = list(ast.walk(ast.parse(cell.source)))
        made = {node.id for node in tree if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
        made |= {node.name for node in tree if isinstance(node, ast.FunctionDef | ast.ClassDef)}
        made |= {(node.asname or node.name).partition(".")[0] for node in tree if isinstance(node, ast.alias)}
        if cell.id in figures or made & names:
            kept.append(cell)
            names |= {node.id for node in tree if isinstance(node, ast.Name)}
    return kept[::-1]


def one_of_each(kinds):
    """Yield the cells that show a figure of each of these kinds, from the notebook that shows it first."""
    missing = set(kinds)
    for path in NOTEBOOKS:
        new = {kind(cell) for cell in figure_cells(path)} & missing
        missing -= new
        if new:
            yield from with_figures(path, new)


def put(lab, name, *cells) -> None:
    """Put a notebook of these cells among the learner's."""
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    notebook.metadata = nbformat.read(NOTEBOOKS[0], as_version=4).metadata  # names the kernel
    nbformat.write(notebook, lab.settings.with_name("work") / name)


WRONG_KERNEL = """from convlab.gpu import cuda
from convlab.lessons import check

@cuda.jit
def my_copy(x, y):
    col, row = cuda.grid(2)
    y[row, col] = x[row, col]

check("copy", my_copy)"""


@in_turns
def test_a_wrong_kernel_opens_the_microscope_below_the_words(lab, watched):
    put(lab, "wrong_kernel.ipynb", WRONG_KERNEL)
    one = watched()
    lab.run_all(one.page, "wrong_kernel.ipynb")
    figure = one.page.locator(".jp-OutputArea .cl-microscope")
    figure.wait_for()
    note = one.page.locator(".convlab-note")
    assert "threads beyond the edges" in note.inner_text()
    assert "Out of bounds: x[0, 40]" in figure.inner_text()
    assert note.bounding_box()["y"] < figure.bounding_box()["y"]
    assert one.page.locator(TROUBLE).all_text_contents() == []


def stopped(page) -> list[str]:
    """Return which figures say that they have stopped, and why."""
    return page.locator(TROUBLE).evaluate_all(
        "found => found.map((one) => `${one.closest('.convlab')?.className}: ${one.textContent}`)"
    )


def test_figures_move(lab, watched):
    """Every kind of figure, in one notebook: opening one takes longer than moving what it shows.

    The book's tests move all of them at any time, without a kernel.
    """
    kinds = share(sorted({kind(cell) for path in NOTEBOOKS for cell in figure_cells(path)}))
    notebook = nbformat.read(NOTEBOOKS[0], as_version=4)
    notebook.cells = list(one_of_each(kinds))
    for number, cell in enumerate(notebook.cells):
        cell.id = f"cell-{number}"
    nbformat.write(notebook, lab.settings.with_name("work") / "figures.ipynb")
    one = watched()
    lab.run_all(one.page, "figures.ipynb")
    assert stopped(one.page) == []
    figures = one.page.locator(".jp-OutputArea .convlab")
    assert figures.count() >= len(kinds)
    open_controls(one.page)
    sliders = one.page.locator(SLIDERS)
    assert sliders.count() >= figures.count()
    for slider in sliders.all():
        moves(slider, press_arrow)
        moves(slider, drag)
    assert stopped(one.page) == []
    for number, figure in enumerate(figures.all()):
        figure.scroll_into_view_if_needed()
        one.screenshot(f"lab-{number}")


CELLS = (
    "from convlab.widgets import MemoryBlowup, SlidingWindow\nwindow = SlidingWindow()\nwindow",
    "explorer = MemoryBlowup()\nexplorer",
    "print(f'the kernel has step {window.step} and batch {explorer.batch}')",
)


@in_turns
def test_a_moved_slider_reaches_python(lab, watched):
    put(lab, "moved.ipynb", *CELLS)
    one = watched()
    lab.run_all(one.page, "moved.ipynb")
    told = one.page.get_by_text("the kernel has step")
    step, batch = (
        one.page.get_by_role("slider", name=name) for name in ("output pixel", "batch, in powers of two")
    )
    before = f"the kernel has step {step.input_value()} and batch {2 ** int(batch.input_value())}"
    assert told.last.text_content().strip() == before
    for slider in (step, batch):
        slider.scroll_into_view_if_needed()
        drag(slider)
    after = f"the kernel has step {step.input_value()} and batch {2 ** int(batch.input_value())}"
    assert after.split()[4] != before.split()[4]
    assert after.split()[-1] != before.split()[-1]
    one.page.locator(".jp-CodeCell .cm-content").last.click()
    until(lambda: one.page.get_by_text(after).count() == 1, lambda: one.page.keyboard.press("Control+Enter"))
    assert told.last.text_content().strip() == after
    assert one.page.locator(TROUBLE).all_text_contents() == []


@in_turns
def test_a_link_leads_back_to_a_figure(lab, watched):
    """JupyterLab drops the fragment while it opens a notebook; the figure finds it all the same, and once."""
    shows = [
        "from convlab.widgets import SlidingWindow\nSlidingWindow(H=9)",
        "window = SlidingWindow()\nwindow",
        "print(f'the kernel has stride {window.stride_h}')",
    ]
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in shows])
    notebook.metadata = nbformat.read(NOTEBOOKS[0], as_version=4).metadata
    nbformat.write(notebook, lab.settings.with_name("work") / "linked.ipynb")
    one = watched()
    lab.run_all(one.page, "linked.ipynb")
    figure = one.page.locator(".jp-OutputArea .convlab").nth(1)
    figure.get_by_role("spinbutton", name="stride, vertical").fill("3")
    figure.get_by_role("button", name="Copy link").click()
    one.page.wait_for_url("**/lab/tree/linked.ipynb#SlidingWindow-*:stride_h=3")
    expected = figure.locator(".cl-caption").all_inner_texts()
    fragment = one.page.evaluate("location.hash")

    two = watched()
    lab.run_all(two.page, "linked.ipynb", fragment)
    first, second = (two.page.locator(".jp-OutputArea .convlab").nth(number) for number in (0, 1))
    second.get_by_text("A link brought you here").wait_for()
    assert second.locator(".cl-caption").all_inner_texts() == expected
    assert "this one opens as always" in first.inner_text().lower()
    until(lambda: 0 < second.bounding_box()["y"] < 700)
    assert 0 < second.bounding_box()["y"] < 700
    two.page.locator(".jp-CodeCell .cm-content").last.click()
    two.page.keyboard.press("Control+Enter")
    two.page.get_by_text("the kernel has stride 3").wait_for(timeout=30_000)
    two.page.locator(".jp-CodeCell .cm-content").nth(1).click()
    two.page.keyboard.press("Control+Enter")  # run again it opens as it is written
    two.page.wait_for_function("() => !document.body.innerText.includes('A link brought you here')")
    assert second.get_by_role("spinbutton", name="stride, vertical").input_value() == "1"
    assert two.page.locator(TROUBLE).all_text_contents() == []


@in_turns
def test_a_whole_notebook_in_the_dark_theme(lab, watched):
    one = watched(scheme="dark")
    lab.set_theme("JupyterLab Dark")
    try:
        lab.run_all(one.page, NOTEBOOKS[0].name)
    finally:
        lab.set_theme("JupyterLab Light")
    assert one.page.locator(TROUBLE).all_text_contents() == []
    assert one.page.locator(".jp-OutputArea img").count() > 2
    figures = one.page.locator(".jp-OutputArea .convlab:not(.cl-guess)")
    assert figures.count() == len(figure_cells(NOTEBOOKS[0]))
    assert one.page.locator("body").get_attribute("data-jp-theme-light") == "false"
    figure = one.page.locator(".convlab").first
    paper, ink = figure.evaluate("f => [getComputedStyle(f).backgroundColor, getComputedStyle(f).color]")
    assert brightness(paper) < 60 < 180 < brightness(ink)
    figure.scroll_into_view_if_needed()
    one.screenshot("lab-dark")


def brightness(colour: str) -> float:
    """Return the mean of a CSS colour's red, green and blue, 0 to 255."""
    parts = [float(part) for part in colour.strip("rgba()").split(",")[:3]]
    return sum(parts) / 3


PREDICTS = """
from convlab.lessons import predict

predict("a matrix", question="How large?", actual=12.25, unit="times", because="By the stride.")
"""
SHOWS_CARD = "from convlab.interview import cards\n\ncards('output_size')"
SHOWS_MAP = "from convlab.lessons import course_map\n\ncourse_map()"


@in_turns
def test_a_locked_guess_is_remembered_by_the_next_kernel(lab, watched):
    """It is kept in the learner's folder: the cell shows it again, and so does the map."""
    home = lab.settings.parent / "work" / "mine"
    home.mkdir()
    (home / RECORD).write_text("{}")
    notebook = nbformat.read(NOTEBOOKS[0], as_version=4)
    for name, shows in ("first", SHOWS_CARD), ("second", SHOWS_MAP):
        notebook.cells = [nbformat.v4.new_code_cell(cell) for cell in (PREDICTS, shows)]
        nbformat.write(notebook, home / f"{name}.ipynb")
    one = watched()
    lab.run_all(one.page, "mine/first.ipynb")
    figure = one.page.locator(".convlab.cl-guess").first
    figure.wait_for()
    assert "stride" not in figure.inner_text()
    figure.get_by_role("textbox").fill("49")
    figure.get_by_role("textbox").press("Tab")
    one.page.keyboard.press("ArrowRight")
    one.page.keyboard.press("Shift+Tab")
    one.page.keyboard.press("Enter")  # in the text field, where JupyterLab would not have it
    figure.locator(".cl-verdict").wait_for()
    one.screenshot("a-guess-in-jupyterlab")
    card = one.page.locator(".convlab.cl-drill")
    card.get_by_role("textbox").fill("7")
    card.get_by_role("textbox").press("Enter")
    card.get_by_text("And how sure are you?").wait_for()
    kept = progress.of(home)
    end = time.monotonic() + 20
    while not kept.events() and time.monotonic() < end:
        one.page.wait_for_timeout(100)
    (event,) = kept.events()
    assert (event.kind, event.name) == ("guess", "a matrix")
    assert event.detail == {"guess": 49, "sure": 30, "actual": 12.25, "unit": "times", "noisy": False}

    two = watched()
    lab.run_all(two.page, "mine/second.ipynb")
    figure = two.page.locator(".convlab.cl-guess").first
    figure.locator(".cl-verdict").wait_for()
    assert "You said 49; it is 12.25 times: off 4 times." in figure.inner_text()
    assert "0 of 1 within a factor of two" in two.page.locator(".cl-course").inner_text()
    two.screenshot("the-map-in-jupyterlab")
    assert one.errors == two.errors == []


TASK = (
    "from convlab import interview\ntask = interview.begin('conv2d_nchw')\ntask",
    "again = interview.begin('conv2d_nchw')\nagain",
    "print('Python has', task.look()[0].state)",
)


@in_turns
def test_a_clock_is_the_same_in_all_its_views_and_says_that_its_kernel_is_gone(lab, watched):
    put(lab, "task.ipynb", *TASK)
    one = watched()
    lab.run_all(one.page, "task.ipynb")
    clocks = one.page.locator(".jp-OutputArea .cl-task")
    first, second = clocks.nth(0), clocks.nth(1)
    assert "hidden cases" in first.inner_text()
    face = first.get_by_role("timer")
    moves_on = "([face, before]) => face.innerText !== before"
    one.page.wait_for_function(moves_on, arg=[face.element_handle(), face.inner_text()])
    second.get_by_role("button", name="Pause").click()
    for clock in first, second:
        clock.get_by_role("timer").get_by_text("minutes left, paused").wait_for()
    assert face.inner_text() == second.get_by_role("timer").inner_text()
    one.page.locator(".jp-CodeCell .cm-content").last.click()
    one.page.keyboard.press("Control+Enter")
    one.page.get_by_text("Python has paused").wait_for(timeout=30_000)
    one.screenshot("lab-clock")
    first.get_by_role("button", name="Resume").click()
    second.get_by_role("button", name="Pause").wait_for()
    one.page.get_by_role("menuitem", name="Kernel", exact=True).click()
    one.page.get_by_role("menuitem", name="Restart Kernel").first.click()
    one.page.locator(".jp-Dialog .jp-mod-accept").click()
    first.get_by_role("button", name="Pause").click()
    first.get_by_text("Python does not answer").wait_for(timeout=30_000)
    assert first.get_by_role("button", name="Pause").is_disabled()
    stale = face.inner_text()
    one.page.wait_for_timeout(1200)
    assert face.inner_text() == stale
    one.screenshot("lab-clock-gone")


def restart(page) -> None:
    """Restart the kernel, and nothing else."""
    page.get_by_role("menuitem", name="Kernel", exact=True).click()
    page.get_by_role("menuitem", name="Restart Kernel").first.click()
    page.locator(".jp-Dialog .jp-mod-accept").click()
    page.get_by_text("| Restarting").or_(page.get_by_text("| Connecting")).first.wait_for()
    page.get_by_text("| Idle").first.wait_for(timeout=30_000)


WALKS = "from convlab.interview import walk_through\n\nwalk_through('gpu')"
UNHEARD = (
    "Object.entries(localStorage).filter(([key, kept]) => key.endsWith(', not handed in') && kept !== '[]')"
)


@in_turns
def test_what_no_kernel_heard_of_is_handed_in_to_the_next(lab, watched):
    home = lab.settings.parent / "work" / "unheard"
    home.mkdir()
    (home / RECORD).write_text("{}")
    put(lab, "unheard/cards.ipynb", PREDICTS, WALKS)
    one = watched()
    page = one.page
    lab.run_all(page, "unheard/cards.ipynb")
    restart(page)
    guess, walk = page.locator(".convlab.cl-guess"), page.locator(".convlab.cl-walk")
    guess.get_by_role("textbox").fill("49")
    guess.get_by_role("radio", name="30 %").check()
    guess.get_by_role("button", name="Lock").click()
    walk.get_by_role("button", name="Tick without one").click()
    walk.get_by_role("checkbox").first.check()
    walk.get_by_role("button", name="That is all").click()
    for card in guess, walk:
        card.get_by_text("Python has not answered yet").wait_for(timeout=30_000)
    one.screenshot("lab-unheard")
    kept = progress.of(home)
    assert kept.events() == []
    assert len(page.evaluate(UNHEARD)) == 2
    page.get_by_role("menuitem", name="Run", exact=True).click()
    page.get_by_role("menuitem", name="Run All Cells", exact=True).click()
    until(lambda: len(kept.events()) == 2)
    assert sorted((event.kind, event.name) for event in kept.events()) == [
        ("guess", "a matrix"),
        ("walk", "gpu"),
    ]
    until(lambda: page.evaluate(UNHEARD) == [])
    assert page.evaluate(UNHEARD) == []
    assert "You said 49; it is 12.25 times" in guess.inner_text()
    assert "has not answered" not in guess.inner_text() + walk.inner_text()
    assert one.errors == []


IN_A_ROW = (
    "from ipywidgets import HBox\nfrom convlab.widgets import RooflineExplorer, SlidingWindow\n"
    "HBox([SlidingWindow(), RooflineExplorer()])"
)


@in_turns
def test_a_cell_that_runs_again_leaves_no_figures_behind(lab, watched):
    """And those that stand side by side share the room."""
    put(lab, "again.ipynb", IN_A_ROW)
    one = watched()
    page = one.page
    lab.run_all(page, "again.ipynb")
    figures = page.locator(".jp-OutputArea .convlab")
    assert min(figure.bounding_box()["width"] for figure in figures.all()) > 300
    counts = page.context.new_cdp_session(page)

    def nodes() -> int:
        counts.send("HeapProfiler.collectGarbage")
        return counts.send("Memory.getDOMCounters")["nodes"]

    def again() -> None:
        before = figures.first.get_attribute("id")
        page.locator(".jp-CodeCell .cm-content").first.click()
        page.keyboard.press("Control+Enter")
        another = "(before) => { const [figure] = document.querySelectorAll('.jp-OutputArea .convlab'); "
        page.wait_for_function(another + "return figure && figure.id !== before; }", arg=before)
        page.get_by_text("| Idle").first.wait_for(timeout=30_000)

    again()  # once JupyterLab keeps something of its own
    before, of_both = nodes(), page.locator(".jp-OutputArea .convlab *").count()
    for _ in range(4):
        again()
    assert nodes() - before < of_both
    assert one.errors == []


@in_turns
def test_a_notebook_of_somebody_else_says_what_to_do(lab, watched):
    """JupyterLab lets in no script of another computer: a picture is there, and how to make it move."""
    put(lab, "theirs.ipynb", "from convlab.widgets import SlidingWindow\nSlidingWindow()")
    file = lab.settings.with_name("work") / "theirs.ipynb"
    notebook = nbformat.read(file, as_version=4)
    data = {"text/html": widgets.SlidingWindow().page()}
    notebook.cells[0].outputs = [nbformat.v4.new_output("execute_result", data=data, execution_count=1)]
    nbformat.write(notebook, file)
    one = watched()
    lab.open(one.page, "theirs.ipynb")
    one.page.get_by_text(UNRUN).wait_for()
    assert one.page.locator(".jp-OutputArea img").is_visible()
    lab.run_all(one.page, "theirs.ipynb")
    one.page.locator(".jp-OutputArea .convlab").wait_for()
    assert one.page.get_by_text(UNRUN).count() == 0
    slider = one.page.get_by_role("slider", name="output pixel")
    slider.focus()
    before = slider.input_value()
    one.page.keyboard.press("Control+s")  # also from a slider
    until(lambda: nbformat.read(file, as_version=4).cells[0].execution_count is not None)
    assert nbformat.read(file, as_version=4).cells[0].execution_count == 1
    press_arrow(slider)  # and its other keys stay its own
    assert int(slider.input_value()) == int(before) + 1
    assert one.errors == []
