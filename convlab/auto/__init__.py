"""Which algorithm? What "auto" asks, and what `convlab.autotune` and `convlab bench speeds` measure.

Read in this order:

    select                  the choice; `magnitudes`: are these numbers safe in a transform?
    ranking                 the fastest on the CPU: as it was measured, or as it is predicted
    predict                 the model of a run's time; `speeds` it goes by: measured here, or `shipped`
    roofs, overheads        what those speeds are; `measure` measures them
    timing, autotune        how anything is timed; algorithms in turns, the fastest remembered
    machine_file            what was measured, kept on disk
"""
