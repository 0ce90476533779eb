"""The built book: every notebook executed, on pages that need no kernel, no server and no network.

``python3 lab.py site`` runs `python -m tools.site`. Three steps:

- `convlab.workspace.execute`: run the notebooks in a scratch copy; the first error stops the build, with
  notebook and cell.
- `pages`: write the front page from the notebooks' own first cells, and let Sphinx make the pages.
- `publish`: put the finished book in the place of the old one, and never a half-built one.

`conf.py`, `mathml.py`, `templates/` and `static/` say how the pages look.
"""
