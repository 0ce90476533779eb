"""The tables and pictures of README.md and TESTING.md, made from the library and from `data/`.

`__main__` puts each into its place. `blow_up` draws the picture that moves; `map_of_notebooks` and
`algorithms` write what the course and the library say of themselves, `results` the table of a saved run,
whose roofline `one_layer` draws; `rings` counts what TESTING.md tells.
"""
