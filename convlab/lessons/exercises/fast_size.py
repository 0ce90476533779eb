"""Notebook 07: sizes that transforms like."""

from __future__ import annotations

from itertools import product

from convlab.lessons.exercise import Exercise, Mistake


def my_fast_size(n):
    """Return the smallest number >= n that has no prime factor but 2, 3 and 5."""
    # your code here
    while True:
        rest = n
        for prime in (2, 3, 5):
            while rest % prime == 0:
                rest //= prime
        if rest == 1:
            return n
        n += 1


def _answer(n) -> int:
    powers = range(n.bit_length() + 1)  # with the last of them 2 alone is beyond n
    sizes = (2**a * 3**b * 5**c for a, b, c in product(powers, repeat=3))
    return min(size for size in sizes if size >= n)


def _next_power(n) -> int:
    return min(next(p**a for a in range(12) if p**a >= n) for p in (2, 3, 5))


def _any_factor(n) -> int:
    while n % 2 and n % 3 and n % 5:
        n += 1
    return n


EXERCISE = Exercise(
    notebook="07",
    statement="my_fast_size(n) returns the smallest number that is not below n and has no factor but 2, 3 "
    "and 5.",
    solution=my_fast_size,
    why="Divide by 2, 3 and 5 as often as that leaves nothing over: if 1 is left, no other prime was in it. "
    "Such numbers lie so close that trying one after the other is quick.",
    hints=(
        "How can you tell of *one* number, say 58 or 60, whether it has a factor other than 2, 3 and 5?",
        "Divide it by 2 as long as nothing is left over, then by 3, then by 5. What remains of 60? Of 58?",
        "A loop over candidates, from n upwards: rest = n; for each prime, `while rest % prime == 0: rest "
        "//= prime`. The first with rest == 1 is the answer.",
    ),
    cases=lambda: (
        *((n,) for n in (7, 8, 1, 2, 11, 13, 31, 21, 49, 58, 86, 127, 210, 251, 257, 377, 1000, 1001)),
        *((n,) for n in (4051, 6551, 15_601, 101_201)),  # many factors 2, 3, 5, and some of each
    ),
    answer=_answer,
    mistakes=(
        Mistake(
            "knows powers of 2 only",
            {"(2, 3, 5)": "(2,)"},
            "128 is fast, but so is 135 = 3 * 3 * 3 * 5: fewer zeros have to be added on the way to it.",
        ),
        Mistake(
            "forgets the factor 5",
            {"(2, 3, 5)": "(2, 3)"},
            "5 is allowed as well, so there is more to choose from.",
        ),
        Mistake(
            "forgets the factor 3",
            {"(2, 3, 5)": "(2, 5)"},
            "3 is allowed as well, so there is more to choose from.",
        ),
        Mistake(
            "allows a factor 7",
            {"(2, 3, 5)": "(2, 3, 5, 7)"},
            "Some libraries are fast with 7, too. Here it ends at 5.",
        ),
        Mistake(
            "allows factors 7 and 11, as SciPy does where numbers are complex",
            {"(2, 3, 5)": "(2, 3, 5, 7, 11)"},
            "Here it ends at 5, as it does in SciPy's transforms of real numbers.",
        ),
        Mistake(
            "is content with one of the factors",
            _any_factor,
            "58 can be divided by 2, but then 29 is left, and that is a prime. No *other* factor may be in "
            "it.",
        ),
        Mistake(
            "wants all three factors",
            {"if rest == 1": "if rest == 1 and n % 30 == 0"},
            "None but 2, 3 and 5: that does not mean that all of them must be there. 8 is a fast size.",
        ),
        Mistake(
            "takes the next even number",
            lambda n: n + n % 2,
            "58 is even, but what is left of it is 29, a prime. It is the largest factor that makes a size "
            "slow.",
        ),
        Mistake(
            "takes powers of one prime",
            _next_power,
            "The three primes may be mixed: 12 = 2 * 2 * 3.",
        ),
        Mistake(
            "takes the next multiple of 30",
            lambda n: -(-n // 30) * 30,
            "Multiples of 30 can have any other factor as well: 210 has a 7. And smaller ones are passed "
            "over.",
        ),
        Mistake(
            "is always larger than n",
            {"    while True:": "    n += 1\n    while True:"},
            "If n itself has no other factor, it is the answer: no zeros need to be added.",
        ),
        Mistake(
            "looks for smaller numbers",
            {"n += 1": "n -= 1"},
            "The transform has to hold all n numbers. It can become larger, never smaller.",
        ),
        Mistake(
            "returns n as it is",
            lambda n: n,
            "31 is a prime, and slow. Which number above it is not?",
        ),
        Mistake(
            "begins at 2",
            {"    while True:": "    n = max(n, 2)\n    while True:"},
            "1 has no prime factor at all, so it has none but 2, 3 and 5.",
        ),
    ),
)
