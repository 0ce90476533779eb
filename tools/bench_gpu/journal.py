"""What a run has found so far: one JSON object a line, only ever appended to.

    {"begin": {...}}                                    what was asked for, and where
    {"device": {...}}  {"roofs": {...}}  {"tests": "33 passed"}
    {"at": ["layers_32: resnet18 conv1", "direct"]}     who is tried now
    {"wrong": ["layers_32: ...", "direct", "why"]}      likewise "refused" and "left out"
    {"row": {...}}                                      a line of the table
    {"done": "layers_32: resnet18 conv1"}

A process that dies has lost nothing but the layer it was at, and the last "at" says who was at work.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from convlab.benchmark.saved import Measurement, Row

_ABOUT_A_CANDIDATE = ("wrong", "refused", "left out")


class Journal:
    """The journal of a file of measurements; it lies beside it.

    Attributes
    ----------
    path : Path
    measurement : Measurement
        All that was found, as it is saved.
    done : set of str
        Layers that need not be measured again.
    at : (str, str) or None
        The layer and the candidate that a process was at when it ended.
    """

    def __init__(self, path: Path):
        self.path, self.measurement = path, Measurement({})
        self.read()

    @property
    def header(self) -> dict:
        """What was asked for, and what was found beside the rows."""
        return self.measurement.header

    def read(self) -> None:
        """Read what there is; a line that was cut off does not count."""
        self.measurement.rows, self.done, self.at = [], set(), None
        text = self.path.read_text(encoding="utf-8") if self.path.exists() else ""
        for line in text.splitlines():
            with suppress(ValueError):
                self._note(json.loads(line))

    def _note(self, line: dict) -> None:
        ((what, found),) = line.items()
        if what == "begin":
            about = {kind: {} for kind in (*_ABOUT_A_CANDIDATE, "failed", "states")}
            self.measurement.header = found | about
        elif what == "row":
            self.measurement.rows.append(Row.from_dict(found))
        elif what == "done":
            self.done.add(found)
            self.at = None
        elif what == "at":
            self.at = found
        elif what in _ABOUT_A_CANDIDATE:
            layer, candidate, why = found
            self.header[what].setdefault(candidate, {}).setdefault(layer, why)
        elif what in ("failed", "states"):
            self.header[what] |= found
        elif what == "resumed":
            self.header["failed"] = {}  # it is tried again
            self.header[what] = [*self.header.get(what, ()), found]
        else:
            self.header[what] = found

    def begin(self, header: dict) -> None:
        """Forget what there is, and begin anew."""
        self.path.write_text(json.dumps({"begin": header}) + "\n", encoding="utf-8")
        self.read()

    def add(self, what: str, found) -> None:
        """Append a line."""
        self._append([{what: found}])

    def keep(self, layer: str, rows: Iterable[Row] = ()) -> None:
        """Append the rows of a layer, and that it is done, at once: never a half of them."""
        self._append([*({"row": row.as_dict()} for row in rows), {"done": layer}])

    def _append(self, lines: list[dict]) -> None:
        with self.path.open("a", encoding="utf-8") as file:
            # It begins with a line break: what a kill has left of the line before stays by itself.
            file.write("\n".join(["", *map(json.dumps, lines), ""]))
        for line in lines:
            self._note(line)

    def failed_on(self, layer: str) -> set[str]:
        """Return who is not tried again on a layer: it was wrong there, or found no room."""
        kinds = self.header["wrong"], self.header["refused"]
        return {name for kind in kinds for name, layers in kind.items() if layer in layers}
