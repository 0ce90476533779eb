"""Pictures carry words, and the words survive HTML."""

import html
import io
import re
from dataclasses import replace

import numpy as np
import pytest
from effort import sampled
from PIL import Image

from convlab import ConvError, ConvProblem, figures
from convlab.auto import speeds
from convlab.auto.predict import predict
from convlab.auto.timing import Timing
from convlab.benchmark import datasheets, device_climb
from convlab.benchmark.model_error import Judged
from convlab.benchmark.saved import Row
from convlab.distributed import simulate_queue
from convlab.figures import charts, tensor_boxes, timeline_chart
from convlab.figures.style import DARK, LIGHT, ROLES, css
from convlab.support.units import bytes_text

PROBLEM = ConvProblem(1, 8, 10, 3, 6, 3, 3)
CLIMB = device_climb()
SERVING = ("direct", "im2row", "winograd_2x2", "indirect")


def judged(*ratios):
    """Return what would be judged of times that the model misses by these ratios, algorithm by algorithm."""
    found = []
    for number, ratio in enumerate(ratios):
        name, problem = SERVING[number % len(SERVING)], ConvProblem(1, 8 + 8 * number, 10, 3, 6, 3, 3)
        one = predict(problem, name, speeds.speeds())
        t = one.seconds / ratio
        row = Row("layers", "net", f"layer{number}", 1, problem, name, True, 1, 9, Timing(t, t, t))
        found.append(Judged(row, one))
    return found


PICTURES = {
    "bars": lambda: figures.bars({"a": 1.0, "b": 20.0}, title="b is more", axis="units", alt="a 1, b 20"),
    "bars, logarithmic": lambda: figures.bars(
        {"a": 1.0, "b": 2e6}, title="b is more", axis="units", alt="a 1, b 2 million", log=True
    ),
    "bars of bytes": lambda: figures.bars(
        {"a": 3e4, "b": 2e6}, title="b is more", axis="bytes", alt="a 29 KiB, b 2 MiB", text=bytes_text
    ),
    "bars of bytes, logarithmic": lambda: figures.bars(
        {"a": 3e2, "b": 2e6}, title="More", axis="bytes", alt="300 B, 2 MiB", text=bytes_text, log=True
    ),
    "bars, below a roof": lambda: figures.bars(
        {"a": 1.0, "b": 20.0}, title="b is near", axis="units", alt="a 1, b 20 of 25", roof=("roof", 25)
    ),
    "times": lambda: figures.times({"fast": Timing(1e-3, 9e-4, 2e-3)}, title="One", alt="fast: 1 ms"),
    "gallery": lambda: figures.gallery({"p": np.eye(9) - 0.5}, title="A line", alt="a slanted line"),
    "grids": lambda: figures.grids({"x": np.eye(3)}, title="Ones", alt="an identity matrix"),
    "counts": lambda: figures.counts(
        {"a": np.arange(12).reshape(3, 4), "b": np.ones((3, 4), int)}, title="Once", alt="a up to 11, b once"
    ),
    "curves": lambda: figures.curves(
        {"up": {1: 1.0, 2: 50.0}, "flat": {1: 2.0, 2: 2.1}},
        dashed={"up": {1: 1.5, 2: 40.0}},
        **{"title": "Up", "x_axis": "size", "y_axis": "ms", "alt": "up rises, flat does not"},
        roles={"up": "input", "flat": "output"},
    ),
    "curves of like heights": lambda: figures.curves(
        {"a": {1: 1.0, 2: 3.0}, "b": {1: 2.0, 2: 3.01}},
        **{"title": "Up", "x_axis": "size", "y_axis": "ms", "alt": "two lines that end together"},
        roles={"a": "input", "b": "output"},
    ),
    "staircase": lambda: figures.staircase({8192: 2e11, 16384: 1e11}, title="Down", alt="a step down"),
    "tensors": lambda: figures.tensors(PROBLEM),
    "chip": lambda: figures.chip(datasheets.load("nvidia_h100")),
    "mma layout": lambda: figures.mma_layout(lane=9),
    "pipeline": lambda: figures.pipeline(),
    "gpu roofline": lambda: figures.gpu_roofline(CLIMB.line, CLIMB.rungs, CLIMB.others, title="Up"),
    "gpu roofline, measured": lambda: figures.gpu_roofline(
        CLIMB.line, [replace(one, source="a clock") for one in CLIMB.rungs[:2]], title="Up"
    ),
    "tap addresses": lambda: figures.tap_addresses(),
    "model error": lambda: figures.model_error(judged(1, 0.9, 2, 0.5, 1.2)),
}


@sampled(4)
@pytest.mark.parametrize("draw", PICTURES.values(), ids=PICTURES)
def test_picture_has_pixels_and_words(draw):
    picture = draw()
    image = Image.open(io.BytesIO(picture.png))
    assert image.width >= 250
    assert len(image.convert("RGB").getcolors(1 << 24)) > 10
    alt = re.search(r'alt="([^"]*)"', picture._repr_html_())[1]
    assert html.unescape(alt) == picture.alt == repr(picture)
    assert len(picture.alt) > 7


def test_alt_is_required_and_escaped():
    import matplotlib.pyplot as plt

    with pytest.raises(ValueError, match="alt is empty"):
        figures.show(plt.figure(), " ")
    plt.close("all")
    assert 'alt="5 &lt; 6 &quot;yes&quot;"' in figures.show(plt.figure(), '5 < 6 "yes"')._repr_html_()
    assert not plt.get_fignums()


def test_photographs_keep_their_colours_on_a_page_that_turns_dark():
    """The page has them apart from paper and words, which it turns; one on the other they are the picture."""
    shown = figures.gallery({"p": figures.photograph(32)[0]}, title="Someone", alt="a photograph")
    whole, paper, photographs = (
        Image.open(io.BytesIO(png)).convert("RGBA") for png in (shown.png, *shown.layers)
    )
    assert np.asarray(photographs)[..., 3].mean() < 255  # nothing around them
    paper.alpha_composite(photographs)
    np.testing.assert_array_equal(paper, whole)
    turned, kept = re.findall("<img [^>]+>", shown._repr_html_())
    assert 'alt="a photograph"' in turned
    assert 'class="cl-kept"' in kept
    assert 'alt=""' in kept  # said once


def test_a_machine_whose_chip_is_not_known_is_not_drawn():
    with pytest.raises(ConvError, match="'NVIDIA T4'; its datasheet does not say how it is built"):
        figures.chip(datasheets.load("nvidia_t4"))


def test_tensors_says_every_size():
    alt = figures.tensors(PROBLEM).alt
    for words in ("H=8", "W=10", "C=3", "6 filters", "R=3", "S=3", "P=6", "Q=8", "K=6"):
        assert words in alt


@pytest.mark.parametrize(("filters", "boxes", "dots"), [(1, 3, 0), (4, 6, 0), (6, 8, 0), (7, 8, 1)])
def test_tensors_draws_every_filter_or_says_that_some_are_left_out(monkeypatch, filters, boxes, dots):
    kept = []
    monkeypatch.setattr(tensor_boxes, "show", lambda fig, alt: kept.append(fig))
    figures.tensors(replace(PROBLEM, K=filters))
    (ax,) = kept[0].axes
    assert len(ax.patches) == 3 * boxes  # three faces each; x and y are boxes, too
    assert sum(words.get_text() == "…" for words in ax.texts) == dots
    assert "a filter is as deep as the picture" in kept[0].get_suptitle()


def test_photograph():
    x = figures.photograph()
    assert (x.shape[0], x.shape[3], x.dtype) == (1, 3, np.float32)
    assert 0 <= x.min() < 0.1 < 0.9 < x.max() <= 1
    assert figures.photograph(48).shape == (1, 48, 48, 3)


def _luminance(colour):
    channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return np.dot(linear, (0.2126, 0.7152, 0.0722))


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
def test_text_can_be_read(theme):
    """WCAG 2.2: 4.5 to 1 for text."""
    for ink in ("ink", "muted"):
        for paper in ("paper", "panel"):
            light, dark = sorted((_luminance(theme[ink]), _luminance(theme[paper])), reverse=True)
            assert (light + 0.05) / (dark + 0.05) >= 4.5


def test_css_carries_every_token():
    sheet = css()
    for name, value in (ROLES | LIGHT).items():
        assert f"--cl-{name}: {value};" in sheet
    for name, value in DARK.items():
        assert f"--cl-{name}: {value};" in sheet


@pytest.mark.parametrize(
    ("largest", "labels"),
    [
        (7.5 * 2**20, "0 B, 2 MiB, 4 MiB, 6 MiB"),
        (1.3 * 2**20, "0 B, 256 KiB, 512 KiB, 768 KiB, 1 MiB, 1.25 MiB"),
        (90 * 2**10, "0 B, 20 KiB, 40 KiB, 60 KiB, 80 KiB"),
        (1000 * 2**30, "0 B, 200 GiB, 400 GiB, 600 GiB, 800 GiB, 1000 GiB"),
    ],
)
def test_an_axis_of_bytes_has_round_numbers(largest, labels):
    ticks = [charts._short(bytes_text(tick)) for tick in charts._round_bytes(largest)]
    assert ", ".join(ticks) == labels


@pytest.mark.parametrize(
    ("written", "short"),
    [
        ("2.50 G", "2.5 G"),
        ("10 G", "10 G"),
        ("50.0×", "50×"),
        ("100×", "100×"),
        ("1.50 ms", "1.5 ms"),
        ("500 µs", "500 µs"),
        ("2.00 MiB", "2 MiB"),
        ("0.25 s", "0.25 s"),
        ("1.05", "1.05"),
        ("+20.0 %", "+20 %"),
    ],
)
def test_an_axis_writes_no_zeros_after_a_point(written, short):
    assert charts._short(written) == short


def test_a_judged_model_says_how_near_it_is():
    alt = figures.model_error(judged(1, 0.9, 2.5, 0.5, 1.2)).alt
    assert alt.startswith("3 of 5 predictions lie within 25 % of the time; the worst is off by 2.5×. ")
    assert "direct 1.0× to 1.2× on 2 layers, im2row 0.90× on 1 layer, " in alt
    assert alt.endswith("The worst is winograd_2x2 on net layer2.")


@pytest.mark.parametrize(("text", "step"), [(str, "ten"), (bytes_text, "sixteen")])
def test_a_logarithmic_axis_says_its_step(monkeypatch, text, step):
    drawn = []
    monkeypatch.setattr(charts, "show", lambda fig, alt: drawn.append(fig))
    charts.bars({"one": 3.0, "two": 300.0}, title="Bars", axis="length", alt="Two bars.", text=text, log=True)
    assert drawn[0].axes[0].get_xlabel() == f"length (logarithmic: each line is {step} times the last)"


@pytest.mark.parametrize("milliseconds", [(0.183, 0.279), (0.3, 1.13), (0.3, 2.9), (0.3, 3.1), (0.01, 40.0)])
def test_an_axis_of_times_is_logarithmic_if_they_span_ten_times(monkeypatch, milliseconds):
    drawn = []
    monkeypatch.setattr(charts, "show", lambda fig, alt: drawn.append(fig))
    timings = {f"{ms} ms": Timing(ms * 1e-3, ms * 1e-3, ms * 1e-3) for ms in milliseconds}
    charts.times(timings, title="Times", alt="Two bars.")
    ax = drawn[0].axes[0]
    drawn[0].canvas.draw()
    least, most = milliseconds
    low, high = ax.get_xlim()
    if most < 10 * least:
        assert low == 0
        assert ax.get_xlabel() == "time, median of the rounds"
    else:
        assert ax.get_xlabel().endswith("(logarithmic: each line is ten times the last)")
        assert any(low < line < high for line in ax.get_xticks())
    written = [label.get_text() for label in ax.get_xticklabels(which="both")]
    assert any(written)
    assert not any("$" in text for text in written)


def test_the_legend_of_a_timeline_lies_on_no_bar_and_not_on_the_end(monkeypatch):
    drawn = []
    monkeypatch.setattr(timeline_chart, "show", lambda fig, alt: drawn.append(fig))
    run = simulate_queue(4, 1.0, tiles=12, failures=[(1, 1.5)], detection=1.0, results="held")
    figures.timeline(run, title="One is lost", alt="Four machines.")
    drawn[0].canvas.draw()
    (legend,) = drawn[0].legends
    assert legend.get_window_extent().y1 <= drawn[0].axes[0].get_window_extent().y0
