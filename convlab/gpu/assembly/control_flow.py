"""The loops in machine code, found by where its jumps lead."""

from __future__ import annotations

from collections import defaultdict
from itertools import pairwise

from convlab.gpu.assembly.sass import Code, Operation


def loops(code: Code) -> tuple[Code, ...]:
    """Return the loops, in the order they begin; an inner loop's instructions are in the outer one too.

    A jump closes a loop if every way to it passes its target; the loop is all that lies on the ways between
    the two (A. Aho, M. Lam, R. Sethi, J. Ullman, Compilers, 2nd edition, section 9.6).
    """
    blocks, follows = _flow(code)
    before = _turned(follows)
    passed = _passed(follows, before)
    bodies: dict[int, set[int]] = defaultdict(set)  # where a loop begins -> the blocks of one turn
    for block in passed:
        for head in follows[block] & passed[block]:
            body, ahead = {head, block}, [block] if block != head else []
            while ahead:
                new = before[ahead.pop()] - body
                body |= new
                ahead += new
            bodies[head] |= body
    return tuple(
        Code(tuple(operation for block in sorted(body) for operation in blocks[block]))
        for _, body in sorted(bodies.items())
    )


def main_loop(found: tuple[Code, ...]) -> Code:
    """Return the loop with the most multiply-adds, if every loop takes ten turns.

    What stands in a loop inside counts for that one alone. Among equals, loads and stores decide, then the
    number of instructions.
    """
    places = [{operation.address for operation in loop.operations} for loop in found]

    def turns(number: int) -> list[int]:
        inner = set().union(*(other for other in places if other < places[number]))
        own = Code(tuple(o for o in found[number].operations if o.address not in inner))
        depth = sum(places[number] < other for other in places)
        return [count * 10**depth for count in (own.multiply_adds, own.memory.total(), len(own))]

    return found[max(range(len(found)), key=turns)]


def _flow(code: Code) -> tuple[dict[int, list[Operation]], dict[int, set[int]]]:
    """Return the blocks, by their first address, and which follow on which."""
    # A block is entered at its first instruction alone, and left at its last.
    starts = {operation.target for operation in code.operations}
    starts |= {after.address for operation, after in pairwise(code.operations) if operation.leaves}
    blocks: dict[int, list[Operation]] = {}
    current = 0
    for operation in code.operations:
        current = operation.address if operation.address in starts else current
        blocks.setdefault(current, []).append(operation)
    follows: dict[int, set[int]] = {}
    for block, after in zip(blocks, [*list(blocks)[1:], None], strict=True):
        last = blocks[block][-1]
        reached = last.target, None if last.leaves and not last.guarded else after
        follows[block] = {address for address in reached if address is not None}
    return blocks, follows


def _turned(follows: dict[int, set[int]]) -> dict[int, set[int]]:
    """Return for every block that is ever reached the blocks it follows on."""
    before: dict[int, set[int]] = {0: set()}
    ahead = [0]
    while ahead:
        block = ahead.pop()
        for successor in follows[block]:
            if successor not in before:
                before[successor] = set()
                ahead.append(successor)
            before[successor].add(block)
    return before


def _passed(follows: dict[int, set[int]], before: dict[int, set[int]]) -> dict[int, set[int]]:
    """Return for every block that is ever reached the blocks that every way to it passes, and itself."""
    passed = {block: set(before) for block in before} | {0: {0}}
    ahead = set(before) - {0}
    while ahead:
        block = min(ahead)
        ahead.remove(block)
        known = {block} | set.intersection(*(passed[b] for b in before[block]))
        if known != passed[block]:
            passed[block] = known
            ahead |= follows[block] - {0}
    return passed
