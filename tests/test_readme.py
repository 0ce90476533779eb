"""The README is true: its numbers are the library's, its code runs, its links lead somewhere."""

import io
import re
from pathlib import Path

import pytest
from PIL import Image
from PIL.PngImagePlugin import PngInfo

import convlab
from convlab.auto.timing import Timing
from convlab.benchmark.saved import Measurement, Row
from convlab.support.files import data_path
from convlab.support.units import bytes_text
from tools.errors import BuildError
from tools.readme import __main__ as readme
from tools.readme import one_layer
from tools.readme.results import markdown, whole_networks

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_numbers():
    conv1 = convlab.networks.load("resnet18")["conv1"].problem
    assert f"a photograph of {bytes_text(conv1.x_bytes)}." in README


def test_code_runs(capsys):
    (code,) = re.findall(r"```python\n(.*?)```", README, re.S)
    code = code.replace("56, 56, 64)", "9, 8, 64)")  # seven Python loops over the whole layer take a minute
    names = {}
    exec(code, names)
    assert names["y"].shape == (1, 9, 8, 64)
    assert abs(names["y"] - names["z"]).max() < 1e-3
    assert "workspace_bytes=7225344" in capsys.readouterr().out


# By who follows a recipe.
TO_BE_WRITTEN = "NAME", "TOPIC", "kn2row", "dilated_taps", "dilation", "reach", "n20"


@pytest.mark.parametrize("page", ["README.md", "CONTRIBUTING.md"])
def test_links(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)#]+)\)", text):
        assert (ROOT / target).exists(), target
    for path in re.findall(r"`((?:convlab|tests|notebooks|data)/[\w/.]+)`", text):
        assert (ROOT / path).exists() or any(name in path for name in TO_BE_WRITTEN), path


def test_every_notebook_is_listed():
    for notebook in (ROOT / "notebooks").glob("*.ipynb"):
        assert f"notebooks/{notebook.name}" in README


# -- what is made by a command -------------------------------------------------------------------------------


def test_blocks_are_up_to_date():
    assert readme.renewed(README) == README, f"README.md is behind data/; renew it: {readme.COMMAND}"
    for name in readme.BLOCKS:
        assert f"<!-- convlab: {name} -->\n" in README


def test_a_block_is_made_anew_and_the_rest_is_kept(monkeypatch):
    monkeypatch.setitem(readme.BLOCKS, "results", lambda: "a table")
    new = "before\n<!-- convlab: results -->\n\na table\n\n<!-- end -->\nafter\n"
    for old in (new, new.replace("\na table\n\n", ""), new.replace("a table", "an older one\n\nof two")):
        assert readme.renewed(old) == new


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (
            "<!-- convlab: lottery -->\n<!-- end -->",
            "no block is called 'lottery'; expected roofline, results",
        ),
        ("<!-- convlab: results -->\n", "has no end"),
        ("<!-- convlab: results -->\n\n<!-- convlab: results -->\n<!-- end -->", "'results' has no end"),
        ("here <!-- convlab: results --> <!-- end -->", "a line of its own"),
    ],
)
def test_a_wrong_mark_is_refused(monkeypatch, text, says):
    monkeypatch.setitem(readme.BLOCKS, "results", lambda: "a table")
    with pytest.raises(BuildError, match=says):
        readme.renewed(text)


def test_pictures_are_the_ones_the_command_draws():
    shown = set(re.findall(r"\]\(data/pictures/([^)]+)\)", README))
    stored = {path.name for path in data_path("pictures").iterdir()}
    assert shown == stored == set(readme.PICTURES)


def png(color, **options):
    buffer = io.BytesIO()
    Image.new("RGB", (3, 2), color).save(buffer, "png", **options)
    return buffer.getvalue()


def test_a_picture_that_shows_the_same_is_left_alone(tmp_path):
    path, other = tmp_path / "a.png", PngInfo()
    other.add_text("Software", "another version")
    assert readme.update(path, png("red"), readme.same)
    assert not readme.update(path, png("red", pnginfo=other), readme.same)
    assert path.read_bytes() == png("red")
    assert readme.update(path, png("blue"), readme.same)
    assert readme.same(readme.small(png("red")), png("red"))


def test_the_command_says_what_it_could_not_make(tmp_path, monkeypatch, capsys):
    def no_browser():
        raise BuildError("no browser found")

    page, table = tmp_path / "README.md", (readme.roofline(), readme.results())
    page.write_text(README.replace("<!-- end -->", "an old line\n<!-- end -->"), encoding="utf-8")
    monkeypatch.setattr(readme, "README", page)
    monkeypatch.setattr(readme, "data_path", lambda *parts: tmp_path / parts[-1])
    monkeypatch.setattr(readme, "PICTURES", {"one.png": lambda: png("red"), "two.png": no_browser})
    monkeypatch.setattr(readme, "BLOCKS", {"roofline": lambda: table[0], "results": lambda: table[1]})
    assert readme.main() == 1
    told = capsys.readouterr()
    assert told.out.splitlines() == ["changed: README.md", "changed: data/pictures/one.png"]
    assert "data/pictures/two.png is left as it is: no browser found" in told.err
    assert page.read_text(encoding="utf-8") == README
    assert readme.main() == 1
    assert capsys.readouterr().out == ""


# -- the table of results, of a made-up run ------------------------------------------------------------------


def row(network, problem, candidate, seconds, count=1, part="layers"):
    timing = Timing(seconds, seconds, seconds)
    ours = candidate in ("indirect", "winograd_4x4", "auto")
    return Row(part, network, str(problem.R), count, problem, candidate, ours, 1, 9, timing)


def test_whole_networks_are_told_where_others_ran_them():
    photo = convlab.ConvProblem(1, 224, 224, 3, 3, 1, 1)
    ours = [row(name, photo, "auto", 0.01, part="stacks") for name in ("resnet18", "squeezenet1_0")]
    theirs = [row("squeezenet1_0", photo, "torch channels_last", 0.025, part="stacks")]
    theirs += [row(one.network, photo, "OpenVINO", 0.009, part="stacks") for one in ours]
    assert whole_networks(Measurement({}, ours)) == whole_networks(Measurement({}, theirs)) == []
    assert "\n".join(whole_networks(Measurement({}, [*ours, *theirs]))).splitlines()[3:] == [
        "| | auto | torch channels_last | OpenVINO |",
        "|---|--:|--:|--:|",
        "| ResNet-18 | 10.0 ms | – | 0.90× |",
        "| SqueezeNet 1.0 | 10.0 ms | 2.50× | 0.90× |",
    ]


def test_results_are_told_by_network_and_class():
    square = convlab.ConvProblem(1, 8, 8, 4, 32, 3, 3, padding=1)
    point = convlab.ConvProblem(1, 8, 8, 4, 16, 1, 1)

    run = Measurement(
        {
            "date": "2026-03-01T23:00:00+00:00",
            "machine": {
                "processor": "A chip",
                "instruction_set": "AVX2",
                "libraries": {"numpy": "2.1", "torch": None},
            },
            "blas": {"NumPy": "Haswell", "NumPy, other kernel": None},
        },
        [
            row("resnet18", square, "indirect", 2.0, 3),
            row("resnet18", square, "winograd_4x4", 1.0, 3),
            row("resnet18", square, "NumPy", 4.0, 3),
            row("resnet18", point, "indirect", 1.0),
            row("resnet18", point, "NumPy", 0.25),
            row("squeezenet1_0", point, "indirect", 1.0, 5),
        ],
    )
    caption, _, table = markdown(run, "data/a.csv").partition("\n\n")
    assert "as fast as NumPy 2.1: the best" in caption
    assert "measured on A chip (AVX2), 1 March 2026." in caption
    assert "[The file](data/a.csv)" in caption
    assert table.splitlines() == [
        "| | layers | NumPy |",
        "|---|--:|--:|",
        "| **ResNet-18** | 4 | **2.00×** (1.19×) |",  # 4, 4, 4 and 1/4; indirect: 2, 2, 2 and 1/4
        "| 1x1 stride 1, K = 16 | 1 | 0.25× (0.25×) |",
        "| 3x3 stride 1 | 3 | 4.00× (2.00×) |",
        "| **SqueezeNet 1.0** | 5 | – |",
    ]


def test_the_main_picture_says_the_same_on_every_machine(monkeypatch):
    (run, *_) = readme.cpu_runs().values()
    here = one_layer.markdown(run, "a.png")
    monkeypatch.setattr(
        one_layer, "points", lambda rows: pytest.fail("this counts with this processor's tile")
    )
    assert one_layer.markdown(run, "a.png") == here
    monkeypatch.undo()
    drawn, fastest = one_layer.picture(run), min(one_layer._rows(run), key=lambda row: row.seconds)
    assert here.startswith(f"![{drawn.alt.split('. ')[0]}. ")
    speed = fastest.problem.flops / fastest.seconds / 1e9
    assert f"Points, in GFLOP/s: {fastest.candidate} {speed:.0f}, " in here
