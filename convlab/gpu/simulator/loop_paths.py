"""How far a thread has come: in which calls, and in which iteration of every loop around it.

Threads of a warp run one after the other here. What they did "at the same time" is what they did on the same
path, at the same place. A path is a node of a tree that all threads of a launch share, so two threads are on
the same path if they stand on the same node.
"""

from __future__ import annotations

SOME_ROUNDS = 64


class Path:
    """A node: the body of a function, or one iteration of a loop.

    Attributes
    ----------
    tree, number : list of Path, int
        All nodes of the launch, the root first, and its place among them.
    outer : Path or None
        The path that the loop, or the call, is on.
    code : code object
        The function it belongs to.
    iteration : int
        0, 1, ... in the body of a loop; -1 before the first.
    following : Path or None
        The next iteration, if any thread has come there; None after some rounds, to ask for `next` again.
    called : dict
        The bodies of functions that are called from here, by (instruction, ``id`` of their code).
    caller : int or None
        For the body of a called function: the instruction that called it.
    """

    __slots__ = (
        "_first",
        "_next",
        "called",
        "caller",
        "code",
        "following",
        "iteration",
        "number",
        "outer",
        "tree",
    )

    def __init__(self, tree, outer, code, iteration, caller):
        self.tree, self.outer, self.code, self.iteration, self.caller = tree, outer, code, iteration, caller
        self.number = len(tree)
        tree.append(self)
        self._first = self._next = self.following = None
        self.called = {}

    def enter(self) -> Path:
        """Return the path at the head of a loop; loops in a row share it, their places differ."""
        if self._first is None:
            self._first = Path(self.tree, self, self.code, -1, None)
        return self._first

    def next(self) -> Path:
        """Return the path of the loop's next iteration."""
        if self._next is None:
            self._next = Path(self.tree, self.outer, self.code, self.iteration + 1, None)
            if self._next.iteration % SOME_ROUNDS:
                self.following = self._next
        return self._next

    def call(self, instruction: int, code) -> Path:
        """Return the path in the body of a function called from here."""
        key = (instruction, id(code))
        if key not in self.called:
            self.called[key] = Path(self.tree, self, code, -1, instruction)
        return self.called[key]

    def iterations(self) -> tuple[int, ...]:
        """Return the iteration of every loop around it, the outermost first."""
        if self.outer is None:
            return ()
        mine = () if self.caller is not None else (self.iteration,)
        return self.outer.iterations() + mine

    def calls(self) -> tuple:
        """Return (code, instruction) of every call around it, the outermost first."""
        if self.outer is None:
            return ()
        mine = () if self.caller is None else ((self.outer.code, self.caller),)
        return self.outer.calls() + mine
