"""Notebook 14: how many blocks a multiprocessor has room for."""

from __future__ import annotations

from convlab.gpu.occupancy import occupancy
from convlab.lessons.exercise import Exercise, Mistake


def blocks_at_once(threads, registers, shared_bytes):
    """Return the blocks that fit; `registers` are those of one thread."""
    # your code here
    by_threads = 2048 // threads
    by_registers = 65536 // (registers * threads)
    by_shared = 228 * 1024 // (shared_bytes + 1024)
    return min(by_threads, by_registers, by_shared, 32)


EXERCISE = Exercise(
    notebook="14",
    statement="blocks_at_once(threads, registers, shared_bytes) returns how many blocks a multiprocessor of "
    "an H100 has room for; threads and shared_bytes are those of a block, registers those of a thread.",
    solution=blocks_at_once,
    why="Four things can run out, and the one that is short first decides: the least of the four. A block "
    "that does not fit whole does not fit, so each is rounded down.",
    hints=(
        "There are four limits. How many blocks does each of them allow, if it were the only one?",
        "A block takes threads * registers of the registers, and its shared memory is shared_bytes and the "
        "system's 1024. What is left over is not enough for one more.",
        "min(2048 // threads, 65536 // (threads * registers), 228 * 1024 // (shared_bytes + 1024), 32).",
    ),
    cases=lambda: (
        (256, 24, 1024),  # threads are the limit
        (256, 128, 16640),  # registers
        (128, 32, 48128),  # shared memory
        (128, 32, 15360),  # and the system's part of it counts
        (32, 32, 0),  # no more blocks than that, however small
        (1024, 64, 8192),
        (1024, 32, 47104),
        (256, 128, 118784),  # two by registers, one by shared memory
        (384, 40, 4096),  # none comes out even
        (96, 72, 20480),
        (64, 168, 0),
        (768, 24, 0),
        (256, 96, 0),
        (128, 32, 16256),
        (96, 32, 12288),
        (128, 32, 115712),  # two take the shared memory to the last byte
    ),
    answer=lambda threads, registers, shared_bytes: (
        occupancy("sm_90", threads, registers, shared_bytes).blocks
    ),
    mistakes=(
        Mistake(
            "takes the system's part off twice",
            {"228 * 1024": "227 * 1024"},
            "228 KiB are what there is; the system's 1024 bytes go with every block, and nothing else does.",
        ),
        Mistake(
            "forgets the threads",
            {"min(by_threads, ": "min("},
            "A multiprocessor keeps 2048 threads at once. Blocks with few registers run into that first.",
        ),
        Mistake(
            "takes the threads of the largest block for all there are",
            {"2048": "1024"},
            "1024 threads are the most that *one* block may have. A multiprocessor has room for more.",
        ),
        Mistake(
            "forgets the registers",
            {"by_registers, by": "by"},
            "All threads of all blocks keep their registers at the same time. `registers` are those of "
            "*one*: a block has as many times more as it has threads.",
        ),
        Mistake(
            "takes 65536 for bytes",
            {"65536": "65536 // 4"},
            "65536 is how many registers there are, of four bytes each.",
        ),
        Mistake(
            "counts the registers of a warp",
            {"(registers * threads)": "(registers * 32)"},
            "A block has more than one warp, as a rule, and all of them have registers.",
        ),
        Mistake(
            "forgets the shared memory",
            {"by_shared, 32": "32"},
            "Each block has shared memory of its own, and together they have 228 KiB.",
        ),
        Mistake(
            "forgets what the system takes of the shared memory",
            {"(shared_bytes + 1024)": "max(shared_bytes, 1)"},
            "For each block 1024 bytes more are gone.",
        ),
        Mistake(
            "takes the system's part off once, not for each block",
            {"228 * 1024 // (shared_bytes + 1024)": "227 * 1024 // max(shared_bytes, 1)"},
            "The system takes its 1024 bytes for *each* block: they come on top of what the block asks for.",
        ),
        Mistake(
            "forgets the most blocks there can be",
            {", 32)": ")"},
            "However small they are, no more than 32 blocks are kept.",
        ),
        Mistake(
            "takes the loosest of the limits",
            {"return min": "return max"},
            "A block needs all of it: threads, registers and shared memory. What runs out first decides.",
        ),
        Mistake(
            "has 48 KiB of shared memory for all",
            {"228 *": "48 *"},
            "48 KiB is what one block gets unless it asks for more. The multiprocessor has 228.",
        ),
        Mistake(
            "counts whole KiB only",
            {"228 * 1024 // (shared_bytes + 1024)": "228 // (shared_bytes // 1024 + 1)"},
            "A block may ask for a part of a KiB: divide bytes by bytes.",
        ),
        Mistake(
            "divides with a fraction",
            {"//": "/"},
            "A block that does not fit whole does not fit.",
        ),
        Mistake(
            "rounds to the nearest number",
            {"//": "/", "return min(by": "return round(min(by", ", 32)": ", 32))"},
            "A block that does not fit whole does not fit.",
        ),
        Mistake(
            "rounds up",
            {
                "2048 // threads": "-(-2048 // threads)",
                "65536 // (": "-(-65536 // (",
                "threads)\n    by_shared": "threads))\n    by_shared",
                "228 * 1024 // (shared_bytes + 1024)": "-(-228 * 1024 // (shared_bytes + 1024))",
            },
            "What is left over is too little for one more block.",
        ),
        Mistake(
            "returns the share of the threads",
            {", 32)": ", 32) * threads / 2048"},
            "That is the occupancy. Asked is how many blocks fit.",
        ),
        Mistake(
            "returns warps",
            {", 32)": ", 32) * threads // 32"},
            "Asked is how many blocks fit. A block has several warps.",
        ),
    ),
)
