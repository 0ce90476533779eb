"""The widgets in a page with no kernel: a notebook is run, exported, opened as a file, used by keyboard."""

import re
from dataclasses import replace
from itertools import combinations

import nbformat
import numpy as np
import pytest
from browser_tools import barriers, open_controls
from effort import in_turns
from nbclient import NotebookClient
from nbconvert import HTMLExporter
from widget_kinds import LEADING

import convlab
from convlab import ALGORITHMS, ConvProblem, networks
from convlab.algorithms.precomputed_gemm.offsets import deltas
from convlab.auto import speeds
from convlab.auto.predict import predict
from convlab.cost.layers import cost_of
from convlab.index_map import IndexMap
from convlab.inspect.block_footprint import count
from convlab.inspect.tiling import tile_traffic
from convlab.support.units import bytes_text, count_text, plural, ratio_text, time_text
from convlab.widgets import (
    IndirectionExplorer,
    MemoryBlowup,
    PredictedTimes,
    PyramidOverCut,
    RegisterTile,
    RooflineExplorer,
    SlidingWindow,
    Spectra,
    TileByTile,
    TilingExplorer,
    TransposedWindow,
    WarpMicroscope,
)
from convlab.widgets.channel_mixing import mixing_layer
from convlab.widgets.memory_data import MEMORIES
from convlab.widgets.predicted_times import phases_text
from convlab.widgets.shared.still import WIDTH
from convlab.widgets.winograd_tile import text, tile_of

pytestmark = pytest.mark.browser

CELLS = (
    "from convlab import ConvProblem\nfrom convlab.widgets import *",
    "SlidingWindow(stride=2)",
    "Im2colFills()",
    "MemoryBlowup()",
    "SlidingWindow(4, 4, 2, 2, stride=1, padding=0, step=0)",  # a second of a kind must not disturb the first
    "ChannelMixing()",
    'own = MemoryBlowup(layer="layer2.0.conv2", batch=2)\nown.network = "own"\nown',
    "PyramidOverCut()",
    "RegisterTile()",
    "IndirectionExplorer()",
    "TileByTile()",
    'TileByTile(algorithm="precomputed_gemm", C=4, block_k=2, step=0)',
    "WinogradTile()",
    "Spectra()",
    "TilingExplorer()",
    "TransposedWindow()",
    "WarpMicroscope()",
    "RooflineExplorer()",
    "PredictedTimes()",
    "Guess()",
    "TaskClock()",
)


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    """Return the file of a notebook with all widgets: run, then exported to HTML without any widget state."""
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in CELLS])
    NotebookClient(notebook, timeout=120, kernel_name="python3", store_widget_state=False).execute()
    away = dict.fromkeys(("mathjax_url", "require_js_url", "jquery_url", "mermaid_js_url"), "")
    body, _ = HTMLExporter(**away).from_notebook_node(notebook)
    file = tmp_path_factory.mktemp("export") / "widgets.html"
    file.write_text(body, encoding="utf-8")
    return file


@pytest.fixture
def page(browser, exported):
    """Open the exported page; at the end no error was logged and nothing was asked of any server."""
    page = browser.new_page(viewport={"width": 1100, "height": 900})
    troubles = []
    page.on("pageerror", lambda error: troubles.append(str(error)))
    page.on("console", lambda message: message.type == "error" and troubles.append(message.text))
    asked = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(exported.as_uri())
    page.wait_for_function(
        "count => document.querySelectorAll('.convlab').length === count", arg=len(CELLS) - 1
    )
    open_controls(page)
    yield page
    assert troubles == []
    assert [url for url in asked if not url.startswith(("file:", "data:", "blob:"))] == []
    page.close()


@in_turns
def test_window_slides_on_arrow_keys(page):
    widget = page.locator(".cl-sliding").first
    label = "svg[aria-roledescription='input pixels']"
    assert "y[1, 0]" in widget.locator(label).get_attribute("aria-label")
    widget.get_by_role("slider", name="output pixel").focus()
    page.keyboard.press("ArrowRight")
    page.wait_for_function(
        "() => document.querySelector('.cl-sliding .cl-story').textContent.includes('y[1, 1]')"
    )
    assert "y[1, 1]" in widget.locator(label).get_attribute("aria-label")
    second = page.locator(".cl-sliding").nth(1).locator(".cl-story")
    assert "y[0, 0]" in second.text_content()  # the other window stayed where it was


@in_turns
def test_every_knob_counts(page):
    widget = page.locator(".cl-sliding").first
    widget.get_by_role("spinbutton", name="stride, horizontal").fill("1")
    problem = ConvProblem(1, 6, 8, 1, 1, 3, 3, stride=(2, 1), padding=1)
    widget.get_by_text(f"output, {problem.P} × {problem.Q}").wait_for()
    widget.get_by_role("spinbutton", name="dilation, vertical").fill("3")
    widget.get_by_role("spinbutton", name="R, filter rows").fill("5")
    trouble = widget.locator(".cl-trouble")
    trouble.wait_for(state="visible")
    assert "The filter covers 13 rows" in trouble.text_content()
    widget.get_by_role("button", name="“same” padding").click()
    trouble.wait_for(state="hidden")
    same = ConvProblem(1, 6, 8, 1, 1, 5, 3, stride=(2, 1), padding="same", dilation=(3, 1))
    widget.get_by_text(f"output, {same.P} × {same.Q}").wait_for()


def test_pointing_works_both_ways(page):
    widget = page.locator(".cl-sliding").first
    output = widget.locator("svg[aria-roledescription='output pixels']")
    output.focus()
    page.keyboard.press("ArrowDown")
    page.wait_for_function(
        "() => document.querySelector('.cl-sliding .cl-story').textContent.includes('y[2, 0]')"
    )
    page.keyboard.press("Escape")
    pixels = widget.locator("svg[aria-roledescription='input pixels']")
    box = pixels.locator(".cl-cell").nth(3 * 10 + 4).bounding_box()  # row 2, column 3 of the image
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.wait_for_function(
        "() => document.querySelector('.cl-sliding .cl-story').textContent.includes('x[2, 3]')"
    )
    problem = ConvProblem(1, 6, 8, 1, 1, 3, 3, stride=2, padding=1)
    readers = sum(
        (2, 3) in {(h, w) for h in range(6)[hs] for w in range(8)[ws]}
        for _, (hs, ws) in (problem.inside(r, s) for r in range(3) for s in range(3))
    )
    assert f"read by {readers} output" in widget.locator(".cl-story").text_content()
    assert output.locator("rect.cl-lit").count() == readers


def test_play_walks_to_the_end_and_stops(page):
    widget = page.locator(".cl-sliding").nth(1)
    widget.get_by_role("button", name="play").click()
    widget.get_by_role("button", name="pause").wait_for()
    widget.get_by_text("output 9 of 9").wait_for(timeout=15_000)
    widget.get_by_role("button", name="play").wait_for()


def test_copies_of_a_pixel_are_found(page):
    widget = page.locator(".cl-filling").first
    widget.get_by_role("slider", name="window").focus()
    page.keyboard.press("End")
    widget.get_by_text("window 20 of 20").wait_for()
    image = widget.locator("svg[aria-roledescription='input pixels']")
    image.focus()
    for key in ("ArrowUp", "ArrowUp", "ArrowLeft", "ArrowLeft"):
        page.keyboard.press(key)
    page.wait_for_function(
        "() => /is copied/.test(document.querySelector('.cl-filling .cl-story').textContent)"
    )
    words = widget.locator(".cl-story").text_content()
    times = int(words.split("copied ")[1].split(" ")[0])
    assert widget.locator("svg[aria-roledescription='matrix'] rect.cl-lit").count() == times
    assert f"{times} so far" in words
    widget.get_by_role("radio", name="im2col").check()
    widget.get_by_text("18 × 20").wait_for()


def test_a_block_and_its_counts_are_the_librarys(page):
    widget, shown = page.locator(".cl-tiles").first, TileByTile()
    steps = widget.get_by_role("slider", name="block", exact=True)
    steps.focus()
    page.keyboard.press("ArrowRight")
    for size in (6, 7, 8):
        shown.block_m = size
        number = 2 if size == 6 else 0  # other blocks: back to the first
        total = len(shown.blocks)
        widget.get_by_text(f"block {number + 1} of {total}").wait_for()
        found = count(shown.problem, shown.blocks[number])
        said = " ".join(widget.locator(".cl-counts").inner_text().split())
        assert said == (
            f"{found.cells} cells {found.numbers} numbers of x {ratio_text(found.reuse)} reuse "
            f"{found.padding} padding zeros {bytes_text(found.cells * 4)} scratch "
            f"{found.intensity:.2f} FLOPs for each byte fetched"
        )
        block = shown.blocks[number]
        purple = widget.locator("svg[aria-roledescription='matrix that is never stored'] rect.cl-workspace")
        assert purple.count() == found.cells - found.padding
        assert widget.locator("svg[aria-roledescription='input pixels'] rect.cl-input").count() == 4 * 5 * 2
        assert f"Rows {block.m.start} to {block.m.stop - 1}" in widget.locator(".cl-story").text_content()
        widget.get_by_role("slider", name="block_m").focus()
        page.keyboard.press("ArrowRight")


def test_a_ghost_tells_where_it_would_come_from(page):
    widget = page.locator(".cl-tiles").first
    matrix = widget.locator("svg[aria-roledescription='matrix that is never stored']")
    matrix.focus()
    for key in ("ArrowDown",) * 9:
        page.keyboard.press(key)
    page.wait_for_function(
        "() => /exists nowhere/.test(document.querySelector('.cl-tiles .cl-story').textContent)"
    )
    problem = TileByTile().problem
    _, h, w, c = (int(i) for i in IndexMap(problem).source(9, 6))
    place = int(IndexMap(problem).x_at(9, 6))
    assert f"x[{h}, {w}, {c}], place {place}" in widget.locator(".cl-story").text_content()
    lit = widget.locator("svg[aria-roledescription='input pixels'] text.cl-lit")
    assert lit.all_text_contents() == [str(place)]
    page.keyboard.press("Enter")
    widget.get_by_text("block 8 of 24").wait_for()  # rows 6 to 11 are the second of 4, in 2 x 3 blocks each


def test_the_arrow_follows_the_deltas(page):
    widget = page.locator(".cl-tiles").nth(1)
    steps = widget.get_by_role("slider", name="block", exact=True)
    problem = ConvProblem(1, 4, 5, 4, 4, 3, 3, padding=1)
    next_s, next_r, next_c = (f"{d:+}".replace("-", "−") for d in deltas(problem, 2))
    arrows = widget.locator(".cl-arrow")
    assert arrows.count() == 0  # every row begins at its own start
    steps.focus()
    for name, value in zip(
        ["next_s", "next_s", "next_r"] + ["next_s"] * 2 + ["next_r"] + ["next_s"] * 2 + ["next_c"],
        [next_s, next_s, next_r] + [next_s] * 2 + [next_r] + [next_s] * 2 + [next_c],
        strict=True,
    ):
        page.keyboard.press("ArrowRight")
        widget.get_by_text(f"{name} = {value} led every row here").wait_for()
        assert arrows.count() == 2
    widget.get_by_text(
        f"{next_c} led every row here: 2 rows up (−40), 2 pixels left (−8), 2 channels on (+2)."
    ).wait_for()
    sums = widget.locator("svg[aria-roledescription='output matrix'] text.cl-value")
    assert [words for words in sums.all_text_contents() if words] == ["10/18"]  # once, not in every cell
    widget.get_by_role("button", name="step 2 of 3").click()
    widget.get_by_text("padding; times the weights").wait_for()
    assert int(widget.locator(".cl-count", has_text="numbers of x").locator("b").text_content()) > 0
    widget.get_by_role("radio", name="index map: implicit_gemm").check()
    widget.get_by_text("A matrix product whose left matrix").wait_for()
    assert arrows.count() == 0


def test_a_tile_of_winograd_step_by_step(page):
    widget = page.locator(".cl-winograd")
    story = widget.locator(".cl-story")
    widget.get_by_role("slider", name="step").focus()
    page.keyboard.press("Home")
    widget.get_by_text("step 1 of 5").wait_for()
    outputs = widget.locator("svg[aria-roledescription='outputs']")
    assert outputs.locator(".cl-empty.cl-cell").count() == 4
    page.keyboard.press("End")
    widget.get_by_text("step 5 of 5").wait_for()
    assert outputs.locator(".cl-value").all_text_contents() == [
        text(n) for row in tile_of(2, 2).y for n in row
    ]

    widget.locator("svg[aria-roledescription='transformed pixels']").focus()
    for key in ("ArrowDown", "ArrowRight"):
        page.keyboard.press(key)
    widget.get_by_text("V[1, 1] = d[1, 1] + d[1, 2] + d[2, 1] + d[2, 2] = ").wait_for()
    pixels = widget.locator("svg[aria-roledescription='pixels']")
    assert pixels.locator("rect.cl-lit").count() == 4
    page.keyboard.press("Escape")

    widget.get_by_role("radio", name="4").check()
    widget.get_by_text("36 multiplications instead of 144").wait_for()
    cell = outputs.locator(".cl-cell").nth(0).bounding_box()
    page.mouse.move(cell["x"] + 5, cell["y"] + 5)
    page.wait_for_function(
        "() => /y.0, 0. = /.test(document.querySelector('.cl-winograd .cl-story').textContent)"
    )
    assert story.text_content().endswith(f"= {text(tile_of(4, 2).y[0][0])}.")
    products = widget.locator("svg[aria-roledescription='products']")
    assert products.locator("rect.cl-lit").count() == 25  # AT's first row has five ones
    widget.get_by_role("radiogroup", name="dimensions").get_by_role("radio", name="1").check()
    widget.get_by_text("6 multiplications instead of 12").wait_for()


def test_a_tiling_by_keyboard_and_its_bytes(page):
    widget, shown = page.locator(".cl-tiling"), TilingExplorer()
    now = widget.locator(".cl-costs tr.cl-now")

    def said():
        count = tile_traffic(shown.problem, shown.tiling)
        return "this tiling" + "".join(map(bytes_text, (*count.values(), sum(count.values()))))

    assert now.text_content().startswith(said())
    widget.get_by_role("slider", name="block_n").focus()
    page.keyboard.press("ArrowLeft")
    shown.block_n = "32"
    widget.get_by_text("128 × 32, 64 threads").wait_for()
    assert now.text_content().startswith(said())
    assert widget.locator("path.cl-threads").get_attribute("d").count("M") == 128 // 8 - 1 + 32 // 8 - 1
    assert f"{shown.tiling.registers} registers, by estimate" in widget.text_content()
    widget.get_by_role("combobox", name="layer of ResNet-18").select_option("layer4.0.conv2")
    widget.get_by_role("radio", name="1", exact=True).check()
    widget.get_by_text("16 blocks for the 132 multiprocessors of H100").wait_for()
    widget.get_by_role("slider", name="split_k").focus()
    for _ in range(3):
        page.keyboard.press("ArrowRight")
    widget.get_by_text("128 blocks for the 132").wait_for()
    widget.get_by_role("slider", name="thread_m").focus()
    page.keyboard.press("End")
    widget.get_by_role("slider", name="thread_n").focus()
    page.keyboard.press("End")
    widget.get_by_text("This block does not start").wait_for()
    trouble = widget.locator(".cl-tiling-trouble").text_content()
    assert "a block would have 16 threads, and a warp has 32" in trouble
    for name in ("thread_m", "thread_n"):  # as small as they can be
        widget.get_by_role("slider", name=name).focus()
        page.keyboard.press("Home")
    widget.get_by_text("128 × 32, 4,096 threads").wait_for()
    assert (
        widget.locator("path.cl-threads").get_attribute("d") == ""
    )  # lines so close would be a black square
    assert "a thread reads 1 + 1 from shared memory for 1, 0.25 FLOPs for each byte" in widget.text_content()
    assert re.search(r"\D0\.\d\d$", widget.locator(".cl-costs tr").nth(1).text_content())


def test_a_point_moves_under_the_roofs(page):
    widget, shown = page.locator(".cl-roofline"), RooflineExplorer()
    now, title = widget.locator(".cl-costs tr.cl-now"), widget.locator(".cl-title")

    def said():
        one = shown.point
        return (
            f"{bytes_text(one.moved)}{one.counted:.3g}{count_text(one.speed)}FLOP/s{time_text(one.seconds)}"
        )

    assert now.text_content().endswith(said())
    assert "measured" in widget.locator(".cl-costs").text_content()
    dot = widget.locator("circle.cl-stands")
    before = float(dot.get_attribute("cx"))
    widget.get_by_role("slider", name="K, filters").focus()
    for _ in range(6):
        page.keyboard.press("ArrowLeft")
    shown.K = 8
    widget.get_by_text("a layer like layer1.0.conv1").wait_for()
    assert now.text_content().endswith(said())
    assert float(dot.get_attribute("cx")) < before  # fewer filters: less work for each byte
    assert widget.locator("circle.cl-trail").count() > 4
    assert widget.locator(".cl-costs tr").count() == 3  # nobody measured a layer like it
    widget.get_by_role("combobox", name="machine").select_option("nvidia_h200")
    shown.machine = "nvidia_h200"
    widget.get_by_text("nobody measured it here").wait_for()
    assert now.text_content().endswith(said())
    assert widget.locator(".cl-roof.cl-promised").count() == 2
    widget.get_by_role("combobox", name="network").select_option("mobilenet_v1")
    widget.get_by_role("combobox", name="layer").select_option(label="conv_dw_7")
    widget.get_by_role("combobox", name="algorithm").select_option("depthwise")
    title.get_by_text("conv_dw_7 with depthwise").wait_for()
    assert widget.get_by_role("slider", name="K, filters").is_disabled()
    widget.get_by_role("combobox", name="algorithm").select_option("winograd_4x4")
    widget.get_by_role("slider", name="R, taps").focus()
    page.keyboard.press("ArrowRight")
    title.get_by_text("winograd_4x4 does not serve a layer like conv_dw_7").wait_for()
    assert "the filter is 5x5; winograd_4x4 needs 3x3" in widget.text_content()


def test_predicted_times_by_keyboard(page):
    widget, shown = page.locator(".convlab.cl-predicted"), PredictedTimes()
    title, rows = widget.locator(".cl-title"), widget.locator(".cl-line")

    def first():
        return shown.words().partition(". ")[0]

    def words(name):
        return phases_text(name, predict(shown.problem, name, shown.speeds))

    assert title.text_content() == first()
    served = [one for one in shown.words().partition("These do not")[0].split("; ")]
    assert rows.count() == len(served)
    assert rows.filter(has_text="chosen").count() == 1
    widget.get_by_role("combobox", name="layer", exact=True).select_option("layer4.0.conv2")
    widget.get_by_role("radio", name="moving").check()
    widget.get_by_text("caches and memory ten times slower").wait_for()
    shown = PredictedTimes(layer="layer4.0.conv2", slower="moving")
    assert title.text_content() == first()
    looked = widget.get_by_role("radio", name="im2row")
    looked.focus()
    page.keyboard.press("Space")
    widget.get_by_text(words("im2row")).wait_for()
    page.keyboard.press("ArrowDown")  # the list is in the order of the bars
    widget.get_by_text(words("implicit_gemm")).wait_for()
    table = widget.get_by_role("row", name="fill the matrix").locator("td").all_text_contents()
    part = predict(shown.problem, "implicit_gemm", shown.speeds).parts[0]
    assert table == ["0", *(time_text(t) for t in (part.moving, part.beginning, part.seconds))]

    widget.get_by_role("slider", name="R = S, taps").focus()
    page.keyboard.press("ArrowLeft")
    widget.get_by_text("your layer: the model chooses").wait_for()
    own = {"H": 7, "C": 512, "K": 512, "R": 1}
    shown = PredictedTimes(own=own, slower="moving")
    assert title.text_content() == first()
    refused = widget.locator(".cl-refused").text_content()
    for name, algorithm in ALGORITHMS.items():
        assert (algorithm.supports(shown.problem) or name) in refused or name not in refused
    assert "winograd_2x2: the filter is 1x1" in refused
    widget.get_by_role("radio", name="one each").check()
    widget.get_by_text("512 groups").wait_for()
    shown = PredictedTimes(own=own | {"depthwise": True}, slower="moving")
    assert title.text_content() == first()
    assert widget.get_by_role("slider", name="K, filters").is_disabled()


def test_a_phase_under_the_pointer(page):
    widget = page.locator(".convlab.cl-predicted")
    row = widget.locator(".cl-line").filter(has=page.get_by_role("radio", name="winograd_2x2"))
    parts = predict(PredictedTimes().problem, "winograd_2x2", speeds.speeds()).parts
    bars = row.locator(".cl-pass")  # the first is the call
    at = next(i for i, part in enumerate(parts) if part.name == "multiply")
    bars.nth(1 + at).hover()
    widget.get_by_text(f"winograd_2x2, multiply: {time_text(parts[at].computing)} computing").wait_for()
    first, products = (bars.nth(1 + i).bounding_box()["width"] for i in (0, at))
    assert products / first == pytest.approx(parts[at].seconds / parts[0].seconds, rel=0.2)


def test_network_and_batch(page):
    widget = page.locator(".cl-memory").first
    widget.get_by_role("combobox", name="network").select_option("vgg16")
    widget.get_by_text("features.2: the im2row workspace is 9.0× its input").wait_for()
    widget.get_by_role("slider", name="batch, in powers of two").focus()
    page.keyboard.press("ArrowRight")
    widget.get_by_text("x 2 × 224 × 224 × 64").wait_for()
    chart = widget.locator("svg[aria-roledescription='bar chart']")
    chart.focus()
    page.keyboard.press("ArrowRight")
    widget.get_by_text("features.5: the im2row workspace").wait_for()
    assert "features.5" in chart.get_attribute("aria-label")
    radio = widget.get_by_role("radio", name="im2row")
    radio.focus()
    page.keyboard.press("ArrowDown")
    widget.get_by_text("features.5: the im2col workspace").wait_for()
    page.keyboard.press("ArrowUp")  # focus is still in the list
    widget.get_by_text("features.5: the im2row workspace").wait_for()


def test_every_algorithm_can_be_chosen(page):
    widget = page.locator(".cl-memory").first
    shown = MemoryBlowup().problem
    for name, algorithm in ALGORITHMS.items():
        widget.get_by_role("radio", name=name, exact=True).check()
        refused = algorithm.supports(shown)
        widget.get_by_text(f"{name} does not serve" if refused else f"{name} workspace = ").first.wait_for()
        words = widget.text_content()
        assert not any(slip in words for slip in ("[object", "undefined", "NaN", "null"))


def test_the_story_of_a_window_adds_up(page):
    story = page.locator(".cl-sliding").first.locator(".cl-story")
    assert "9 taps: 6 on pixels, 3 on padding" in story.text_content()


def test_peaks_and_memories_are_drawn(page):
    widget = page.locator(".cl-memory").first
    rows, lines = widget.locator(".cl-line"), widget.locator(".cl-memory-line, .cl-mark")
    assert lines.count() == 0
    chart = widget.locator("svg[aria-roledescription='bar chart']")
    chart.focus()
    page.keyboard.press("End")
    for batch in (1, 2048):
        widget.get_by_role("spinbutton", name="batch N").fill(str(batch))
        network = networks.load("resnet18", batch=batch)
        widget.get_by_text(f"x {batch} × 7 × 7").wait_for()
        algorithm = convlab.ALGORITHMS["im2row"]
        peak = max(network, key=lambda layer: algorithm.workspace_bytes(layer.problem))
        largest, last = (algorithm.workspace_bytes(layer.problem) for layer in (peak, network.layers[-1]))
        row = rows.filter(has=page.get_by_role("radio", name="im2row"))
        assert row.locator(".cl-summit").text_content() == f"peak {bytes_text(largest)} at {peak.name}"
        assert bytes_text(last) in row.locator(".cl-value-text").text_content()
        bar = row.locator(".cl-length").evaluate("bar => [bar.style.cssText, bar.clientWidth]")
        share, now = (float(part.split(":")[1]) for part in bar[0].rstrip(";").split(";"))
        assert share == pytest.approx(largest / max(largest, network.layers[-1].problem.w_bytes))
        assert now == pytest.approx(last / largest)
        assert bar[1] > 100
    within = sum(size <= largest for size in MEMORIES)
    assert 0 < within < 4
    assert lines.count() == 2 * within  # in both charts
    names = widget.locator(".cl-mark span")
    assert names.all_text_contents() == [f"{size >> 30} GiB" for size in MEMORIES][:within]
    boxes = [name.bounding_box() for name in names.all()]
    for one, two in combinations(boxes, 2):  # none hides another
        beside = one["x"] + one["width"] <= two["x"]
        assert beside or two["y"] + two["height"] <= one["y"] + 0.5
    assert widget.locator("svg .cl-tick", has_text="GiB").count() >= within


def test_own_layer(page):
    widget = page.locator(".cl-memory").nth(1)
    widget.get_by_role("spinbutton", name="C of your layer").fill("192")
    problem = ConvProblem(2, 28, 28, 192, 128, 3, 3, padding=1)
    widget.get_by_text("x 2 × 28 × 28 × 192").wait_for()
    assert f"= {problem.P * problem.Q * 2 * 9 * 192 * 4:,} B" in widget.locator(".cl-formulas").text_content()
    widget.get_by_role("spinbutton", name="groups of your layer").fill("5")
    widget.get_by_text("groups = 5 does not divide C = 192").wait_for()


def test_groups_by_slider_and_by_pointing(page):
    widget = page.locator(".cl-mixing")
    layer = ConvProblem(1, 28, 28, 256, 256, 3, 3, padding=1)

    def row(name):
        return widget.get_by_role("row", name=name).locator("td").all_text_contents()

    widget.get_by_role("slider", name="groups").focus()
    page.keyboard.press("End")
    widget.get_by_text("256 groups: every filter reads 1 channel of 256").wait_for()
    depthwise = replace(layer, groups=256)
    for name, cost in (
        ("full 3 × 3", cost_of(layer)),
        ("depthwise 3 × 3", cost_of(depthwise)),
        ("1 × 1, all channels", cost_of(mixing_layer(layer))),
        ("these two together", cost_of(depthwise, mixing_layer(layer))),
    ):
        expected = [count_text(cost.flops), count_text(cost.weights), bytes_text(cost.bytes)]
        assert row(name) == [*expected, f"{cost.intensity:.1f}"]
    grid = widget.locator("svg[aria-roledescription='channel mixing matrix']")
    assert grid.locator("rect.cl-filter").count() == 16
    grid.focus()
    page.keyboard.press("ArrowDown")
    widget.get_by_text("filters 16 to 31, channels 0 to 15: other groups").wait_for()
    page.keyboard.press("ArrowRight")
    widget.get_by_text("every filter reads one of them, its own").wait_for()
    page.keyboard.press("Escape")
    widget.get_by_text("Each number of x meets 9 weights").wait_for()
    widget.get_by_role("slider", name="groups").focus()
    page.keyboard.press("Home")
    widget.get_by_text("Every filter reads all 256 channels").wait_for()
    assert grid.locator("rect.cl-filter").count() == 256
    widget.get_by_role("radio", name="16", exact=True).check()
    widget.get_by_text("Every filter reads all 16 channels").wait_for()
    widget.get_by_role("spinbutton", name="R and S").fill("1")
    widget.get_by_text("16 × 1 × 1").wait_for()


def test_a_cut_by_keyboard_and_by_dragging(page):
    """All that is said of a state is what Python says of it."""
    widget, title = page.locator(".cl-pyramid"), page.locator(".cl-pyramid .cl-title")

    def shown(**state):
        expected = PyramidOverCut(**state)
        page.wait_for_function(
            "words => document.querySelector('.cl-pyramid .cl-title').textContent === words",
            arg=expected._finding(expected.at[1]),
        )
        story = widget.locator(".cl-story").text_content()
        assert story == f"{expected._border()}. {expected._verdict()}."
        striped = sum(line.twice for line in expected.lines)
        assert widget.locator("svg [data-both]").count() == striped
        return striped

    assert shown() == 20
    cut = widget.get_by_role("slider", name="cut through the result")
    cut.focus()
    for key in ("Home", "ArrowRight", "ArrowRight"):
        page.keyboard.press(key)
    assert cut.get_attribute("aria-valuetext") == "machine 1 computes 3 rows of the result, machine 2 29"
    assert shown(cut=3) == 19  # the picture ends before the pyramid does
    assert cut.evaluate("node => node === document.activeElement")

    box, picture = cut.locator("circle").bounding_box(), widget.locator("svg").bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.mouse.down()
    page.mouse.move(picture["x"] + picture["width"] * 0.4, box["y"] + 90, steps=5)
    page.mouse.up()
    row = int(cut.get_attribute("aria-valuenow"))
    assert 10 < row < 20
    shown(cut=row)

    widget.get_by_role("radio", name="every 2 layers").check()
    widget.get_by_role("slider", name="layers").focus()
    page.keyboard.press("ArrowRight")
    assert shown(cut=row, every=2, layers=6) == 6
    widget.get_by_role("radio", name="1 × 1").check()
    assert shown(cut=row, every=2, layers=6, taps=1) == 0
    assert widget.locator(".cl-line.cl-chosen").count() == 0
    widget.get_by_role("radio", name="5 × 5").check()
    widget.get_by_role("radiogroup", name="stride of the first layer").get_by_role("radio", name="2").check()
    widget.get_by_role("slider", name="latency").press("End")
    shown(cut=round(row / 2), every=2, layers=6, taps=5, stride=2, latency=0.1)
    assert "once (recompute)" in widget.locator(".cl-line.cl-chosen").inner_text()
    assert "Border sent every 2 layers" in title.text_content()


def test_a_tile_fills_and_spills(page):
    widget = page.locator(".cl-tile")
    rows, vectors = (widget.get_by_role("slider", name=name, exact=True) for name in ("rows", "vectors"))
    for slider, _size in ((rows, 14), (vectors, 4)):
        slider.focus()
        page.keyboard.press("End")
    bounds = RegisterTile(14, 4).bounds
    assert (bounds.rows, bounds.vectors) == (14, 4)
    widget.get_by_text(f"14 × 4 does not fit: {plural(bounds.spilled, 'sum')} too many").wait_for()
    registers = widget.locator("svg[aria-roledescription='registers']")
    kinds = ("filter", "input", "output")
    drawn = [registers.locator(f"rect.cl-cell.cl-{kind}").count() for kind in kinds]
    assert drawn == [bounds.vectors, 1, bounds.multiply_adds]
    homeless = registers.locator("rect.cl-homeless")
    assert homeless.count() == bounds.spilled
    assert registers.locator("rect.cl-homeless.cl-output").count() == bounds.spilled  # sums, and no load
    widget.get_by_role("slider", name="step k").focus()
    page.keyboard.press("End")
    sums = widget.locator("svg[aria-roledescription='tile of sums']")
    totals = [int(text) for text in sums.locator("text.cl-value").all_text_contents()]
    shown = RegisterTile()
    assert totals == (np.array(shown.a) @ np.array(shown.b)).ravel().tolist()
    sums.focus()
    page.keyboard.press("ArrowRight")
    widget.get_by_text("in lane 1 of vector 0").wait_for()


def test_what_a_change_rebuilds(page):
    widget = page.locator(".cl-indirection")
    title, change = widget.locator(".cl-title"), widget.locator(".cl-change")
    assert title.text_content() == "25 output pixels, each with 9 places in the table, one for each tap"
    fresh = widget.locator("svg[aria-roledescription='indirection buffer'] rect.cl-fresh")
    assert fresh.count() == 0  # nothing is old: all of it has just been built
    widget.get_by_role("button", name="step 3 of 3").click()
    widget.get_by_text("part: H from 4 to 5").wait_for()
    assert title.text_content() == "Part of the buffer is new: 4 of 9 tiles"
    assert fresh.count() == 4 * 9 * 3
    widget.get_by_role("spinbutton", name="batch N").fill("3")
    widget.get_by_text("nothing: N from 2 to 3").wait_for()
    assert fresh.count() == 0
    widget.get_by_role("spinbutton", name="W", exact=True).fill("6")
    widget.get_by_text("all: W from 5 to 6").wait_for()
    widget.get_by_role("spinbutton", name="H", exact=True).fill("7")
    widget.get_by_text("part: H from 5 to 7").wait_for()
    shown = IndirectionExplorer(H=7, W=6, N=3)
    shown.was = shown.was | {"H": 5}
    assert title.text_content() == shown.words().rpartition(". ")[2].rstrip(".")
    widget.get_by_role("spinbutton", name="padding").fill("0")
    widget.get_by_text("all: padding from 1 to 0: another plan").wait_for()
    assert "padding" in change.text_content()


def test_places_and_pixels_find_each_other(page):
    widget = page.locator(".cl-indirection")
    story = widget.locator(".cl-story")
    widget.get_by_role("spinbutton", name="image of the batch").fill("1")
    widget.get_by_text("each + 50 for image 1").wait_for()
    buffer = widget.locator("svg[aria-roledescription='indirection buffer']")
    lit = buffer.locator("rect.cl-lit")
    assert lit.count() == 9
    buffer.focus()
    page.keyboard.press("ArrowDown")  # from tile 1 to tile 2, its last pixel, tap (0, 0)
    widget.get_by_text("tap r = 0, s = 0").wait_for()
    assert "50 + 4 = 54" in story.text_content()
    assert lit.count() == 1
    page.keyboard.press("Enter")
    page.keyboard.press("Escape")
    widget.get_by_text("pixel 9 of 25").wait_for()
    cells = buffer.locator("rect.cl-cell")
    cells.nth(0).hover()
    widget.get_by_text("−1 + 50 would be a wrong pixel").wait_for()
    assert widget.locator("svg[aria-roledescription='row of zeros'] rect.cl-lit").count() == 2
    pixels = widget.locator("svg[aria-roledescription='input pixels']")
    pixels.locator("rect.cl-cell").nth(2 * 7 + 2).hover()
    widget.get_by_text("x[1, 1] is pointed at 9 times, and copied never").wait_for()
    assert lit.count() == 9


def test_zeros_by_key_and_by_dragging(page):
    widget = page.locator(".cl-spectra-figure")
    words = widget.locator(".cl-story")
    assert f"{int(Spectra().through.wrong.sum())} of 1024 outputs are wrong" in words.text_content()
    widget.get_by_role("slider", name="zeros behind the picture").focus()
    for _ in range(4):
        page.keyboard.press("ArrowRight")
    widget.get_by_text("All 1024 outputs are right: 6 zeros are enough for 7 × 7 taps").wait_for()
    picture = widget.locator("canvas").first
    picture.scroll_into_view_if_needed()
    box = picture.bounding_box()
    cell = box["width"] / (32 + 14)
    page.mouse.move(box["x"] + 38 * cell, box["y"] + 9)
    page.mouse.down()
    page.mouse.move(box["x"] + 35 * cell, box["y"] + 9)
    page.mouse.up()
    wrong = int(Spectra(zeros=3).through.wrong.sum())
    widget.get_by_text(f"{wrong} of 1024 outputs are wrong: their windows reach 6 pixels further").wait_for()
    widget.get_by_role("radio", name="shift").check()
    widget.get_by_role("checkbox", name="forget the conjugate").check()
    wrong = int(Spectra("shift", zeros=3, forget=True).through.wrong.sum())
    widget.get_by_text(f"{wrong} of 1024 outputs are wrong: without the conjugate").wait_for()
    assert f"{wrong} pixels wrong" in widget.locator("canvas").nth(2).get_attribute("aria-label")


def test_paint_follows_a_page_that_turns_dark(page):
    """The taps of a filter that detects edges are painted in the colour of ink."""
    widget = page.locator(".cl-spectra-figure")
    widget.get_by_role("radio", name="edges").check()
    widget.get_by_text("edges, 7 × 7").wait_for()
    ink = "canvas => canvas.getContext('2d').getImageData(3, 3, 1, 1).data[0]"
    filters = widget.locator("canvas").nth(1)
    light = filters.evaluate(ink)
    page.evaluate("document.documentElement.dataset.theme = 'dark'")
    page.wait_for_function(f"canvas => ({ink})(canvas) > 180", arg=filters.element_handle())
    assert light < 60


def test_bars_keep_their_colours_where_readers_have_all_pages_in_their_own(page):
    bars = page.locator(".cl-memory").first.locator(".cl-length")
    looks = "bars => bars.map((bar) => getComputedStyle(bar).backgroundImage)"
    before = bars.evaluate_all(looks)
    assert "gradient" in before[0]
    page.emulate_media(forced_colors="active", color_scheme="light")
    assert bars.evaluate_all(looks) == before
    paper = "figure => getComputedStyle(figure).backgroundColor"
    light = page.locator(".cl-memory").first.evaluate(paper)
    page.emulate_media(forced_colors="active", color_scheme="dark")
    assert light == "rgb(255, 255, 255)" != page.locator(".cl-memory").first.evaluate(paper)


def test_a_transposed_window_in_three_views(page):
    """By keyboard, from view to view: one output, with the multiplications of each way counted."""
    widget, shown = page.locator(".cl-transposed"), TransposedWindow()
    step, story = widget.get_by_role("slider", name="step"), widget.locator(".cl-story")
    output = widget.locator("svg[aria-roledescription='output pixels']")
    for view, name in (
        ("scatter", "Scatter and add"),
        ("zeros", "Zeros inserted"),
        ("subfilters", "Sub-filters"),
    ):
        widget.get_by_role("radio", name=name).check()
        step.focus()
        page.keyboard.press("End")
        shown.view, shown.step = view, 10**3 // 3
        last = len(shown.order())
        widget.get_by_text(f"{last} of {last}", exact=False).first.wait_for()
        assert widget.locator(".cl-title").text_content() in shown.words()
        assert widget.locator(".cl-lesson").text_content() in shown.words()
        sums = [int(text.replace("−", "-")) for text in output.locator("text.cl-value").all_text_contents()]
        assert sums == shown.y.ravel().tolist()
        chips = widget.locator(".cl-count b").all_text_contents()
        assert [int(text) for text in chips] == list(shown.products)
        overlaps = widget.locator("svg[aria-roledescription='overlaps'] text.cl-value").all_text_contents()
        assert [int(text) for text in overlaps] == shown.overlaps.ravel().tolist()
    output.focus()
    page.keyboard.press("ArrowUp")  # from the last output of phase D to one of phase B
    widget.get_by_text("Phase B meets 2 taps of 9").wait_for()
    page.keyboard.press("Escape")
    widget.get_by_text("Phase D meets 1 tap of 9").wait_for()
    widget.get_by_role("radio", name="Scatter and add").check()
    pixel = shown.pixels[shown.H - 1][shown.W - 2]
    widget.locator("svg[aria-roledescription='input pixels']").focus()
    page.keyboard.press("ArrowLeft")
    widget.get_by_text(f"x[2, 2] = {pixel} times the filter: 9 products").wait_for()
    page.keyboard.press("Enter")
    widget.get_by_text("pixel 11 of 12").wait_for()
    output.focus()
    for key in ("ArrowUp", "ArrowLeft", "ArrowUp", "ArrowRight"):  # from the filter's corner, y[4, 4]
        page.keyboard.press(key)
    widget.get_by_text("4 filters on this output: y[2, 4] = ").wait_for()
    assert story.text_content().endswith(f"= {shown.y[2, 4]}.")


def test_a_transposed_window_without_an_output(page):
    widget = page.locator(".cl-transposed")
    widget.get_by_role("combobox", name="filter and stride").select_option("4,2")
    widget.get_by_text("there is no checkerboard but for the border").wait_for()
    more = widget.get_by_role("spinbutton", name="output padding")
    more.fill("1")
    widget.get_by_text(re.compile(r"output, 9 × 11")).wait_for()
    more.fill("2")
    widget.get_by_text("Output padding 2 must be less than the stride 2").wait_for()
    assert not widget.locator("svg[aria-roledescription='output pixels']").is_visible()
    widget.get_by_role("combobox", name="filter and stride").select_option("4,3")
    widget.locator("svg[aria-roledescription='output pixels']").wait_for()


def test_lanes_and_the_sectors_they_meet_in(page):
    widget, shown = page.locator(".cl-microscope"), WarpMicroscope()
    kernels = widget.get_by_role("combobox", name="kernel")
    memory = widget.locator("svg[aria-roledescription='memory']")
    for number, kernel in enumerate(shown.kernels):
        kernels.select_option(str(number))
        assert widget.locator(".cl-source > div").count() == len(kernel["source"])
        for at, access in enumerate(kernel["accesses"]):
            widget.locator(".cl-access input").nth(at).check()
            shown.kernel, shown.access, shown.step = number, at, 0
            widget.get_by_text(f"request 1 of {access['count']}", exact=True).wait_for()
            assert widget.locator(".cl-title").text_content() in shown.words()
            words = widget.locator(".cl-counts").inner_text().split()
            assert words[0] == "32"
            unit = "pass" if access["space"] == "shared" else "sector"
            cost = shown.request["cost"]
            assert f"{cost} {unit}{'' if cost == 1 else 'es' if unit == 'pass' else 's'}" in " ".join(words)
            if unit == "sector":  # its words are asked for, or moved all the same
                drawn = memory.locator("rect.cl-padding, rect.cl-input, rect.cl-output").count()
                assert drawn == 8 * cost
            else:
                assert memory.locator("rect.cl-workspace").count() == 32
            marked = widget.locator(".cl-source mark").text_content()
            assert access["array"] in marked


def test_a_lane_is_followed_into_memory(page):
    widget = page.locator(".cl-microscope")
    widget.get_by_role("combobox", name="kernel").select_option("5")  # turned around: lane 3 reads row 3
    widget.get_by_role("slider", name="request").focus()
    page.keyboard.press("ArrowRight")
    widget.get_by_text("request 2 of 32", exact=True).wait_for()
    lanes = widget.locator("svg[aria-roledescription='lanes']")
    lanes.focus()
    for _ in range(3):
        page.keyboard.press("ArrowRight")
    widget.get_by_text("Lane 3 reads x[3, 1], in sector 12 of the array.").wait_for()
    memory = widget.locator("svg[aria-roledescription='memory']")
    assert memory.locator("text.cl-value").nth(3 * 32 + 1).text_content() == "3"
    assert memory.locator("rect.cl-lit").count() == 1
    memory.focus()
    for key in ("ArrowDown", "ArrowRight"):
        page.keyboard.press(key)
    widget.get_by_text("Sector 4: x[1, 1] for lane 1.").wait_for()
    assert lanes.locator("rect.cl-lit").count() == 1
    page.keyboard.press("ArrowRight")
    widget.get_by_text("Nobody asked for these 4 bytes").wait_for()


@in_turns
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [1100, 360])
def test_accessible_and_inside_its_page(page, width, dark):
    page.set_viewport_size({"width": width, "height": 800})
    page.evaluate(f"document.body.dataset.jpThemeLight = '{str(not dark).lower()}'")
    page.wait_for_timeout(200)
    assert barriers(page, ".convlab", colours=width == 1100) == []
    spill = page.evaluate(
        "[...document.querySelectorAll('.convlab')].map((w) => w.scrollWidth - w.clientWidth)"
    )
    assert max(spill) <= 1


def test_an_error_shows_in_place(browser, tmp_path):
    widget = SlidingWindow()
    broken = widget.page().replace('"pixels": [[', '"pixels": 7, "unused": [[')
    file = tmp_path / "broken.html"
    file.write_text(f"<!doctype html><meta charset=utf-8>{broken}", encoding="utf-8")
    page = browser.new_page()
    page.goto(file.as_uri())
    page.get_by_role("alert").wait_for()
    assert "This figure has stopped" in page.get_by_role("alert").text_content()
    page.close()


@pytest.mark.parametrize("kind", LEADING, ids=lambda kind: kind.__name__)
def test_answers_within_a_frame(browser, tmp_path, kind):
    """Not a measurement, an alarm: a redraw must be far from slow; the shortest counts, machines are busy."""
    file = tmp_path / "page.html"
    file.write_text(f"<!doctype html><meta charset=utf-8>{kind().page()}", encoding="utf-8")
    page = browser.new_page()
    page.goto(file.as_uri())
    page.locator(".convlab input[type=range]").first.wait_for(state="attached")
    milliseconds = page.evaluate(
        """async () => {
          const slider = document.querySelector('.convlab input[type=range]');
          const times = [];
          for (let i = 0; i < 9; i++) {
            slider.value = i;
            const start = performance.now();
            slider.dispatchEvent(new Event('input'));
            await Promise.resolve();
            times.push(performance.now() - start);
            await new Promise(requestAnimationFrame);
          }
          return Math.min(...times);
        }"""
    )
    assert milliseconds < 120
    page.close()


def test_nothing_jumps_when_a_figure_starts(browser, tmp_path):
    """A photograph is as large as the figure that takes its place."""
    heights = []
    for scripts in (False, True):
        context = browser.new_context(java_script_enabled=scripts, viewport={"width": WIDTH, "height": 900})
        page = context.new_page()
        for name in convlab.widgets.__all__:
            kind = getattr(convlab.widgets, name)
            if kind.measured_here is None:
                continue
            file = tmp_path / f"{name}.html"
            style = "<style>body { margin: 0; overflow: hidden }</style>"
            file.write_text(f"<!doctype html><meta charset=utf-8>{style}{kind().page()}", encoding="utf-8")
            page.goto(file.as_uri())
            page.locator(".convlab" if scripts else ".convlab-picture").wait_for()
            heights.append((name, page.locator(".convlab-still").bounding_box()["height"]))
        context.close()
    before, after = heights[: len(heights) // 2], heights[len(heights) // 2 :]
    assert len(before) > 10
    for (name, still), (_, moving) in zip(before, after, strict=True):
        assert still == pytest.approx(moving, abs=8), name
