"""The way into the notebooks: the learner's own copies, JupyterLab on them, and pages made from them."""
