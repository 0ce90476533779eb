"""Sums and concatenations that a convolution can do on its way: nodes that need no pass over memory any more.

A convolution ends with an epilogue (`convlab.cpu.epilogue`): what is to be added is added while its sums are
in registers, and it may store them where it likes. So

* a sum becomes part of the convolution that makes one of its summands: the other one is its residual, and
  the sum is written over it where nobody else wants that;
* what is to lie side by side is written side by side: the wide array is there first, and each convolution
  fills its channels of it.

Bias and ReLU are always part of the convolution. Libraries call all of this fusion. PyTorch's eager mode
cannot do it: it never sees two nodes at once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import replace

from convlab.networks.graph import Node
from convlab.support.checked import checked


@checked
def fuse(nodes: Sequence[Node], able: Collection[str]) -> tuple[Node, ...]:
    """Return the nodes with sums and concatenations taken along by convolutions.

    Parameters
    ----------
    nodes : sequence of Node
    able : collection of str
        The convolutions whose algorithm has an epilogue; others stay as they are.

    Returns
    -------
    tuple of Node
        A convolution that adds has the name of the sum, its own as `layer`, and the residual as its second
        input. One that fills a part of a wider array names it in `into`; that one, a node of op "room", comes
        before it.
    """
    readers = Counter(name for node in nodes for name in node.inputs)
    able = {
        node.name for node in nodes if node.op == "conv" and node.name in able and readers[node.name] == 1
    }
    linear = {node.name for node in nodes if not node.relu}
    adds = {
        node.name: next(name for name in node.inputs if name in able & linear)
        for node in nodes
        if node.op == "add" and able & linear & {*node.inputs}
    }
    rooms = {node.name: node for node in nodes[:-1] if node.op == "concat" and able >= {*node.inputs}}
    parts = {name: room for room in rooms.values() for name in room.inputs}
    made = {node.name: node for node in nodes}
    fused: list[Node] = []
    opened: set[str] = set()  # the rooms that are there already
    for node in nodes:
        if node.name in adds:
            conv = made[adds[node.name]]
            (other,) = (name for name in node.inputs if name != conv.name)
            fused.append(
                replace(conv, name=node.name, layer=conv.name, inputs=(*conv.inputs, other), relu=node.relu)
            )
        elif node.name in parts:
            room = parts[node.name]
            before = room.inputs[: room.inputs.index(node.name)]
            if room.name not in opened:
                opened.add(room.name)
                fused.append(replace(room, op="room", inputs=()))
            fused.append(replace(node, into=room.name, first=sum(made[name].shape[3] for name in before)))
        elif node.name not in rooms and node.name not in adds.values():
            fused.append(node)
    return tuple(fused)
