"""The README's tables and pictures, made from `data/`.

`__main__` puts each into its place; `results` writes the table of a saved run, `one_layer` draws the picture.
"""
