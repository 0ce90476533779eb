"""The README is true: its numbers are the library's, its code runs, its links lead somewhere."""

import io
import re
import tomllib
from dataclasses import replace
from functools import partial
from pathlib import Path
from xml.etree import ElementTree

import pytest
from packaging.specifiers import SpecifierSet
from PIL import Image
from PIL.PngImagePlugin import PngInfo

import convlab
from convlab.auto.predict import Speeds
from convlab.auto.timing import Timing
from convlab.benchmark.limits import limit_of_network
from convlab.benchmark.saved import Measurement, Row
from convlab.support.files import data_path
from convlab.support.units import bytes_text, time_text
from tools.errors import BuildError
from tools.readme import __main__ as readme
from tools.readme import algorithms, blow_up, gpu, map_of_notebooks, one_layer
from tools.readme.results import markdown, of_machines, whole_networks
from tools.readme.rings import over

pytestmark = pytest.mark.workshop

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_numbers():
    conv1 = convlab.networks.load("resnet18")["conv1"].problem
    assert f"a photograph of {bytes_text(conv1.x_bytes)}." in README


def test_the_pythons_are_those_of_the_project():
    (said,) = re.findall(r"You need Python ([\d., ]+ or [\d.]+)\. ", README)
    allowed = SpecifierSet(tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["requires-python"])
    named = re.findall(r"3\.\d+", said)
    assert named == [f"3.{minor}" for minor in range(30) if f"3.{minor}.0" in allowed]


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


@pytest.mark.parametrize("page", ["README.md", "CONTRIBUTING.md", "TESTING.md", "ROADMAP.md"])
def test_files_that_are_named_are_there(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    for path in re.findall(r"`((?:convlab|tests|notebooks|data)/[\w/.]+)`", text):
        assert (ROOT / path).exists() or any(name in path for name in TO_BE_WRITTEN), path


def test_every_notebook_is_listed():
    for notebook in (ROOT / "notebooks").glob("*.ipynb"):
        assert f"notebooks/{notebook.name}" in README


# -- what is made by a command -------------------------------------------------------------------------------


def test_blocks_are_up_to_date():
    assert readme.renewed(README) == README, f"README.md is behind data/; renew it: {readme.COMMAND}"
    for name in readme.BLOCKS.keys() - {"rings"}:
        assert f"<!-- convlab: {name} -->\n" in README


@pytest.mark.workshop
def test_what_is_counted_is_up_to_date():
    """It collects all tests: half a minute."""
    page = (ROOT / "TESTING.md").read_text(encoding="utf-8")
    assert "<!-- convlab: rings -->\n" in page
    assert readme.renewed(page, "TESTING.md") == page, f"TESTING.md is behind the tests: {readme.COMMAND}"


@pytest.mark.parametrize(
    ("count", "said"),
    [
        *((0, "0"), (1, "1"), (10, "10"), (36, "over 30"), (40, "over 30"), (100, "over 90")),
        *((730, "over 720"), (734, "over 730"), (14096, "over 14,000")),
    ],
)
def test_a_count_is_told_by_its_first_figures(count, said):
    assert over(count) == said


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
            "no block is called 'lottery'; "
            "expected blow-up, notebooks, algorithms, roofline, results, machines, gpu, rings",
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

    page, counts = tmp_path / "README.md", tmp_path / "TESTING.md"
    table = {name: make() for name, make in readme.BLOCKS.items() if name != "rings"}
    counts.write_text("<!-- convlab: rings -->\n<!-- end -->\n", encoding="utf-8")
    page.write_text(README.replace("<!-- end -->", "an old line\n<!-- end -->"), encoding="utf-8")
    monkeypatch.setattr(readme, "README", page)
    monkeypatch.setattr(readme, "data_path", lambda *parts: tmp_path / parts[-1])
    monkeypatch.setattr(readme, "PICTURES", {"one.png": lambda: png("red"), "two.png": no_browser})
    monkeypatch.setattr(readme, "TESTING", counts)
    monkeypatch.setattr(readme, "BLOCKS", {name: partial(str, text) for name, text in table.items()})
    monkeypatch.setitem(readme.BLOCKS, "rings", no_browser)
    assert readme.main() == 1
    told = capsys.readouterr()
    assert told.out.splitlines() == ["changed: README.md", "changed: data/pictures/one.png"]
    assert "data/pictures/two.png is left as it is: no browser found" in told.err
    assert "TESTING.md is left as it is: no browser found" in told.err
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
    roofs = {"flops": 1e11, "flops_all": 2e11, "threads": 2, "copies": {"memory": [1 << 20, 1e12]}}
    here = Speeds.of(roofs, {})
    least = [time_text(limit_of_network(one.network, here)) for one in ours]
    assert "\n".join(whole_networks(Measurement({"roofs": roofs}, [*ours, *theirs]))).splitlines()[3:] == [
        "| | at best | auto | torch channels_last | OpenVINO |",
        "|---|--:|--:|--:|--:|",
        f"| ResNet-18 | {least[0]} | 10.0 ms | – | 0.90× |",
        f"| SqueezeNet 1.0 | {least[1]} | 10.0 ms | 2.50× | 0.90× |",
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


def test_each_machine_is_held_against_the_fastest_of_all_the_others():
    square = convlab.ConvProblem(1, 8, 8, 4, 32, 3, 3, padding=1)
    point = convlab.ConvProblem(1, 8, 8, 4, 16, 1, 1)
    machine = {"processor": "A|chip", "target": "znver9", "instruction_set": "AVX2 with FMA"}
    times = [
        row("resnet18", square, "indirect", 2.0),
        row("resnet18", square, "winograd_4x4", 1.0),
        row("resnet18", square, "OpenVINO", 4.0),
        row("resnet18", square, "LiteRT", 8.0),
        row("squeezenet1_0", point, "indirect", 2.0),
        row("squeezenet1_0", point, "LiteRT", 1.0),
    ]
    whole = [
        row(network, square, candidate, seconds, part="stacks")
        for network, seconds_of in (("resnet18", (1.0, 0.5, 9.0)), ("squeezenet1_0", (1.0, 9.0, 8.0)))
        for candidate, seconds in zip(("auto", "OpenVINO", "LiteRT"), seconds_of, strict=True)
    ]
    calm = Measurement({"machine": machine}, times + whole)
    alone = Measurement({"machine": machine | {"processor": None, "instruction_set": None}}, times[:3])
    disturbed = Measurement({"machine": machine}, [scattered(one) for one in times])
    said = of_machines({"a b.csv": calm, "c.csv": alone}).splitlines()
    assert said[2:] == [
        "| | ResNet-18 | SqueezeNet 1.0 | whole networks |",
        "|---|--:|--:|--:|",
        r"| [A\|chip, znver9, AVX2 with FMA](data/measurements/a%20b.csv) | 4.00× | 0.50× | 2.00× |",
        "| [znver9](data/measurements/c.csv) | 4.00× | – | – |",
    ]
    line, *_, note = of_machines({"d.csv": disturbed}).splitlines()[4:]
    assert r"](data/measurements/d.csv) \* | 4.00× | 0.50× | – |" in line
    assert note.startswith(r"\* Other programs were at work: more than 25% of the times scatter")


def scattered(row):
    """Return a row whose times lie wide apart."""
    return replace(row, timing=Timing(row.seconds, 0.9 * row.seconds, 1.1 * row.seconds))


def test_the_gpu_beside_cudnn(monkeypatch):
    """Ours by their precision: what is faster with fewer bits does not count as float32."""
    square = convlab.ConvProblem(32, 8, 8, 16, 16, 3, 3, padding=1)

    def row(candidate, seconds, ours=True, count=1, problem=square, part="layers_32", network="resnet18"):
        timing = Timing(seconds, seconds, seconds)
        return Row(part, network, f"layer {count}", count, problem, candidate, ours, 1, 9, timing)

    picture = {"part": "image", "network": "image"}
    run = Measurement(
        {
            "device": {"name": "A GPU"},
            "date": "2026-03-01T12:00:00+00:00",
            "states": {"roofs": {}, "many images": {"cudnn": 91002}},
        },
        [
            row("winograd_4x4", 1.0),
            row("implicit_gemm", 2.0),
            row("tensor_core_fp16", 0.5),
            row("cuDNN", 3.0, False),
            row("cuDNN channels_last", 4.0, False),
            row("cuDNN fp16", 0.25, False),
            row("copy", 3.0, False, **picture),
            row("direct", 4.0, **picture),
        ],
    )
    monkeypatch.setattr(gpu, "newest", lambda part: run)
    monkeypatch.setattr(gpu, "runs", lambda folder, what: {"other.csv": Measurement({}), "a.csv": run})
    caption, table, picture = gpu.markdown().split("\n\n")
    assert "cuDNN 9.10.2" in caption
    assert "Measured on A GPU, 1 March 2026." in caption
    assert "[The file](data/measurements/a.csv)" in caption
    assert table.splitlines()[2:] == [
        "| **ResNet-18** | 1 | 3.00× (least 3.00×) | 1.50× (least 1.50×) | – | 0.50× (least 0.50×) |"
    ]
    assert picture == "A filter of 7x7 over 4000x4000 pixels runs at 75 % of the speed of a copy."
    monkeypatch.setattr(gpu, "newest", lambda part: None)
    with pytest.raises(BuildError, match="no run of `convlab bench gpu`"):
        gpu.markdown()


def test_the_newest_run_is_shown(monkeypatch):
    _, run = readme.shown_run()
    later, earlier, other = (
        replace(run, header=run.header | {"date": f"{year}-01-01"}) for year in (2100, 2000, 2200)
    )
    later = replace(later, rows=list(run.rows))
    other = replace(other, rows=[])  # it has not timed the layer
    monkeypatch.setattr(readme, "cpu_runs", lambda: {"a": earlier, "b": later, "c": other})
    assert readme.shown_run() == ("b", later)
    assert "](data/measurements/b)" in readme.results()
    later.rows[:] = map(scattered, later.rows)  # it is the newest still, but other programs were at work
    assert readme.shown_run() == ("a", earlier)
    monkeypatch.setattr(readme, "cpu_runs", lambda: {"b": later})
    assert readme.shown_run() == ("b", later)


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


# -- the picture that moves ----------------------------------------------------------------------------------

SVG = "{http://www.w3.org/2000/svg}"


def turns():
    """Return what is shown of each shape: its group in the picture."""
    return [g for g in ElementTree.fromstring(blow_up.picture()).iter(f"{SVG}g") if "turn" in g.get("class")]


def test_each_layer_has_as_many_blocks_as_its_matrix_has_inputs():
    network = convlab.networks.load("resnet18")
    shapes = list(network.distinct())
    assert len(turns()) == len(shapes)
    for group, shape in zip(turns(), shapes, strict=True):
        wide = [float(one.get("width")) for one in group.iter(f"{SVG}rect") if "copy" in one.get("class")]
        cells = shape.N * shape.P * shape.Q * shape.R * shape.S * shape.C
        blocks = sum(width + 2 for width in wide) / blow_up.COPY  # a gap of two pixels after each
        assert blocks == pytest.approx(cells / (shape.H * shape.W * shape.C), abs=0.01)
        marked = [one for one in group.iter(f"{SVG}rect") if one.get("class") == "active"]
        assert len(marked) == sum(layer.problem == shape for layer in network)


def test_it_is_small_and_asks_for_nothing():
    """An image may run no script and load nothing; it must be XML, and say in words what it shows."""
    text = blow_up.picture()
    assert len(text.encode()) < 100 << 10
    assert not re.search(r"<script|<image|<foreignObject|@import|url\(|href|\bon\w+=", text)
    root = ElementTree.fromstring(text)
    assert root.find(f"{SVG}title").text.startswith("ResNet-18 by im2col")
    assert blow_up.alternative() in root.find(f"{SVG}desc").text
    assert f"![{blow_up.alternative()}]" in README


def test_what_stands_still_is_a_whole_layer():
    """Without motion, or in a program that knows no animation, one shape is seen and the others are not."""
    still, _, moving = blow_up.picture().partition("@media (prefers-reduced-motion: no-preference)")
    assert moving
    assert "animation" not in still
    assert ".turn { visibility: hidden; }\n.first { visibility: visible; }" in still
    assert ["first" in group.get("class") for group in turns()] == [True] + [False] * (len(turns()) - 1)


# -- the tables made from the code ---------------------------------------------------------------------------


def test_a_column_says_what_is_served():
    """Each cell, held against problems that the table's own grid does not have."""
    common = {"N": 2, "H": 50, "W": 41, "C": 8, "K": 16}
    for name, algorithm in convlab.ALGORITHMS.items():
        told = algorithms.columns(algorithm)
        for size in (1, 3, 5, 8, 11):
            for stride in (1, 2, 5):
                for groups in (1, 4, 8):
                    problem = convlab.ConvProblem(**common, R=size, S=size, stride=stride, groups=groups)
                    fits = (
                        told["filter"] in ("any", f"{size} × {size}")
                        or (" to " in told["filter"] and 5 <= size <= 8)
                    ) and (told["stride"] in ("any", str(stride)))
                    fits = fits and told["groups"] in ("any", "= C" if groups == 8 else str(groups))
                    assert (algorithm.supports(problem) is None) == fits, (name, problem)


def test_the_table_of_algorithms_has_a_row_for_each_and_follows_a_change(monkeypatch):
    rows = re.findall(r"^\| `(\w+)` \|", algorithms.markdown(), re.MULTILINE)
    assert rows == list(convlab.ALGORITHMS)
    fussy = replace(convlab.ALGORITHMS["direct"], refuses=lambda p: "no" if p.stride != (3, 3) else None)
    assert algorithms.columns(fussy)["stride"] == "3"
    assert algorithms.layers(fussy) == "stride 3"
    bare = replace(convlab.ALGORITHMS["direct"], forms={"numpy": convlab.ALGORITHMS["direct"].forms["numpy"]})
    assert algorithms.layers(bare) == "any; NumPy alone"
    never = replace(fussy, refuses=lambda problem: "no")
    with pytest.raises(ValueError, match="serves no problem of the grid"):
        algorithms.columns(never)


def test_every_notebook_has_its_question_and_minutes(monkeypatch):
    asked = map_of_notebooks.questions()
    assert {path.name[:2] for path in (ROOT / "notebooks").glob("[0-9]*.ipynb")} == set(asked)
    assert all(question.endswith("?") for question in asked.values())
    sums, rows = [], []
    minutes = re.compile(r"^\|.*\| (\**)(\d+)\** \|$", re.MULTILINE)
    for bold, shown in minutes.findall(map_of_notebooks.markdown()):
        (sums if bold else rows).append(int(shown))
    assert len(sums) > 3
    assert sum(sums) == sum(rows)  # what is shown adds up
    monkeypatch.setattr(map_of_notebooks, "questions", lambda: dict(list(asked.items())[:-1]))
    with pytest.raises(BuildError, match=r"no row for 19_interview\.ipynb"):
        map_of_notebooks.markdown()
