"""Groups of commands of the command line: a file each; `options.py` is what they share."""
