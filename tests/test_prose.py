"""No number, and no word for one, comes from nowhere: in the README, in notebooks, in what an interview says.

Of a notebook its cells must show the number. A walk-through and the cheat sheet are Python files: there an
f-string puts it in, from the library: f"{problem.flops / 1e6:.0f} MFLOP". Where that cannot be, the passage
stands in `prose_sources.py` under the file's name, "walks/kernel.py", with "□" for what is computed.
"""

from __future__ import annotations

from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_output
from notebook_tools import NOTEBOOKS, notebook
from prose_in_code import prose_in
from prose_numbers import shown_by, stale, unaccounted, unproven
from prose_sources import SOURCES, Told

pytestmark = pytest.mark.workshop

ROOT = Path(__file__).resolve().parents[1]
INTERVIEW = ROOT / "convlab/interview"
SPOKEN = [  # files of the library that are mostly prose
    path.relative_to(INTERVIEW).as_posix()
    for folder in ("walks", "sheet")
    for path in sorted((INTERVIEW / folder).glob("*.py"))
]
WHAT_TO_DO = "let a cell say it, or an f-string, or account for it in tests/prose_sources.py"


def markdown(nb) -> str:
    """Return the prose of a notebook."""
    return "\n\n".join(cell.source for cell in nb.cells if cell.cell_type == "markdown")


def text_of(page: str) -> str:
    """Return the prose of the README, of a file of the interview, or of the notebook with this number."""
    if page == "README":
        return (ROOT / "README.md").read_text(encoding="utf-8")
    if page.endswith(".py"):
        return prose_in((INTERVIEW / page).read_text(encoding="utf-8"))
    (path,) = (path for path in NOTEBOOKS if path.name.startswith(page))
    return markdown(nbformat.read(path, as_version=4))


@pytest.mark.parametrize("page", ["README", *SPOKEN])
def test_numbers_of_a_page(page):
    assert list(unaccounted(text_of(page), "", SOURCES.get(page, ()))) == [], WHAT_TO_DO


@pytest.mark.notebooks
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_numbers_of_a_notebook(path, executed):
    nb, _ = executed(path)
    assert list(unaccounted(markdown(nb), shown_by(nb), SOURCES.get(path.name[:2], ()))) == [], WHAT_TO_DO


@pytest.mark.parametrize("page", ["README", *SPOKEN, *(path.name[:2] for path in NOTEBOOKS)])
def test_words_that_weigh(page):
    assert list(unproven(text_of(page), SOURCES.get(page, ()))) == [], WHAT_TO_DO


@pytest.mark.parametrize("page", SOURCES)
def test_sources_say_the_same(page):
    text = text_of(page)
    assert stale(text, SOURCES[page]) == [], "these passages are gone from the text, or hold no number"
    for passage, source in SOURCES[page].items():
        if isinstance(source, Told):
            assert source.by in text
        elif callable(source):
            assert source() == passage


# -- the check itself: it must find what is planted, and nothing else ----------------------------------------


@pytest.mark.parametrize(
    "claim",
    [
        *("3.7 ms", "12.2×", "62 %", "62%", "588 KiB", "7,225,344 B", "115 GFLOP/s", "30 GB/s", "4 bytes"),
        *(
            "9 times",
            "12.2 times",
            "2.25",
            "65536",
            "2048",
            "1.81",
            "90 percent",
            "20 µs",
            "8 minutes",
            "3 GHz",
        ),
        *("nine times", "thousand times", "hundreds of times", "twice as", "half as", "billions of"),
        *("factor of a", "quarters of the gain"),
    ],
)
@pytest.mark.parametrize("text", ["It is {} much.", "| {}, | b |", "**{}**: so", "- *({})*", "{}"])
def test_a_number_from_nowhere_is_found(claim, text):
    (found,) = unaccounted(text.format(claim), "It takes 3.6 ms, and 62.5 %, 2588 KiB and nine times.", ())
    assert found.startswith(repr(claim))


@pytest.mark.parametrize(
    "text",
    [
        "A 3 x 3 filter on 224 x 224 pixels, N = 1, C = 64, a photograph of 4000 x 4000.",
        "Dukhan 2019, arXiv:1907.02129, section 3.1; Python 3.11, 3.12 or 3.13; CC BY 4.0",
        "In `48 KB` and $2.25$ and\n```\n3.7 ms\n```\nsee [notebook 12](12_gpu.ipynb).",
        "A tile of 4 × 1, and 32 lanes. How many times? Several times. It is written twice.",
        "tf32 keeps 8 bits of exponent.",
        "<!-- convlab: results -->\n\n2.10× and 62 %\n\n<!-- end -->",
        "1. Step\n2. Make the tile 7 × 2, then 7 × 4.",
    ],
)
def test_sizes_names_and_code_are_no_claims(text):
    assert list(unaccounted(text, "", ())) == []


SHOWN = [
    new_output("stream", text="indirect 3.70 ms, 12.2× as fast\n2,048 rows"),
    new_output("display_data", data={"text/html": "<b>62&nbsp;%</b> <img alt='' src='data:9.99 ms'>"}),
    new_output("execute_result", data={"text/plain": "588 KiB"}),
    new_output(
        "display_data", data={"text/html": '<style>p {top: 4.25%}</style><img alt="at most 0.31 GB/s">'}
    ),
]


@pytest.mark.parametrize("claim", ["3.70 ms", "12.2×", "12.2 times", "62 %", "588 KiB", "0.31 GB/s"])
def test_what_a_cell_shows_may_be_said(claim):
    nb = notebook(new_code_cell("work()", outputs=SHOWN))
    assert list(unaccounted(f"It is {claim}.", shown_by(nb), ())) == []


@pytest.mark.parametrize(
    "claim", ["3.7 ms", "3.70 s", "2.2×", "62 KiB", "88 KiB", "0.3 GB/s", "9.99 ms", "4.25 %"]
)
def test_what_a_cell_shows_otherwise_may_not(claim):
    nb = notebook(new_code_cell("work()", outputs=SHOWN))
    assert len(list(unaccounted(f"It is {claim}.", shown_by(nb), ()))) == 1


@pytest.mark.parametrize(
    "claim",
    [
        *("hardly slower", "a few copies", "much faster", "as cheap as", "level with", "nearly free"),
        *("costs nothing", "most of the time", "close to the roof", "negligible", "slower than"),
        *("nearly all", "a good part of the processor", "does not notice", "the best-tuned piece"),
        *("many times slower", "the fastest code", "well below its peak"),
    ],
)
@pytest.mark.parametrize("text", ["The loop is {} there.", "- **{}**", "Why? It is {}. Is it?"])
def test_a_word_that_weighs_is_found(claim, text):
    (found,) = unproven(text.format(claim), ())
    assert found.split("'")[1] in claim


@pytest.mark.parametrize(
    "text",
    [
        "Which one is much faster? How can it be as cheap as a copy, if it reads more than that?",
        "The last index runs fastest. `hardly` is code. A few pixels, a large part of the picture.",
        "Nearly a square. The fastest first. More exact words. Filters cost memory.",
    ],
)
def test_questions_and_other_words_claim_nothing(text):
    assert list(unproven(text, ())) == []


def test_a_source_covers_a_word_that_weighs():
    text = "It is hardly slower than a copy. It is hardly slower elsewhere."
    assert len(list(unproven(text, ["hardly slower than a copy"]))) == 1
    assert stale(text, ["hardly slower than a copy", "a copy"]) == ["a copy"]


def test_a_source_covers_its_own_passage_only():
    text = "The copy writes **nine times** the input. It took nine times."
    assert len(list(unaccounted(text, "", ["writes nine times the input"]))) == 1
    assert stale(text, ["writes nine times the input", "eight times", "The copy"]) == [
        "eight times",
        "The copy",
    ]


TYPED = """
'A docstring: it takes 3.7 ms.'
from somewhere import LAYER
SAVING: float = 2.25
SHARE = SAVING / 100
LENGTH = LAYER.W
def walk(time):
    'Another one: 3.7 ms.'
    LENGTH = 4
    taps = LAYER.R
    return {said}
"""


@pytest.mark.parametrize(
    ("said", "claims"),
    [
        ('"It takes 3.7 ms."', ["3.7 ms"]),
        ('Point("Its title", words="It " "takes 9 times " f"the {time}.")', ["9 times"]),
        ('f"{SAVING} times, {time:.1f} ms, {1 + 1} bytes"', ["2.25 times", "2 bytes"]),
        ('f"{SHARE:.0%} or {SHARE + 1}"', ["2%", "1.0225"]),
        ('["It is " + f"{time:.1f} of {\'3.7 ms\'}"]', ["3.7 ms"]),
        ('f"{time}00 ms in all"', ["00 ms"]),
        ('f"{LENGTH} bytes, {time * 4} ms, {taps} times, {LAYER.flops} FLOP, {time:.2f} times"', []),
        ('f"{taps} x 3 taps and `2.25`, {dict(a=3.7)}"', []),
    ],
)
def test_numbers_in_the_strings_of_a_file(said, claims):
    found = unaccounted(prose_in(TYPED.format(said=said)), "", ())
    assert [one.split("'")[1] for one in found] == claims


def test_words_that_weigh_in_the_strings_of_a_file():
    (found,) = unproven(prose_in(TYPED.format(said='f"It is {time} and hardly slower."')), ())
    assert found == "'hardly' in ... It is □ and hardly slower. ..."
