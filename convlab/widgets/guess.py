"""A guess: a question, a number to commit to, and what it is, which stays sealed until then."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping

import traitlets

from convlab.errors import ParameterError
from convlab.figures.picture import Picture
from convlab.figures.style import Words
from convlab.support.checked import checked
from convlab.support.measured import Measured
from convlab.support.units import factor_between, number_text
from convlab.widgets.shared.live import WAITING, Live
from convlab.widgets.shared.traits import Choice

SURE = ("10", "30", "50", "70", "90")  # percent, to choose from
CLOSE, RIGHT = 1.25, 2.0  # times too large or too small
ALIKE = 0.03  # a guess so near to a misconception, relative to it, is taken for it
SENTENCES = {
    "how sure": "How sure are you that you are within a factor of two?",
    "verdict": "You said {guess}; it is {actual} {unit}: {how}.",
    "noisy": "You said {guess}. Other programs disturbed what was measured: it is somewhere from {actual} "
    "{unit}, which is too wide to judge by.",
    "ends": "{low} to {high}",
    "exact": "exactly",
    "close": "close",
    "within": "within a factor of two",
    "off": "off {ratio} times",
    "apart": "{by} apart",
    "across": "{by} apart, and on the other side of zero",
    "was sure": "You were {sure} % sure to be within a factor of two.",
    "waiting": WAITING,
}


@checked
class Guess(Live):
    """A question, and a field for a number; the answer shows when the number is locked.

    Parameters
    ----------
    name : str
        What the guess is remembered by.
    question : str
        With `code` and *emphasis*.
    actual : float
        What was computed or measured: any finite number. One that keeps its interval, `Measured`, is told by
        it, and not judged by where it is too wide.
    unit : str
        The unit of both.
    because : str
        The explanation: paragraphs with an empty line between them, `code` and *emphasis*.
    misconceptions : mapping of float to str, optional
        What is said of a guess that is (within 3 percent) a known wrong one, and not nearer to `actual`.
    figure : Picture, optional
        What would give the answer away.

    Attributes
    ----------
    guesses : list of dict
        Of every guess that was locked "guess" and "sure" (in percent). The first one counts.

    Raises
    ------
    ConvError
        If an argument is none of these.
    """

    sentences = SENTENCES
    measured_here = None  # its look is the reader's own: no photograph

    name, question, unit = (traitlets.Unicode().tag(sync=True) for _ in range(3))
    sealed = traitlets.Unicode().tag(sync=True)  # the answer, as the page opens it
    guesses = traitlets.List().tag(sync=True)
    heard = traitlets.Int().tag(sync=True)  # how many of them Python has; the page keeps the others
    sure = Choice(("", *SURE))  # what is chosen, and not locked yet
    trouble = traitlets.Unicode().tag(sync=True)  # what the reader should know, of their memory

    def __init__(
        self,
        name: str = "",
        question: Words = "A filter has 3 rows and 3 columns. How many numbers does it read at each stop?",
        actual: float = 3 * 3,
        unit: str = "numbers",
        because: str = "",
        misconceptions: Mapping[float, Words] | None = None,
        figure: Picture | None = None,
    ):
        self._actual = actual if isinstance(actual, Measured) else Measured(actual)
        self._because = because
        answer = {
            "actual": float(actual),
            "ends": self._actual.ends,
            "noisy": self._actual.noisy,
            "because": because,
            "misconceptions": [[float(guess), said] for guess, said in (misconceptions or {}).items()],
            "figure": figure._repr_html_() if figure else "",
        }
        sealed = base64.b64encode(json.dumps(answer).encode()).decode()
        question = " ".join(question.split())  # from a text over several lines
        super().__init__(name=name, question=question, unit=unit, sealed=sealed)

    def tables(self) -> str:
        """Return the limits of the verdicts."""
        limits = {"SURE": list(SURE), "CLOSE": CLOSE, "RIGHT": RIGHT, "ALIKE": ALIKE}
        return f"const LIMITS = {json.dumps(limits)};\n"

    @traitlets.validate("guesses")
    def _check_guesses(self, proposal):
        for one in proposal["value"]:
            if not (isinstance(one, dict) and {"guess", "sure"} <= one.keys()):
                raise ParameterError(f"guesses has {one!r}; expected dicts with a guess, and how sure it was")
        return proposal["value"]

    @traitlets.observe("guesses")
    def _hear(self, change):
        self.heard = len(change["new"])

    def describe(self) -> str:
        """Return the question, and once it is locked the verdict and the explanation."""
        if not self.guesses:
            return f"{self.question} Predict a number, in this unit: {self.unit}. {self._say('how sure')}"
        first = self.guesses[0]
        sure = self._say("was sure", sure=first["sure"])
        said = f"{self.question} {self._verdict(first['guess'])} {sure} {self._because}"
        return " ".join(said.split())

    def _verdict(self, guess: float) -> str:
        """Return in words how far a guess lies from what it is."""
        ends = self._actual.ends
        nearest = min(max(guess, ends[0]), ends[-1])
        factor, by = factor_between(guess, nearest), number_text(abs(guess - nearest), 3)
        if guess == nearest:
            how = self._say("exact" if len(ends) == 1 else "close")
        elif guess > 0 < nearest or guess < 0 > nearest:
            word = "close" if factor < CLOSE else "within" if factor <= RIGHT else "off"
            how = self._say(word, ratio=number_text(factor, 3))
        else:
            how = self._say("across" if guess and nearest else "apart", by=by)
        told = [number_text(end) for end in ends]
        actual = told[0] if len(ends) == 1 else self._say("ends", low=told[0], high=told[1])
        values = {"guess": number_text(guess), "actual": actual, "unit": self.unit}
        return self._say("noisy", **values) if self._actual.noisy else self._say("verdict", **values, how=how)
