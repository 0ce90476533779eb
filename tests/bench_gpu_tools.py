"""What the tests of `convlab bench gpu` share."""

from convlab.benchmark.comparison import Effort
from tools.bench_gpu import places, run

BRIEF = Effort(rounds=1, most=1, budget=0.0)
ALL = {"words": "", "baselines": True, "place": places.SIMULATOR}
FEW = ALL | {"words": "tiny layer"}  # without the picture, and without what is depthwise: some seconds


def journal_of(tmp_path, **options):
    """Return a new journal for a run with some options."""
    return run.opened(tmp_path / "run.csv.journal", ALL | options)
