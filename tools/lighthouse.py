"""``python -m tools.lighthouse [DIR]``: what Lighthouse says of the built book, on a slow telephone.

    npm install --global lighthouse     once; or $LIGHTHOUSE is its path, where it is installed elsewhere
    python3 lab.py site
    python -m tools.lighthouse

Lighthouse makes the processor four times as slow, which turns a desktop into a telephone. Where this machine
is slower than that desktop, or shared with other programs, four times would be too much: Lighthouse measures
how fast the machine is, and the next try slows it down by as much as leaves the telephone. A try on what was
faster than a telephone does not count. Other programs may disturb a try, so the best of a few is taken.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from tools.browser import KNOWN_BROWSERS
from tools.errors import BuildError, UsageError
from tools.served import served

PAGES = ("index.html", "02_im2col.html")
LEAST = 95  # of 100, in each category
CATEGORIES = ("performance", "accessibility", "best-practices", "seo")
TRIES = 4
SLOWER = 4.0  # Lighthouse's own choice
# The speed that Lighthouse measures is 1500 to 2000 for the desktop that it thinks of.
TELEPHONE, FASTEST_TELEPHONE = 1500 / SLOWER, 2000 / SLOWER
FLAGS = "--headless=new --no-sandbox --disable-dev-shm-usage --disable-gpu --no-first-run --no-proxy-server"
HOW_TO_GET_IT = "lighthouse is not installed: npm install --global lighthouse, or set LIGHTHOUSE to its path"


@dataclass(frozen=True)
class Try:
    """What one look at a page found: scores of 100 by category, and on how fast a machine."""

    scores: dict[str, int]
    machine: float
    slower: float
    faults: list[str]

    @property
    def counts(self) -> bool:
        """Whether the machine was a telephone, and no desktop."""
        return self.machine / self.slower <= FASTEST_TELEPHONE

    @property
    def passes(self) -> bool:
        """Whether all scores are good enough."""
        return self.counts and min(self.scores.values()) >= LEAST

    def __str__(self):
        said = ", ".join(f"{name} {score}" for name, score in self.scores.items())
        note = "" if self.counts else "; too fast for a telephone, so it does not count"
        return f"{said} (machine {self.machine:.0f}, made {self.slower:.1f} times as slow{note})"


def main(arguments: list[str] | None = None) -> int:
    """Print the scores and return the exit code: 0 all are good, 1 one is not, 2 wrongly asked."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.lighthouse", description=(__doc__ or "").split("\n")[0]
    )
    parser.add_argument(
        "book", type=Path, nargs="?", default=Path("site"), help="a built book; default: site"
    )
    book = parser.parse_args(arguments).book
    try:
        lighthouse = found()
        if missing := [page for page in PAGES if not (book / page).is_file()]:
            raise UsageError(f"{book} holds no {missing[0]}; build the book first: python3 lab.py site")
        with served(book) as address:
            passed = [looked_at(lighthouse, address, page) for page in PAGES]
    except (UsageError, BuildError) as error:
        print(f"tools.lighthouse: {error}", file=sys.stderr)
        return 2
    return 0 if all(passed) else 1


def found() -> str:
    """Return the path of Lighthouse."""
    path = shutil.which(os.environ.get("LIGHTHOUSE") or "lighthouse")
    if path is None:
        raise UsageError(HOW_TO_GET_IT)
    return path


def looked_at(lighthouse: str, address: str, page: str) -> bool:
    """Look at a page until a try passes, a few times; print each, and return whether one did."""
    slower, one = SLOWER, None
    for _ in range(TRIES):
        one = look(lighthouse, f"{address}/{page}", slower)
        print(f"{page}: {one}", flush=True)
        if one.passes:
            return True
        slower = max(1.0, one.machine / TELEPHONE)
    for fault in one.faults if one else ():
        print(f"    {fault}")
    return False


def look(lighthouse: str, url: str, slower: float) -> Try:
    """Run Lighthouse once."""
    browser = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, KNOWN_BROWSERS)), "")
    done = subprocess.run(
        [
            lighthouse,
            url,
            "--quiet",
            "--output=json",
            f"--only-categories={','.join(CATEGORIES)}",
            f"--throttling.cpuSlowdownMultiplier={slower:.2f}",
            f"--chrome-flags={FLAGS}",
        ],
        env=os.environ | ({"CHROME_PATH": browser} if browser else {}),
        capture_output=True,
        text=True,
        encoding="utf-8",
    )
    try:
        report = json.loads(done.stdout)
        scores = {name: round(100 * report["categories"][name]["score"]) for name in CATEGORIES}
        machine = float(report["environment"]["benchmarkIndex"])
    except (ValueError, KeyError, TypeError):
        why = (done.stderr or done.stdout).strip().splitlines() or ["it said nothing"]
        raise BuildError(f"Lighthouse gave no scores for {url}: {why[0]}") from None
    audits = [
        report["audits"][ref["id"]] for name in CATEGORIES for ref in report["categories"][name]["auditRefs"]
    ]
    faults = [
        f"{audit['title']}: {audit.get('displayValue') or 'failed'}"
        for audit in audits
        if audit["score"] is not None and audit["score"] < LEAST / 100
    ]
    return Try(scores, machine, slower, list(dict.fromkeys(faults)))


if __name__ == "__main__":
    sys.exit(main())
