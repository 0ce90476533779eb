"""Tasks against the clock: a convolution in stages, kernels, and rounds of finding a bug.

Read in this order:

    clock                   how time is kept, whatever is closed meanwhile
    timed, ways, view       a task with its clock, how one goes on with it, and how a page shows it
    tasks/                  the tasks: a file for each
    bug_rounds, mending     which mistakes of the course make a round, and a round
    begin                   how they are begun
    terminal, outside       the same in a terminal; an answer in a file, tried in a process of its own
"""
