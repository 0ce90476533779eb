"""Sphinx's settings: a calm book from executed notebooks that asks nothing of the network."""

from convlab import __version__

project = "convlab"
# The title of every page ends with it; the front page has a heading of its own.
html_title = "convlab"
language = "en"
release = __version__

extensions = ["myst_nb", "tools.site.head", "tools.site.mathml"]
include_patterns = ["index.md", "[0-9][0-9]_*.ipynb"]

# -- notebooks: they come executed; a widget is written as its own HTML, which moves without a kernel
nb_execution_mode = "off"
nb_merge_streams = True
nb_render_markdown_format = "myst"  # of what cells show; the default knows no tables
nb_ipywidgets_js = {}  # otherwise scripts from a CDN
nb_mime_priority_overrides = [
    (builder, kind, place)
    for builder in ("html", "singlehtml")  # the latter for the book to print
    for kind, place in (("application/vnd.jupyter.widget-view+json", None), ("text/html", 0))
]
# Only what JupyterLab shows as well; the front page, which is not a notebook, has containers beside.
myst_enable_extensions = ["dollarmath", "amsmath", "colon_fence"]
myst_heading_anchors = 3
myst_links_external_new_tab = False

# -- mathematics and code
html_math_renderer = "mathml"
math_number_all = False
pygments_style = "a11y-high-contrast-light"

# -- the pages
html_theme = "sphinx_book_theme"
templates_path = ["templates"]
html_additional_pages = {"404": "404.html"}
html_static_path = ["static", "../../convlab/workspace/static"]
html_css_files = ["formulas.css", "icons.css", "book.css", "print.css"]
html_js_files = ["reader.js", "print.js"]
html_favicon = "static/favicon.svg"
html_show_sphinx = False
html_show_copyright = False
html_last_updated_fmt = None
html_use_index = False
html_copy_source = True  # for the download button; the clean notebook then takes the executed one's place
html_context = {"default_mode": "auto"}  # light or dark as the reader's system says
html_theme_options = {
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
    "home_page_in_toc": False,
    "show_toc_level": 2,
    "use_download_button": True,
    "use_fullscreen_button": False,
    "use_repository_button": False,
    "use_source_button": False,
    "navbar_persistent": [],
    "footer_content_items": [],
    "toc_title": "On this page",
    "search_bar_text": "Search the course",
    "logo": {"text": "convlab"},
}
