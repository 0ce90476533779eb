"""What every other room stands on; nothing here knows what a convolution is.

Read `checks` first, which a third of the library calls:

    checks, checked             what an argument must be, and what is said of one that is not
    files, json_store, locks    files that are whole at any moment, whoever else writes them
    aligned, device_arrays      arrays that begin at a cache line, and those that lie on a GPU
    units, tables, markup       numbers and names as text; `integers` divides and rounds up
    progress                    how far we are
    lazy, install, version      a package's door, commands that install; `another_python` runs a module
"""
