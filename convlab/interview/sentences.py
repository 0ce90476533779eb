"""What is said of an answer, with {names} for what changes.

The card takes them from here, to judge on pages that have no Python.
"""

SENTENCES = {
    # an answer that was understood
    "right": "Right.",
    "wrong": "Not that.",
    "it is": "You said {said}; it is {answer}: {how}.",
    "exactly": "exactly",
    "near enough": "near enough",
    "small slip": "To its last digit, though, yours is what comes out for one who {slip}. {hint}",
    "too far": "You said {said}, which is too {too}.",
    "much": "much",
    "little": "little",
    "slip": "You said {said}. So it comes out for one who {slip}. {hint}",
    # one that was not
    "not judged": "Not judged.",
    "nothing": "Nothing was typed.",
    "long": "That is a text of {letters} characters; a number with its unit is asked for.",
    "no choice": "{text} is none of the words asked for: {words}.",
    "not finite": "{text} is no number that can be right: a finite one is asked for.",
    "negative": "That is below zero, and what is asked for cannot be.",
    "no number": "{text} does not begin with a number.",
    "too large": "That is larger than any number that can be right.",
    "over zero": "A fraction over zero is no number.",
    "two numbers": "`{text}` can be read as {whole}{part} or as {whole}.{part}. Write one of these.",
    "marks": "The marks in {text} stand at no place where numbers have them.",
    # the word behind the number
    "bits or bytes": "`{word}` can be read as bits or as bytes. Write {letter}B, or bit in full.",
    "percent or all": "1 can be read as 1 % or as all of it. Write a percent sign behind the number.",
    "billion or bytes": "B can be read as a billion or as bytes. Write G, or 1.2e9.",
    "speed": "`{word}` is a speed; asked is {asked}.",
    "another unit": "`{word}` measures {other}; asked is {asked}.",
    "no unit": "`{word}` is no unit that is known here. Asked is {asked}.",
}


class NotUnderstood(ValueError):
    """An answer that is not taken for one; the message is one of the sentences."""

    def __init__(self, name: str, **values: object):
        super().__init__(SENTENCES[name].format(**values))
