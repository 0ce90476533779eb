"""A repository on GitHub, as commands are told of it."""

from __future__ import annotations

import re

EXPECTED = "OWNER/NAME, as GitHub has it"


def is_repository(text: str) -> bool:
    """Return whether a text can be the name of a repository.

    >>> is_repository("some/course"), is_repository("course"), is_repository("some/course/more")
    (True, False, False)
    """
    return re.fullmatch(r"[\w.-]+/[\w.-]+", text, re.ASCII) is not None
