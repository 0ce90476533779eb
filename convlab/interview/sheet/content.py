"""All blocks of the cheat sheet, in the order in which they are read."""

from __future__ import annotations

from convlab.interview.sheet.block import Block
from convlab.interview.sheet.choices import winners, winograd, workspace
from convlab.interview.sheet.formulas import costs, gradients, letters
from convlab.interview.sheet.machines import gpus, warp
from convlab.interview.sheet.sentences import sentences

TITLE = "How does a 2-D convolution actually run?"
AUTHOR = "convlab"
SUBTITLE = (
    "The interview on one page. Every number on it was computed by convlab, or is told by whom it names."
)


def blocks() -> list[Block]:
    """Return the blocks; every number in them is computed now."""
    return [
        letters(),
        costs(),
        workspace(),
        winners(),
        winograd(),
        gradients(),
        gpus(),
        warp(),
        sentences(),
    ]
