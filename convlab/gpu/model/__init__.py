"""How long will a launch take? A model of a GPU's time, from what a kernel asks of each of its units.

    speeds           how fast the units are: from a datasheet, a driver, and what others measured
    work             what a launch asks of them, and the time that follows
    count            a kernel's work, from its machine code and from its requests

Nothing in it is fitted to the time of a kernel.
"""
