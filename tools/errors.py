"""Two ways in which a build ends without a book; the third is a notebook that fails."""


class UsageError(Exception):
    """What was asked for cannot be done: a wrong folder, a missing tool. Nothing was touched."""


class BuildError(Exception):
    """The book could not be made, and the message says where; an older book is left as it was."""
