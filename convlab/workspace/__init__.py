"""The way into the notebooks: the learner's own copies, JupyterLab on them, and pages made from them.

- `notebooks`: which files are the course, and which one "02" means.
- `folders`, `copies`: the learner's folder, and what is copied into it.
- `server`: JupyterLab on that folder; `home`: where what Jupyter keeps goes if the home folder is of no use.
- `execute`, `formulas`, `pages`: notebooks run from top to bottom and kept as pages. The book in
  `tools.site` is built on the first two; nothing here needs `tools.site`.
"""

import sys

# jsonschema, which Jupyter reads notebooks with, would parse dozens of grammars for it: a second of every
# start, to check a kind of address that no notebook holds. It does without where this cannot be imported.
sys.modules.setdefault("rfc3987_syntax", None)
