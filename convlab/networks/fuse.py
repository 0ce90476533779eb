"""Which biases and ReLUs can wait, so that fewer passes go over memory.

After a convolution its output is read and written once more, for the bias and ReLU. Where the next node goes
over the same numbers anyway, and nobody else wants them, it can do both on the way:

* a sum adds one more number;
* a copy, side by side with another array, need not be a plain copy;
* a max pool can come first: the largest of ``max(y + bias, 0)`` is ``max(largest y + bias, 0)``, to the last
  bit, for all that happens to y keeps its order. And after the pool a quarter of the numbers is left.

Libraries call this fusion. PyTorch's eager mode cannot do it: it never sees two nodes at once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from convlab.networks.graph import Node
from convlab.support.checked import checked

WAITS_FOR = ("max_pool", "add", "concat")


@checked
def fusable(nodes: Sequence[Node]) -> dict[str, str]:
    """Return the convolutions whose bias and ReLU can wait, each with the node that takes them along."""
    readers = Counter(name for node in nodes for name in node.inputs)
    convolutions = {node.name for node in nodes if node.op == "conv"}
    return {
        name: node.name
        for node in nodes
        if node.op in WAITS_FOR
        for name in node.inputs
        if name in convolutions and readers[name] == 1
    }
