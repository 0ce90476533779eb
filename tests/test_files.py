"""Other people's files: never written over, and where one lies among ours, named and skipped."""

import json
import os
import re
from pathlib import Path

import pytest
from effort import in_turns
from typer.testing import CliRunner

from convlab import networks
from convlab.benchmark import bench, datasheets, model_error, saved
from convlab.benchmark.gpu import times
from convlab.benchmark.saved_runs import CPU, runs
from convlab.cli import app
from convlab.errors import ParameterError
from convlab.figures import roofline
from convlab.networks import layers
from convlab.support.files import data_path
from convlab.support.markup import as_markdown, as_script
from convlab.widgets import PredictedTimes, RooflineExplorer, predicted_data, roofline_data
from convlab.workspace import pages
from tools.bench_gpu import __main__ as bench_gpu
from tools.errors import BuildError, UsageError
from tools.readme import __main__ as readme
from tools.readme import one_layer, results
from tools.site import publish

pytestmark = pytest.mark.inside

# The header of a stored run, and of its rows those on one layer, that of the README's picture.
_LINES = data_path("measurements", "zen4_cpu.csv").read_text(encoding="utf-8").splitlines(keepends=True)
GOOD = "".join(line for line in _LINES if line.startswith(("#", "part,")) or ",layer1.0.conv1,4," in line)


# -- --save ------------------------------------------------------------------------------------------------


def link(path, to):
    path.symlink_to(path.with_name(to))
    path.with_name(to).write_text("not yours")


# What lies there: how it is made, and what is said of it.
FOREIGN = {
    "a document": (lambda path: path.write_bytes(b"PK\x03\x04\x14\x00\x06\xff"), "begins with 'PK"),
    "a notebook": (lambda path: path.write_text('{"cells": []}'), """begins with '{"cells"""),
    "another's table": (lambda path: path.write_text("name,age\nAda,36\n"), "begins with 'name,age"),
    "a text": (lambda path: path.write_text("# How to\n\nread"), "begins with '# How to"),
    "a header of another": (lambda path: path.write_text('# {"what": "rain"}\na\n1\n'), "something else"),
    "a header much like ours": (
        lambda path: path.write_text('# {"what": "convlab benchmark of mine"}\na\n1\n'),
        "something else",
    ),
    "a header that is a list": (lambda path: path.write_text("# [1]\na\n1\n"), "something else"),
    "a header too deep": (lambda path: path.write_text("#" + "[" * 99_999), "something else"),
    "no UTF-8": (lambda path: path.write_bytes(b"\xff\xfe#\x00"), "something else"),
    "a folder": (Path.mkdir, "is a folder"),
    "a pipe": (os.mkfifo, "is no ordinary file"),
    "a device": (lambda path: path.symlink_to("/dev/null"), "is no ordinary file"),
    "a link to another's": (lambda path: link(path, "theirs.txt"), "begins with 'not yours'"),
    "a link that leads nowhere": (lambda path: path.symlink_to("nowhere"), "leads nowhere"),
    "a link to itself": (lambda path: path.symlink_to(path.name), "leads nowhere"),
}


def on_a_gpu(capsys, path):
    return bench_gpu.main(["--save", str(path)]), capsys.readouterr().err


def on_a_cpu(capsys, path):
    done = CliRunner().invoke(app, ["bench", "cpu", "--save", str(path)])
    return done.exit_code, done.stderr


COMMANDS = {"cpu": on_a_cpu, "gpu": on_a_gpu}


@pytest.fixture
def nothing_measured(monkeypatch):
    for module, name in ((bench, "bench_cpu"), (bench_gpu, "bench_gpu")):
        monkeypatch.setattr(module, name, lambda *args, **options: pytest.fail("it measured"))


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("what", FOREIGN)
def test_save_refuses_what_is_none_of_ours(tmp_path, capsys, nothing_measured, what, command):
    make, says = FOREIGN[what]
    path = tmp_path / "thesis.csv"
    make(path)
    before = {file: file.read_bytes() for file in tmp_path.iterdir() if file.is_file()}
    code, told = COMMANDS[command](capsys, path)
    assert code == 2
    assert f"--save={str(path)!r}" in told
    assert says in told
    assert "expected a file that is not there yet, or a measurement" in told
    assert os.path.lexists(path)
    assert {file: file.read_bytes() for file in tmp_path.iterdir() if file.is_file()} == before


OURS = {
    "nothing": lambda path: None,
    "nothing, in a new folder": lambda path: path.parent.rmdir(),
    "an empty file": lambda path: path.touch(),
    "ours": lambda path: path.write_text(GOOD),
    "ours, of an older schema": lambda path: path.write_text(GOOD.replace('"schema": 1', '"schema": 0')),
    "ours, of a GPU": lambda path: path.write_text(GOOD.replace("bench cpu", "bench gpu")),
    "a link to ours": lambda path: (
        path.symlink_to("other.csv"),
        path.with_name("other.csv").write_text(GOOD),
    ),
}


@pytest.mark.parametrize("what", OURS)
def test_save_writes_over_what_is_ours(tmp_path, monkeypatch, what):
    path, given = tmp_path / "folder" / "run.csv", []
    path.parent.mkdir()
    OURS[what](path)

    def measured(where, **options):
        given.append(where)
        run = saved.Measurement(saved.read(data_path("measurements", "zen4_cpu.csv")).header)
        saved.write(where, run)
        return run, None

    monkeypatch.setattr(bench, "bench_cpu", measured)
    done = CliRunner().invoke(app, ["bench", "cpu", "--save", str(path)])
    assert done.exit_code == 0, done.output
    assert saved.read(path).rows == []
    assert given == [Path(os.path.realpath(path))]
    assert path.is_symlink() == ("link" in what)  # a link stays one: what it leads to is written


@pytest.mark.parametrize("other", ["a text", GOOD], ids=["another's", "another run's"])
def test_what_came_in_between_is_kept(tmp_path, other):
    path = tmp_path / "run.csv"
    run = saved.Measurement(saved.read(data_path("measurements", "zen4_cpu.csv")).header)
    saved.write(path, run)
    saved.write(path, run)
    path.write_text(other)
    with pytest.raises(saved.UnwritableError, match=r"run\.csv' was written by another program"):
        saved.write(path, run)
    assert path.read_text() == other
    path.unlink()
    saved.write(path, run)  # gone: nobody loses anything
    assert [file.name for file in tmp_path.iterdir()] == ["run.csv"]


def test_two_runs_into_one_file_leave_that_of_one(tmp_path):
    path = tmp_path / "run.csv"
    path.write_text(GOOD)
    one, two = (saved.read(path) for _ in range(2))
    one.header["command"], two.header["command"] = "one", "two"
    saved.write(path, one)
    with pytest.raises(saved.UnwritableError):
        saved.write(path, two)
    saved.write(path, one)
    assert saved.read(path).header["command"] == "one"


def test_a_file_that_looks_like_a_draft_is_left_alone(tmp_path):
    mine = [tmp_path / name for name in ("run.csv.part", ".run.csv.part", "run.csv.1.part")]
    for file in mine:
        file.write_text("mine")
        os.utime(file, (0, 0))
    saved.write(tmp_path / "run.csv", saved.Measurement({"what": CPU}))
    assert [file.read_text() for file in mine] == ["mine"] * 3


def test_run_refuses_a_page_that_is_none_of_ours(tmp_path, monkeypatch):
    monkeypatch.setattr(pages, "make_page", lambda *args, **options: pytest.fail("it ran"))
    page = tmp_path / "00_start_here.html"
    page.write_text("<h1>mine</h1>")
    done = CliRunner().invoke(app, ["run", "00", "--out", str(tmp_path)])
    assert done.exit_code == 2
    assert "00_start_here.html' holds something else: it begins with '<h1>mine</h1>'" in done.stderr
    assert page.read_text() == "<h1>mine</h1>"


def test_a_page_that_came_while_the_notebook_ran_is_kept(tmp_path, monkeypatch):
    import nbformat

    notebook, page = tmp_path / "course" / "00_one.ipynb", tmp_path / "00_one.html"
    notebook.parent.mkdir()
    nbformat.write(nbformat.v4.new_notebook(), notebook)
    monkeypatch.setattr(pages, "execute", lambda *args, **options: page.write_text("<h1>mine</h1>"))
    assert "holds something else" in pages.make_page(notebook, tmp_path)
    assert page.read_text() == "<h1>mine</h1>"
    page.unlink()
    monkeypatch.setattr(pages, "execute", lambda *args, **options: None)
    for _ in range(2):  # the second time over its own
        assert pages.make_page(notebook, tmp_path) is None


# -- books -------------------------------------------------------------------------------------------------


@pytest.fixture
def book(tmp_path):
    """Return make(text): a new book; and where books go."""

    def make(text):
        folder = tmp_path / text
        (folder / "deep").mkdir(parents=True)
        (folder / "deep" / "page.html").write_text(text)
        return folder

    return make, tmp_path / "site"


def test_a_book_is_replaced_but_not_what_somebody_put_into_it(book):
    make, out = book
    publish.publish(make("one"), out)
    (out / ".DS_Store").touch()  # of a desktop that showed the folder
    publish.publish(make("two"), out)
    assert (out / "deep" / "page.html").read_text() == "two"
    (out / "deep" / "CNAME").write_text("mine")
    for refuse in (publish.check_out, lambda out: publish.publish(make("three"), out)):
        with pytest.raises(UsageError, match=r"holds deep/CNAME, which no build put there"):
            refuse(out)
    assert (out / "deep" / "CNAME").read_text() == "mine"
    assert (out / "deep" / "page.html").read_text() == "two"


def test_a_book_without_a_list_is_an_older_one(book):
    make, out = book
    out.mkdir()
    (out / publish.MARKER).write_text("Built by convlab; the next build replaces this folder.\n")
    (out / "page.html").touch()
    publish.publish(make("one"), out)
    assert not (out / "page.html").exists()


def test_the_old_book_comes_back_where_the_new_one_cannot_go(book, monkeypatch):
    make, out = book
    publish.publish(make("one"), out)
    rename = Path.rename

    def full(self, target):
        if self.name == "new":
            raise OSError(28, "No space left on device")
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", full)
    with pytest.raises(BuildError, match="cannot be written: No space left"):
        publish.publish(make("two"), out)
    assert (out / "deep" / "page.html").read_text() == "one"


# -- files of measurements ---------------------------------------------------------------------------------


def put(old, new, count=1):
    """Return what changes a text; it must change."""

    def spoil(text):
        changed, found = re.subn(old, lambda match: new, text, count=count)
        assert found, old
        return changed

    return spoil


def numbered(name, number):
    return put(rf'"{name}": [\d.e+-]+', f'"{name}": {number}')


def cell(text):
    """Return what puts a text for the time of a row."""
    return put(r"warm,\d+,[\d.e+-]+,", f"warm,9,{text},")


DIGITS = "9" * 400
BROKEN = {
    "empty": lambda text: "",
    "another's table": lambda text: "name,age\nAda,36\n",
    "half of it": lambda text: text[: len(text) // 2],
    "cut in the header": lambda text: text[:200],
    "cut in a row": lambda text: text.rstrip()[:-30],
    "no header": lambda text: "".join(re.findall(r"^[^#].*\n", text, re.MULTILINE)),
    "a header that is no JSON": put('"machine"', "machine"),
    "a header that is a list": lambda text: "# [1, 2]\n" + text.partition("# }\n")[2],
    "a header that is null": lambda text: "# null\n" + text.partition("# }\n")[2],
    "a header too deep": lambda text: "# " + "[" * 99_999 + "\n" + text.partition("# }\n")[2],
    "another schema": put('"schema": 1', '"schema": 99'),
    "a schema of 400 digits": put('"schema": 1', f'"schema": {DIGITS}'),
    "a number of 5000 digits": put('"schema": 1', f'"schema": {"9" * 5000}'),
    "no such benchmark": put("convlab bench cpu", "convlab bench tpu"),
    "a benchmark that is a list": put('"what": "convlab bench cpu"', '"what": []'),
    "no date": put('"date"', '"day"'),
    "no such date": put('"date": "[^"]*"', '"date": "yesterday"'),
    "a date of 400 digits": put('"date": "[^"]*"', f'"date": {DIGITS}'),
    "complete is a word": put('"complete": true', '"complete": "yes"'),
    "no machine": put('"machine"', '"engine"'),
    "the machine is a word": put(r'(?s)"machine": \{.*?\n#  \},', '"machine": "fast",'),
    "libraries in a list": put(r'(?s)"libraries": \{.*?\},', '"libraries": [1],'),
    "a processor of numbers": put('"processor": "[^"]*"', '"processor": [1]'),
    "a processor without an end": put('"processor": "[^"]*"', f'"processor": "{"x" * 100_000}"'),
    "a version that is a list": put('"torch": "[^"]*"', '"torch": [2]'),
    "no processor": put('"processor"', '"chip"'),
    "a cache that is a word": numbered("l1d", '"small"'),
    "a cache below 0": numbered("l2", "-1"),
    "a cache of 400 digits": numbered("l3", DIGITS),
    "no roofs": put('"roofs"', '"rooves"'),
    "a roof of NaN": numbered("flops", "NaN"),
    "a roof of infinity": numbered("flops_all", "Infinity"),
    "a roof below 0": numbered("flops", "-1.0"),
    "a roof of 0": numbered("flops", "0"),
    "a roof of 400 digits": numbered("flops", DIGITS),
    "a roof that is a word": numbered("flops", '"high"'),
    "no copies": put(r'(?s)"copies": \{.*?\n#   \}', '"copies": {}'),
    "copies that are a list": put(r'(?s)"copies": \{.*?\n#   \}', '"copies": [1]'),
    "a copy that is no pair": put(r'"L2": \[\n#\s+\d+,', '"L2": ['),
    "a level that is markup": put('"L2"', '"<script>"'),
    "no memory": put('"memory": \\[', '"disk": ['),
    "an overhead is missing": put('"tile"', '"tiles"'),
    "an overhead of infinity": numbered("tile", "Infinity"),
    "the kernels of BLAS are a word": put(r'(?s)"blas": \{.*?\}', '"blas": "fast"'),
    "no UTF-8": lambda text: text.encode() + b"\xff\xfe",
    "UTF-16": lambda text: text.encode("utf-16"),
    "no text at all": lambda text: bytes(range(256)) * 9,
    "another column": put(",median,", ",mean,"),
    "a cell too many": put(r"warm,\d+,", "warm,9,9,"),
    "a cell too few": put(r",warm,\d+,", ",9,"),
    "a cell without an end": put("layers,", "x" * 200_000 + ","),
    "a time of NaN": cell("nan"),
    "a time of infinity": cell("inf"),
    "a time below 0": cell("-1.0"),
    "a time of 0": cell("0.0"),
    "a time that is a word": cell("fast"),
    "a time of 400 digits": cell(DIGITS),
    "a time too small to divide by": cell("1e-320"),
    "a size of 400 digits": put(",56,56,", f",{DIGITS},56,"),
    "a size of 0": put(",56,56,", ",0,56,"),
    "a size that is a fraction": put(",56,56,", ",5.6,56,"),
    "no such type": put(",float32,", ",float8,"),
    "no layer counted": put(",4,3x3", ",0,3x3"),
    "quartiles the wrong way round": put(r"warm,\d+,([\d.e+-]+),[\d.e+-]+,", "warm,9,1.0,2.0,"),
    "a folder": None,
    "a pipe": None,
}


def spoilt(path, what):
    if what == "a folder":
        path.mkdir()
    elif what == "a pipe":
        os.mkfifo(path)
    else:
        text = BROKEN[what](GOOD)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Let all who read the course's measurements read a folder that has one good file."""
    (tmp_path / "m_good.csv").write_text(GOOD, encoding="utf-8")

    def there(*parts):
        return tmp_path if parts == ("measurements",) else data_path(*parts)

    for module in (times, predicted_data, readme, roofline_data):
        monkeypatch.setattr(module, "data_path", there)
    predicted_data._saved.cache_clear()
    yield tmp_path
    predicted_data._saved.cache_clear()


def read_by_all():
    """Have a folder read by everything that reads it, up to what is shown."""
    lines, _ = roofline_data.machines(None, [])
    predicted_data._saved.cache_clear()
    there = predicted_data._saved()
    times.newest("ladder filter")
    return lines, there, f"{readme.results()}\n{readme.roofline()}"


@pytest.mark.parametrize("what", BROKEN)
def test_a_broken_file_is_named_and_skipped(folder, what):
    lines, there, text = read_by_all()
    spoilt(folder / "a_bad.csv", what)
    spoilt(folder / "z_bad.csv", what)
    with pytest.warns(UserWarning, match="a file is skipped") as told:
        again, there_again, text_again = read_by_all()
    for name in ("a_bad.csv", "z_bad.csv"):
        assert sum(name in str(one.message) for one in told) >= 3  # by each who reads
    assert all(len(str(one.message)) < 1000 for one in told)
    assert (list(again), list(there_again), text_again) == (list(lines), list(there), text)


@pytest.mark.parametrize(
    ("old", "new"),
    [("float32,winograd_4x4,1", "float32,winograd_<b>,1"), ("layers,resnet18,", "layers,resnet|<b>,")],
)
def test_rows_of_what_there_is_not_are_named_and_skipped(folder, old, new):
    (folder / "m_good.csv").write_text(put(re.escape(old), new, 0)(GOOD), encoding="utf-8")
    (folder / "n_good.csv").write_text(GOOD, encoding="utf-8")
    with pytest.warns(UserWarning, match=r"rows of m_good\.csv are skipped: convlab knows no '.*<b>'"):
        lines, there, text = read_by_all()
    assert {"m_good", "n_good"} <= lines.keys() & there.keys()
    assert "<b>" not in text


def test_a_run_without_overheads_is_no_other_than_an_older_one(folder):
    text = put(r'(?s)"overheads": \{.*?\},', '"overheads": null,')(GOOD)
    assert text != GOOD
    path = folder / "m_good.csv"
    path.write_text(text, encoding="utf-8")
    read_by_all()
    assert model_error.speeds_of(saved.read(path)) is None
    path.write_text(put('"overheads"', '"overhead"')(put('"roofs"', '"roof"')(GOOD)), encoding="utf-8")
    assert model_error.speeds_of(saved.read(path)) is None
    path.write_text(put('"roofs"', '"roof"')(GOOD), encoding="utf-8")
    with pytest.raises(ParameterError, match="measurement has a header without"):
        model_error.speeds_of(saved.read(path))


@in_turns
def test_without_any_run_the_readme_says_so(folder, monkeypatch, capsys):
    (folder / "m_good.csv").unlink()
    page = folder / "README.md"
    page.write_text("<!-- convlab: roofline -->\n<!-- end -->\n")
    monkeypatch.setattr(readme, "README", page)
    monkeypatch.setattr(readme, "PICTURES", {"roofline.png": readme.roofline_picture})
    assert readme.main() == 1
    told = capsys.readouterr().err
    assert told.count("no run of `convlab bench cpu` that timed the layer shown") == 2


@pytest.mark.parametrize("content", [b"no picture", b"", b"\x89PNG\r\n\x1a\n" + b"x" * 40, None])
def test_what_is_no_picture_of_the_readme_is_left_as_it_is(tmp_path, content):
    from PIL import Image

    path, now = tmp_path / "a.png", tmp_path / "b.png"
    Image.new("RGB", (2, 2)).save(now)
    path.mkdir() if content is None else path.write_bytes(content)
    with pytest.raises(BuildError):
        readme.update(path, now.read_bytes(), readme.same)
    assert path.is_dir() if content is None else path.read_bytes() == content


# -- datasheets and networks -------------------------------------------------------------------------------

SHEET = 'name = "A"\nkind = "GPU"\nsource = "its datasheet"\nread_in = ["a.b"]\nmemory = 1e12\n'
SHEETS = {
    "empty": "",
    "another's": 'title = "TOML"\n',
    "too deep": "a = " + "[" * 99_999,
    "a number of 400 digits": f"{SHEET}[flops]\nfloat32 = {DIGITS}",
    "factors of 400 digits": f"{SHEET}[flops]\nfloat32 = [1e200, 1e200]",
    "flops is a word": f'{SHEET}flops = "float32"',
    "NaN": f"{SHEET}[flops]\nfloat32 = nan",
    "no UTF-8": b"\xff\xfe",
    "a folder": None,
    "a pipe": os.mkfifo,
}


@in_turns
@pytest.mark.parametrize("what", SHEETS)
def test_a_broken_datasheet_is_named_and_skipped(tmp_path, monkeypatch, what):
    (tmp_path / "good.toml").write_text(f"{SHEET}[flops]\nfloat32 = 1e12")
    path, content = tmp_path / "bad.toml", SHEETS[what]
    if content is None:
        path.mkdir()
    elif callable(content):
        content(path)
    else:
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    monkeypatch.setattr(
        datasheets, "data_path", lambda *parts: tmp_path.joinpath(*parts[1:]) if parts[1:] else tmp_path
    )
    with pytest.warns(UserWarning, match=r"a file is skipped: .*bad\.toml"):
        lines, _ = roofline_data.machines(None, [])
    assert "good" in lines
    assert "bad" not in lines
    with pytest.raises(ParameterError, match=r"bad\.toml"):
        datasheets.load("bad")


NETWORK = data_path("networks", "resnet18.csv").read_text(encoding="utf-8")
NETWORKS = {
    "not there": None,
    "empty": "",
    "another's": "name,age\nAda,36\n",
    "no layers": NETWORK.partition("conv1,")[0],
    "cut in a row": NETWORK.rstrip()[:-4],
    "a column too many": NETWORK.replace("name,", "name,more,").replace("conv1,", "conv1,1,"),
    "a cell too many": NETWORK.replace("conv1,", "conv1,1,"),
    "no comment": NETWORK.replace("#", ""),
    "a word for a size": NETWORK.replace("224,", "wide,"),
    "400 digits": NETWORK.replace("224,", f"{DIGITS},"),
    "a cell without an end": NETWORK.replace("conv1", "x" * 200_000, 1),
    "no UTF-8": b"\xff\xfe",
}


@pytest.mark.parametrize("what", NETWORKS)
def test_a_broken_network_is_named_and_skipped(tmp_path, monkeypatch, what):
    (tmp_path / "vgg16.csv").write_text(data_path("networks", "vgg16.csv").read_text(encoding="utf-8"))
    if (content := NETWORKS[what]) is not None:
        (tmp_path / "resnet18.csv").write_bytes(content if isinstance(content, bytes) else content.encode())
    monkeypatch.setattr(layers, "data_path", lambda room, *name: tmp_path.joinpath(*name))
    monkeypatch.setattr(layers, "_files", lambda: ["resnet18", "vgg16"])
    for function in (layers._read, layers.names):
        function.cache_clear()
    try:
        with pytest.warns(UserWarning, match=r"a file is skipped: .*resnet18\.csv"):
            assert networks.names() == ("vgg16",)
        with pytest.raises(ParameterError, match=r"resnet18\.csv"):
            networks.load("resnet18")
    finally:
        for function in (layers._read, layers.names):
            function.cache_clear()


# -- names that are markup ---------------------------------------------------------------------------------

NAMES = (
    "<script>alert(1)</script>",
    "<!--<script>",
    "</script><img src=x onerror=alert(1)>",
    """a"b'c &amp; d""",
    "a|b `c` [d](e) ![f](g) *h* # $i^$ \\",
    "line\nafter\u2028line [red]x[/blue]",
)


@pytest.mark.parametrize("name", NAMES)
def test_text_in_a_script_stays_text(name):
    text = as_script({name: [name]})
    assert "<" not in text
    assert json.loads(text) == {name: [name]}


@in_turns
@pytest.mark.parametrize("name", NAMES)
def test_a_machine_whose_name_is_markup_is_shown_by_its_name(folder, monkeypatch, name):
    changed = put('"processor": "[^"]*"', f'"processor": {json.dumps(name)}')(GOOD)
    changed = put('"date": "[^"]*"', '"date": "2026-03-01T12:00:00+00:00"')(changed)
    (folder / "m_good.csv").write_text(changed, encoding="utf-8")
    monkeypatch.setattr("convlab.machine.system.processor", lambda: name)
    for widget in (PredictedTimes(machine="m_good"), RooflineExplorer(machine="m_good")):
        page = widget._repr_mimebundle_()[0]["text/html"]
        assert json.dumps(name)[1:-1] in json.dumps(widget.state())
        assert page.count("<script") == page.count("</script") == 1
        assert "<img" not in page.lower()  # nobody took a photograph of it: words alone
        assert "<!--" not in page
        assert "alert(1)<" not in page
    picture = roofline(widget.line, title=f"What {widget.line.machine} reaches")
    alt = re.search(r'alt="([^"]*)"', picture._repr_html_())
    assert "<" not in alt[1]
    assert alt[1].count("Roofs of") == 1
    run = runs(folder, CPU)["m_good.csv"]
    line = results.where_and_when(run.header)
    assert line == f"on {as_markdown(name)} (AVX-512), 1 March 2026"
    assert as_markdown(name) in one_layer.markdown(run, "a.png")


TAGS = ("table", "thead", "tbody", "tr", "th", "td")


@pytest.mark.parametrize("name", NAMES)
def test_markdown_has_every_mark_as_itself(name):
    from markdown_it import MarkdownIt

    shown = (
        MarkdownIt("commonmark", {"html": True})
        .enable("table")
        .render(f"| a | b |\n|---|---|\n| {as_markdown(name)} | end |\n")
    )
    tags = re.findall(r"<(/?\w+)", shown)
    assert set(tags) == {f"{end}{tag}" for tag in TAGS for end in ("", "/")}
    assert tags.count("td") == 2


def test_names_are_no_markup_in_a_table_on_the_terminal(capsys):
    from convlab.commands.options import print_table

    print_table(("name", "what"), [(name, name) for name in ("[red]x", "a [/blue] b", ":smile:")])
    told = capsys.readouterr().out
    assert all(name in told for name in ("[red]x", "a [/blue] b", ":smile:"))


def test_the_gpu_of_a_saved_run_is_no_markup(tmp_path):
    header = {"what": "convlab bench gpu", "date": "2030-01-02", "device": {"name": NAMES[0]}}
    assert times.saved_from(saved.Measurement(header)) == (
        r"saved: \<script\>alert(1)\</script\>, 2030-01-02"
    )
