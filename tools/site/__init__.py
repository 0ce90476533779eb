"""The built book: every notebook executed, on pages that need no kernel, no server and no network.

``python3 lab.py site`` runs `python -m tools.site`. Its steps:

- `convlab.workspace.execute`: run the notebooks in a scratch copy; the first error stops the build, with
  notebook and cell.
- `printed`: with ``--pdf``, print the whole book.
- `book`: make its pages, in each language that is asked for. All that follows is a part of that.
- `front_page`: write the front page and the sidebar's contents, by the parts of `way`.
- `pages`: let Sphinx make the pages; `head` adds what each says of itself, and where it can be run
  (`launchers`); `card` draws what is shown where somebody shares it.
- `slim`: make the finished pages light.
- `links`: look at every link; a broken one stops the build.
- `publish`: put the finished book in the place of the old one, and never a half-built one.

`conf.py`, `mathml.py`, `templates/` and `static/` say how the pages look, `languages.py` in which language.
"""
