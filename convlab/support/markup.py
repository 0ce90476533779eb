"""Names from outside, put where markup is read: nobody's processor is called ``<script>`` by accident.

HTML itself is escaped by `html.escape`. Here are the two places that this does not serve.
"""

from __future__ import annotations

import json
import re
from typing import Any

_MARKS = re.compile(r"([\\`*\[\]<>|#~&$!])")


def as_script(value: Any) -> str:
    """Return a value as JSON that may stand inside ``<script>``.

    A ``<`` occurs only in texts, where it can be written by its number. So neither ``</script>`` nor
    ``<!--``, after which a browser reads on past the end of the script, can be in it.
    """
    return json.dumps(value).replace("<", r"\u003c")


def as_markdown(text: str) -> str:
    """Return words for a line or a table of Markdown: without line breaks, and every mark as itself."""
    return _MARKS.sub(r"\\\1", " ".join(text.split()))
