"""A second right answer to each exercise, written another way: a file for each notebook.

`coding` has three to each timed task of the interview.

None of them shares code with the library: a check that refuses one of them is too narrow.
"""

from importlib import import_module
from pathlib import Path

RIGHT = {
    name: answer
    for file in sorted(Path(__file__).parent.glob("n*.py"))
    for name, answer in import_module(f"right_answers.{file.stem}").RIGHT.items()
}
