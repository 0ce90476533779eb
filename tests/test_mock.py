"""The mock interview: drawn, taken, closed and gone on with; and reports that tell candidates apart."""

import itertools
import json
import re
import time
from html.parser import HTMLParser

import pytest
from effort import in_turns, sampled
from right_answers.coding import ANSWERS
from typer.testing import CliRunner

from convlab import ConvError, interview
from convlab.cli import app
from convlab.interview.coding.bug_rounds import plain, round_of, wrong_line
from convlab.interview.coding.clock import SOLVED, Reading
from convlab.interview.coding.tasks import TASKS
from convlab.interview.drills import drill
from convlab.interview.history import keep
from convlab.interview.mocks import rating, record
from convlab.interview.mocks.draw import (
    BUG,
    CODE,
    DRILLS,
    MANY,
    MINUTES,
    ROUNDS,
    WALK,
    WELCOME,
    WHOLE,
    Part,
    draw,
    fits,
    understood,
)
from convlab.interview.mocks.rating import BORDERLINE, HIRE, LEVELS, NO, STRONG
from convlab.interview.mocks.record import Came
from convlab.interview.mocks.stages import STAGES
from convlab.interview.summary import Answered
from convlab.interview.walks import record as walks
from convlab.interview.walks.show import WALKS
from convlab.lessons import EXERCISES, progress
from convlab.lessons.note import Note

TASK = "conv2d_grouped"  # its cases are quick
WITH_CODE = next(seed for seed in itertools.count() if Part(CODE, TASK) in draw(seed).parts)
WITH_BUGS = next(seed for seed in itertools.count() if draw(seed).parts[2].kind == BUG)


def restarted():
    """Forget all that a process holds in memory."""
    progress.here.cache_clear()


# -- what is drawn -----------------------------------------------------------------------------------------


@sampled(0)
def test_a_mock_has_45_minutes_of_all_kinds():
    assert WHOLE == 45
    kinds = set()
    for seed in range(200):
        drawn = draw(seed)
        assert sum(part.minutes for part in drawn.parts) == WHOLE
        assert len({kind for kind, _ in drawn.asked}) == len(drawn.asked) == MANY
        order = [part.kind for part in drawn.parts]
        assert order in ([WELCOME, DRILLS, CODE, WALK], [WELCOME, DRILLS, *[BUG] * ROUNDS, WALK])
        assert WALKS[drawn.parts[-1].what]().minutes <= MINUTES[WALK]
        assert all(fits(part.what) for part in drawn.parts if part.kind == CODE)
        kinds |= {part for part in drawn.parts if part.kind != BUG}
    assert {part.what for part in kinds if part.kind == CODE} == {name for name in TASKS if fits(name)}
    assert {part.what for part in kinds if part.kind == WALK} == set(WALKS)


@sampled(0)
def test_the_rounds_of_a_mock_are_of_two_exercises():
    for seed in range(30):
        rounds = [int(part.what) for part in draw(seed).parts if part.kind == BUG]
        assert len({round_of(one)[0] for one in rounds}) == len(rounds)


def test_the_same_seed_draws_the_same_and_is_kept_so():
    assert draw(3) == draw(3) != draw(4)
    assert understood(json.loads(json.dumps(draw(3).detail()))) == draw(3)


def test_what_was_missed_comes_first_and_what_was_solved_never(hands):
    missed = "wire_bytes" if "wire_bytes" in interview.KINDS else list(interview.KINDS)[-1]
    keep(progress.here(), drill(missed, 5), None, None)
    assert all(draw(seed, progress.events()).asked[0][0] == missed for seed in range(20))
    progress.record("try", TASK, good=True)
    following = {part.what for seed in range(60) for part in draw(seed, progress.events()).parts}
    assert TASK not in following
    assert TASKS[TASK].then in following
    for name in TASKS:
        progress.record("try", f"mock 1-1 code {name}", good=True)
    assert all(draw(seed, progress.events()).parts[2].kind == BUG for seed in range(20))


@pytest.mark.parametrize(
    "broken",
    [
        {},
        {"drills": []},
        {"parts": []},
        {"drills": [["sung", 1]]},
        {"drills": [["flops", "1"]]},
        {"drills": [["flops", -1]]},
        {"drills": [["flops"]]},
        {"drills": 3},
        {"parts": [["code", "conv3d"]]},
        {"parts": [["bug", "9" * 5000]]},
        {"parts": [["bug", "²"]]},
        {"parts": [["walk", "home"]]},
        {"parts": [["drills", "flops"]]},
        {"parts": [["lunch", ""]]},
        {"parts": None},
    ],
)
def test_what_another_version_drew_is_not_asked(broken):
    assert understood((draw(1).detail() if broken else {}) | broken) is None


# -- taken, from begin to end ------------------------------------------------------------------------------


def slipped(one):
    """Return the answer of somebody who makes the first of the slips that a drill knows."""
    unit = one.about.unit
    value = one.slips[0].value if one.slips else one.value * 3
    return unit.text(value) if unit.choices else repr(value)


def right(one):
    return one.about.unit.text(one.value) if one.about.unit.choices else repr(one.value)


def wrong_code(number):
    return TASKS[TASK].exercise.wrong(TASKS[TASK].exercise.mistakes[number])


def warm_up(talk, hands, *answers, seconds=60):
    """Answer the drills, each by (what is typed, how sure)."""
    notes = []
    for one, (typed, sure) in zip(draw(talk.seed).drills, answers, strict=False):
        hands(seconds)
        notes.append(talk.submit(typed(one), sure))
    return notes


def strong(talk, hands):
    hands(60)
    talk.next()
    warm_up(talk, hands, *[(right, 90)] * MANY)
    talk.next()
    hands(600)
    talk.submit(ANSWERS[TASK][0])
    talk.next()
    hands(500)
    talk.submit(*range(2, len(points(talk)) + 1))
    return talk.next()


def weak(talk, hands):
    hands(60)
    talk.next()
    warm_up(talk, hands, (slipped, 50), (slipped, 30), (right, 10), seconds=150)
    talk.next(leave=True)
    for number in range(2):
        hands(500)
        talk.submit(wrong_code(number))
    hands(500)
    talk.next(leave=True)
    hands(100)
    talk.submit(1, 2)
    return talk.next()


def sure_and_wrong(talk, hands):
    talk.next()
    warm_up(talk, hands, *[(right, 90)] * (MANY - 1), (slipped, 90))
    talk.next()
    hands(60)
    talk.submit(wrong_code(0))
    hands(60)
    talk.submit(ANSWERS[TASK][1])
    talk.next()
    hands(13 * 60)
    talk.submit(*range(1, len(points(talk)) + 1))
    return talk.next()


def points(talk):
    return WALKS[draw(talk.seed).parts[-1].what]().points


def words_of(report):
    """Return a report in one line, and its tables' cells, of which a line of text has only parts."""
    cells = (cell for block in report.blocks() for row in block.table for cell in row)
    return " ".join([*str(report).split(), *cells])


def test_reports_tell_candidates_apart(hands):
    reports = {}
    for number, candidate in enumerate((strong, weak, sure_and_wrong)):
        talk = interview.mock(WITH_CODE, anew=number > 0)
        reports[candidate] = candidate(talk, hands).report()
    good, bad, mixed = (words_of(reports[one]) for one in (strong, weak, sure_and_wrong))
    assert [report.word for report in reports.values()] == [LEVELS[STRONG], LEVELS[NO], LEVELS[HIRE]]
    assert list(reports[strong].words.values()) == ["strong hire", "strong hire", "strong hire"]
    assert list(reports[weak].words.values()) == ["no hire", "no hire", "no hire"]
    assert list(reports[sure_and_wrong].words.values()) == ["borderline", "hire", "hire"]

    drills = draw(WITH_CODE).drills
    walk = WALKS[draw(WITH_CODE).parts[-1].what]()
    assert f"{MANY} of {MANY} right in 5:00 of 10:00 minutes." in good
    assert "Solved with 1 try, in 10:00 of 20:00 minutes." in good
    assert (
        f"{len(walk.points) - 1} of {len(walk.points)} points in 8:20 of 12:00 minutes, ticked by you" in good
    )
    assert f"90 % sure: {MANY} of {MANY} right." in good
    assert walk.points[0].title in good
    assert "23:20 of 45 minutes were used." in good
    assert "All three say the same: strong hire." in good

    assert f"1 of {MANY} right" in bad
    for one in drills[:2]:
        assert f"wrong: {one.slips[0].name}" in bad
        assert all(f'"{place}"' in bad for _, place in one.about.read)
        assert all(f'"{place}"' not in good for _, place in one.about.read)
    assert "10 % sure: 1 of 1 right; 30 % sure: 0 of 1 right; 50 % sure: 0 of 1 right." in bad
    assert "Not solved, with 2 tries." in bad
    for mistake in TASKS[TASK].exercise.mistakes[:2]:
        assert f"Yours behaves like one that {mistake.name}." in bad
    assert re.search(r"Hidden case \d+ of \d+\.", bad)
    assert all(point.title in bad for point in walk.points[2:])
    assert all(heading in bad for _, heading in walk.read)

    assert f"{MANY - 1} of {MANY} right" in mixed
    assert "1 wrong answer was given as 90 % sure: that is what an interviewer remembers." in mixed
    assert "Sure and wrong: 1." in mixed
    assert "Solved with 2 tries" in mixed
    assert "in 13:00 of 12:00 minutes, ticked by yourself. That is over the time." in mixed
    assert "What holds it back is the drills: borderline. The best is hire." in mixed
    for said in good, bad, mixed:
        assert all(" ".join(rule.split()) in said for rule in rating.RULES.values())


@sampled(0)  # rounds of finding a bug have tests of their own in the short form
def test_bugs_are_found_in_two_rounds(hands):
    talk = interview.mock(WITH_BUGS)
    talk.next().next(leave=True)
    first, second = (int(part.what) for part in draw(WITH_BUGS).parts if part.kind == BUG)
    for seed, tries in ((first, 1), (second, 2)):
        name, mistake = round_of(seed)
        line = wrong_line(EXERCISES[name], mistake)
        assert plain(EXERCISES[name], mistake)[line - 1].strip() in repr(talk)
        for number in range(tries):
            hands(100)
            mended = plain(EXERCISES[name])[line - 1].strip()
            note = talk.submit(line, mended if number == tries - 1 else "no Python")
        assert note.good
        assert f"{tries * 100 // 60}:{tries * 100 % 60:02} of 10:00 minutes" in note.aside
        talk.next()
    words = talk.next(leave=True).report().words
    assert list(words.values()) == ["no hire", "strong hire", "hire", "no hire"]
    assert "Passed over" in str(talk.report())


def test_what_is_handed_in_is_answered_in_words(hands):
    talk = interview.mock(WITH_CODE)
    assert "45:00 left of 45 minutes" in repr(talk)
    assert "Nothing is asked yet." in repr(talk.submit())
    talk.next()
    one = draw(WITH_CODE).drills[0]
    assert one.question in repr(talk)
    note = talk.submit("<b>many</b>", 50)
    assert note.good is None
    assert "<b>" not in note._repr_html_()
    assert record.standing(WITH_CODE).waiting() == one  # what is not understood is asked again
    for wrong in ((), ("1",), ("1", 2, 3)):
        with pytest.raises(ConvError, match="expected another form"):
            talk.submit(*wrong)
    for text, sure, word in (
        (1.5, 50, "text"),
        ("1", 101, "sure"),
        ("1", "very", "sure"),
        ("1", None, "sure"),
    ):
        with pytest.raises(ConvError, match=word):
            talk.submit(text, sure)
    warm_up(talk, hands, *[(right, 70)] * MANY)
    note = talk.submit("1", 50)
    assert f"All {MANY} drills are answered." in note.title
    assert "5:00 of 10:00 minutes" in note.aside
    hands(100)  # the clock stands when all is answered
    assert "5:00 of 10:00 minutes" in repr(talk)
    talk.next()
    assert TASKS[TASK].exercise.statement in repr(talk)
    assert "Hand over the function itself" in talk.submit(3).title
    with pytest.raises(ConvError, match="expected another form"):
        talk.submit("1.2 GFLOP", 70)
    hands(1300)
    assert "21:40 of 20:00 minutes, its time is over: finish, and go on" in repr(talk)
    assert f"interview.mock({WITH_CODE}, anew=True)" in repr(talk)
    assert talk.submit(ANSWERS[TASK][2]).good  # and may be finished all the same
    hands(60)
    assert not talk.submit(wrong_code(0)).good
    assert [one.good for one in record.standing(WITH_CODE).of(Part(CODE, TASK)).tries] == [False, True]
    talk.next()
    assert WALKS[draw(WITH_CODE).parts[-1].what]().question in repr(talk)
    assert points(talk)[0].title in talk.submit().code
    for wrong in (0, len(points(talk)) + 1, "1", 1.5, True):
        with pytest.raises(ConvError, match="points"):
            talk.submit(wrong)
    assert f"2 of {len(points(talk))} points." in talk.submit(1, 3, 3).title
    assert "ticked already" in talk.submit(1).title
    talk.next()
    assert "This interview is over." in talk.submit("1", 50).title
    assert "Mock interview" in repr(talk.next())
    assert talk.report().words[f"Code: {TASK}"] == "borderline"


# -- closed, gone on with, and disturbed -------------------------------------------------------------------


def test_nothing_is_lost_when_all_is_closed(hands, monkeypatch):
    talk = interview.mock(WITH_CODE)
    hands(30)
    talk.next()
    warm_up(talk, hands, (right, 90), (slipped, 70))
    restarted()
    talk = interview.mock(WITH_CODE)
    assert f"Drill 3 of {MANY}" in repr(talk)
    assert talk.left == 60 * WHOLE - 120  # no clock runs before the first part
    talk.pause()
    assert "paused" in repr(talk)
    hands(3600)
    restarted()
    talk = interview.mock()  # the last one that is not over
    assert talk.seed == WITH_CODE
    assert talk.left == 60 * WHOLE - 120
    talk.resume()
    hands(10)
    assert talk.left == 60 * WHOLE - 130
    report = talk.report()
    monkeypatch.setenv("COLUMNS", "60")
    assert "not over yet" in str(report)
    assert max(map(len, str(report).splitlines())) < 60
    assert report.word == ""
    assert "is not judged" in report.sentence
    while record.standing(WITH_CODE).present:
        talk.next(leave=True)
    restarted()
    assert interview.mock(WITH_CODE).report().word == "no hire"  # it stays over
    again = interview.mock(WITH_CODE, anew=True)
    assert again.left == 60 * WHOLE
    assert f"Drill 1 of {MANY}" in repr(again.next())  # what was answered before does not count


def shown(talk):
    """Return what stands below the head in a cell."""
    now = record.standing(talk.seed)
    return STAGES[now.present.kind](now, now.present).shown()


@sampled(0)
def test_what_is_pressed_in_a_page_counts_and_ends_a_part(hands):
    for anew in False, True:  # the second time the same drills are answered once more
        talk = interview.mock(WITH_CODE, anew=anew).next()
        for number, one in enumerate(draw(WITH_CODE).drills):
            hands(30)
            card = shown(talk)  # as a tab does that is opened now
            assert len(card.answered) == number
            text = None if number == 3 else right(one)
            card.typed = [{"kind": one.kind, "seed": one.seed, "text": text, "sure": 50, "seconds": 30}]
        hands(500)
        came = record.standing(WITH_CODE).of(Part(DRILLS))
        assert [answer.outcome for answer in came.answers] == ["right"] * 3 + ["passed over", "right"]
        assert (came.clock.used, came.clock.state) == (150, SOLVED)
        talk.next().next(leave=True)
        walk, titles = shown(talk), [point.title for point in points(talk)]
        assert walk.opens_after == len(walk.rounds) + 1  # no answer is seen before one has answered
        hands(60)
        walk.rounds = [*walk.rounds, {"ticked": titles[:3], "seconds": 50}]
        hands(500)
        assert "3 of" in str(talk.next().report())
        assert "in 1:00 of 12:00 minutes" in str(talk.report())


def test_a_new_one_is_drawn_when_the_last_is_over(hands):
    talk = interview.mock(WITH_CODE)
    while record.standing(WITH_CODE).present:
        talk.next(leave=True)
    other = interview.mock()
    assert other.seed != WITH_CODE
    assert interview.mock().seed == other.seed
    assert interview.mock(anew=True).seed != other.seed


def test_the_one_that_was_begun_last_goes_on_after_the_clock_was_set_back(hands, monkeypatch):
    over = interview.mock(WITH_CODE)
    while record.standing(WITH_CODE).present:
        over.next(leave=True)
    yesterday = time.time() - 86400
    monkeypatch.setattr(time, "time", lambda: yesterday)
    begun = interview.mock()
    assert begun.seed != WITH_CODE
    restarted()
    assert interview.mock().seed == begun.seed


def test_cells_that_are_run_once_more_leave_nothing_out(hands):
    """As after a restart, when all cells run again, those that went on among them."""
    talk = interview.mock(WITH_CODE)
    talk.next()
    warm_up(talk, hands, (right, 90), (right, 70))
    walk = f": {draw(WITH_CODE).parts[-1].what}"
    for _ in range(4):
        restarted()
        hands(10)
        talk = interview.mock(WITH_CODE).next().next()
        said = repr(talk)
        assert "This part is not done yet." in said
        assert "`talk.next(leave=True)` before that" in said
        assert f"Drill 3 of {MANY}" in said
        assert walk not in str(talk.report())  # nor does the report tell what is still to come
    assert f"Code: {TASK}" in repr(talk.next(leave=True))
    assert "This part is not done" not in repr(talk)
    assert "`talk.next()` goes on." in talk.submit(ANSWERS[TASK][0]).aside
    assert WALKS[draw(WITH_CODE).parts[-1].what]().question in repr(talk.next())


def test_two_tabs_have_one_interview(hands):
    one = interview.mock(WITH_CODE)
    restarted()
    two = interview.mock(WITH_CODE)
    hands(60)
    assert one.left == two.left == 60 * WHOLE
    one.next()
    said = repr(two.next())  # it shows what is there now, and leaves nothing
    assert "Another tab has gone on meanwhile" in said
    assert "Drill 1 of" in said
    assert "Another tab" not in repr(two)
    two.submit(right(draw(WITH_CODE).drills[0]), 90)
    assert f"Drill 2 of {MANY}" in repr(one)
    two.pause()
    assert "paused" in one.pause().body


def test_a_clock_that_is_set_back_changes_nothing_and_is_said(hands):
    talk = interview.mock(WITH_CODE)
    talk.next()
    hands(60, wall=-86400)
    warm_up(talk, hands, (right, 90))
    talk.next(leave=True)
    hands(10, wall=-86400)
    talk.submit(wrong_code(0))
    talk.submit(ANSWERS[TASK][0])
    restarted()
    talk = interview.mock(WITH_CODE)
    assert talk.left == 60 * WHOLE - 130
    assert "set back by 24:00:00" in words_of(talk.report())
    talk.next()
    assert talk.report().words == {f"{MANY} drills": "no hire", f"Code: {TASK}": "hire"}


def test_what_another_version_wrote_is_said_and_kept(hands):
    progress.record("mock", "mock 5", did="begin", attempt=3, drills=[["sung", 1]], parts=[["lunch", ""]])
    progress.record("mock", "mock 5", did="danced", attempt="many")
    progress.record("mock", "mock 5")
    progress.record("mock", "mock ²", did="begin", attempt=1)
    before = progress.events()
    assert interview.mock().seed != 5  # nothing that can be gone on with
    talk = interview.mock(5)
    assert "was begun with another version of the course" in repr(talk)
    assert "another version" not in repr(talk)
    assert all(event in progress.events() for event in before)
    progress.record("mock", "mock 5", did="try", attempt=4, part=None, title=["<b>"], used="noon")
    progress.record("mock", "mock 5", did="left", attempt=4, part=["drills"])
    progress.record("walk", "gpu", ticked="all", points="many", number=[])
    talk.next()
    assert f"Drill 1 of {MANY}" in repr(talk)
    assert "not over yet" in str(talk.report())
    progress.record("mock", "mock 5", did="begin", attempt=9)
    for call in talk.next, talk.pause, talk.report, lambda: talk.submit("1", 50), lambda: repr(talk):
        with pytest.raises(ConvError, match="another version of the course has begun this interview anew"):
            call()


@pytest.mark.parametrize("seed", [-1, 1.5, "1", True, 2**40, [1]])
def test_a_seed_that_is_none_is_refused(hands, seed):
    with pytest.raises(ConvError, match="seed"):
        interview.mock(seed)
    assert progress.events() == []


# -- the rule ----------------------------------------------------------------------------------------------


def came(part, used, state=SOLVED, **what):
    return Came(part, Reading(used, state), True, **what)


def answered(right, sure=50):
    return Answered(drill("flops", 1), record.Judged(1.0, "", Note(right, "")), sure, 1.0)


def said(made, missing=0):
    """Return a round of "gpu" with so many of 10 points: first those that must come, but for some missing."""
    essential = [point.title for point in WALKS["gpu"]().points if point.must]
    ticked = [*essential[missing:], *("another",) * made][:made]
    return walks.Round("gpu", tuple(ticked), 10, None, 1, 0.0)


def tries(count, solved=True):
    return tuple(record.Try(solved and n == count - 1, "", "", "", 0.0) for n in range(count))


@pytest.mark.parametrize(
    ("one", "level"),
    [
        *((came(Part(DRILLS), 60, answers=(answered(True),) * n), max(n - 2, 0)) for n in range(6)),
        (came(Part(DRILLS), 601, answers=(answered(True),) * 5), HIRE),
        (came(Part(DRILLS), 60, answers=(*[answered(True)] * 4, answered(False, 90))), BORDERLINE),
        (came(Part(DRILLS), 60, answers=(*[answered(True)] * 4, answered(False, 70))), HIRE),
        (came(Part(DRILLS), 60, answers=(answered(False, 90),) * 5), NO),
        (came(Part(CODE, TASK), 60, tries=tries(1)), STRONG),
        (came(Part(CODE, TASK), 60, tries=tries(3)), HIRE),
        (came(Part(CODE, TASK), 60, tries=tries(4)), BORDERLINE),
        (came(Part(CODE, TASK), 1201, tries=tries(1)), BORDERLINE),
        (came(Part(CODE, TASK), 60, "given up", tries=tries(2, solved=False)), NO),
        (came(Part(CODE, TASK), 60, "given up"), NO),
        (came(Part(WALK, "gpu"), 60), NO),
    ],
)
def test_the_rule_of_a_part(one, level):
    assert rating.rated(one).level == level
    assert rating.rated(one).sentence.endswith(".")


@pytest.mark.parametrize(
    ("made", "missing", "used", "level"),
    [
        (8, 0, 720, STRONG),
        (7, 0, 9, HIRE),
        (6, 0, 9, HIRE),
        (5, 0, 9, BORDERLINE),
        (3, 0, 9, NO),
        (8, 0, 721, HIRE),
        (10, 1, 60, HIRE),
        (5, 10, 60, BORDERLINE),
    ],
)
def test_the_rule_of_a_walk(made, missing, used, level):
    one = rating.rated(came(Part(WALK, "gpu"), used, said=said(made, missing)))
    assert one.level == level
    assert one.sentence.endswith(".")


@pytest.mark.parametrize(
    ("drills", "code", "board", "level"),
    [
        (3, [3], 3, 3),
        (2, [3], 2, 2),
        (3, [3], 1, 2),
        (3, [3], 0, 1),
        (0, [0], 3, 0),
        (1, [2], 3, 2),
        (3, [3, 0], 3, 2),
        (3, [3, 2], 3, 3),
    ],
)
def test_the_rule_of_the_whole(drills, code, board, level):
    kind = CODE if len(code) == 1 else BUG
    parts = [
        (Part(DRILLS), drills),
        *((Part(kind, str(n)), one) for n, one in enumerate(code)),
        (Part(WALK), board),
    ]
    rows = [(came(part, 1), rating.Rating(one, "")) for part, one in parts]
    assert rating.whole(rows).level == level


# -- the report as a page ----------------------------------------------------------------------------------


class Tags(HTMLParser):
    def __init__(self, page):
        super().__init__()
        self.open, self.links = [], []
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        self.links += [value for name, value in attributes if name in ("href", "src")]
        if tag not in ("meta", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_a_report_is_a_page_of_its_own(hands, tmp_path):
    talk = weak(interview.mock(WITH_CODE), hands)
    file = talk.report().save(tmp_path / "report.html")
    page = file.read_text(encoding="utf-8")
    assert page.startswith("<!doctype html>")
    tags = Tags(page)
    assert tags.open == []
    assert tags.links
    assert all(re.fullmatch(r"\d\d_\w+\.ipynb(#.+)?", link) for link in tags.links)  # and nothing else
    assert "<script" not in page
    assert 'class="cl-word" aria-current="true">no hire' in page
    assert talk.report()._repr_html_() in page
    assert "Mock interview" in page
    assert talk.report().save(str(file)) == file  # over its own


def test_a_report_writes_over_nobodys_file(hands, tmp_path):
    report = interview.mock(WITH_CODE).report()
    (tmp_path / "thesis.html").write_text("<h1>mine</h1>")
    for name in "thesis.html", "", "no/such/folder.html":
        with pytest.raises(ConvError, match="path="):
            report.save(tmp_path / name)
    with pytest.raises(ConvError, match="path"):
        report.save(3)
    assert (tmp_path / "thesis.html").read_text() == "<h1>mine</h1>"


def test_all_text_of_a_report_is_escaped(hands):
    evil = "<script>alert(1)</script>"  # no space in it
    talk = interview.mock(WITH_CODE).next()
    now = record.standing(WITH_CODE)
    one = now.draw.drills[0]
    keep(progress.here(), one, one.verdict(slipped(one))._replace(slip=evil), 90)
    for part in now.draw.parts:
        talk.next(leave=True)
        record.tried(now, part, Note(False, evil, f"Case 1 of 2: {evil}", diagnosis=evil))
    report = talk.report()
    assert "".join(str(report).split()).count(evil) >= 3  # lines are broken
    assert "<script" not in report._repr_html_()
    assert "&lt;script&gt;" in report._repr_html_()


def test_a_report_needs_no_course_to_be_shown(hands, monkeypatch):
    from convlab.interview import places

    monkeypatch.setattr(places, "_notebooks", dict)
    report = weak(interview.mock(WITH_CODE), hands).report()
    assert "notebook" in str(report)
    assert "<a " not in report._repr_html_()


# -- in a terminal -----------------------------------------------------------------------------------------


def terminal(folder, *options, typed):
    command = ["interview", "mock", "--work", str(folder), *map(str, options)]
    return CliRunner().invoke(app, command, input="".join(f"{line}\n" for line in typed))


def drilled(seed):
    """Return what somebody types who knows all drills, and is sure."""
    return [line for one in draw(seed).drills for line in (right(one), "90")]


@in_turns
@sampled(0)  # each file is tried in a process of its own
def test_a_mock_in_a_terminal(tmp_path):
    (tmp_path / "mine.py").write_text(
        TASKS[TASK].exercise.source.replace("def ", "import numpy as np\n\ndef ", 1)
    )
    (tmp_path / "broken.py").write_text("def conv2d(:")
    (tmp_path / "other.py").write_text("x = 1")
    walk = WALKS[draw(WITH_CODE).parts[-1].what]()
    files = [tmp_path / f"{name}.py" for name in ("broken", "other", "none", "mine")]
    typed = ["", *drilled(WITH_CODE), "", "~nobody-is-called-so/a.py", *files, "", *["y"] * len(walk.points)]
    done = terminal(tmp_path, "--seed", WITH_CODE, "--report", tmp_path / "report.html", typed=typed)
    said = " ".join(done.stdout.split())
    assert (done.exit_code, done.stderr) == (0, "")
    assert f"Mock interview {WITH_CODE}: strong hire" in said
    assert f"Code: {TASK} hire Solved with 3 tries" in said
    assert "It is no Python" in said
    assert f"There is no `{TASKS[TASK].exercise.solution.__name__}` in other.py." in said
    assert "none.py' is no file that is there" in said
    assert "a.py' is no file that is there" in said
    assert "Right, in all" in said
    assert "strong hire" in (tmp_path / "report.html").read_text()
    again = terminal(tmp_path, "--seed", WITH_CODE, typed=[])
    assert f"Mock interview {WITH_CODE}: strong hire" in again.stdout  # it is over, and stays so
    assert "not over yet" in terminal(tmp_path, "--seed", WITH_CODE, "--anew", typed=[]).stdout


@pytest.mark.parametrize("kept", ["nowhere", "waiting"])
def test_a_mock_in_a_terminal_says_that_it_is_not_kept(tmp_path, monkeypatch, kept):
    memory = progress.of(tmp_path if kept == "waiting" else None)
    (tmp_path / progress.NAME).mkdir()  # no file can be written there
    monkeypatch.setattr("convlab.commands.interview.memory_of", lambda work: memory)
    said = " ".join(terminal(tmp_path, "--seed", WITH_BUGS, typed=[""]).stdout.split())
    why = "it is no ordinary file" if kept == "waiting" else "There is no folder of yours here"
    assert said.startswith(f"Mock interview {WITH_BUGS}. ")
    assert said.count(why) >= 2  # before it begins, and at the end
    assert "nothing is lost" not in said
    assert "goes on" not in said


@sampled(0)
def test_a_mock_in_a_terminal_that_ends_early_goes_on(tmp_path):
    done = terminal(
        tmp_path, "--seed", WITH_BUGS, typed=["", *drilled(WITH_BUGS), "many", "99", "x", "3", "("]
    )
    said = " ".join(done.stdout.split())
    assert done.exit_code == 0
    assert said.count("please, or `leave`") == 3
    assert "it is no Python" in said
    assert f"`convlab interview mock --seed {WITH_BUGS} --work {tmp_path}` goes on." in said
    assert "is not judged" in said
    with progress.kept_in(progress.of(tmp_path)):
        now = record.standing(WITH_BUGS)
        assert now.clock(now.present).read().state == "paused"
        assert now.present.kind == BUG
    seed = int(now.present.what)
    name, mistake = round_of(seed)
    line = wrong_line(EXERCISES[name], mistake)
    done = terminal(tmp_path, typed=[line, plain(EXERCISES[name])[line - 1], "leave", ""])
    assert "Mended." in done.stdout
    words = " ".join(done.stdout.split())
    assert f"Find the bug: {seed} hire Solved with 2 tries" in words
    assert f"Find the bug: {seed + 1} no hire Passed over" in words
    assert f"in a terminal convlab interview bug {seed + 1} --work {tmp_path}" in words


def test_where_a_report_goes_is_settled_before_anything_is_asked(tmp_path):
    (tmp_path / "file").touch()
    done = terminal(tmp_path / "work", "--report", tmp_path / "file" / "report.html", typed=[])
    assert done.exit_code == 2
    assert "--report" in done.stderr
    assert not list((tmp_path / "work").glob("*.sqlite"))


def test_a_report_is_refused_before_anything_is_asked(tmp_path):
    (tmp_path / "thesis.html").write_text("<h1>mine</h1>")
    done = terminal(tmp_path / "work", "--report", tmp_path / "thesis.html", typed=[])
    assert done.exit_code == 2
    assert "holds something else" in done.stderr
    assert not list((tmp_path / "work").glob("*.sqlite"))


def test_a_report_whose_name_is_too_long_is_refused_in_words(tmp_path):
    done = terminal(tmp_path / "work", "--report", tmp_path / f"{'r' * 300}.html", typed=[])
    assert done.exit_code == 2
    assert "File name too long" in done.stderr
    assert not list((tmp_path / "work").glob("*.sqlite"))
