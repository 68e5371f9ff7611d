"""What is kept of an experiment's full results: a row for each arm and setting.

experiment, commit, kernel    whose results, of which commit and hash of the kernel
rows                          arm, at (the setting, without the seed), trials, and
    measured, model, published
                              values by metric: over the trials, as the table of the
                              experiment has it; of the model; of the source
    interval                  of the mean over the trials, by metric; of an extreme the range of
                              the trials; none if there are too few trials
verdicts                      says, word, why: what was expected, whether it came, and the
                              figures; of a contest too, where `word` is won or LOST. Why a
                              result differs stands in the experiment's file only
    paper, sure, contest      as sluice/experiment/verdict.py has them
contest                       a row for each setting and metric: at, metric, won (null: not told
                              apart, or without a rival), and
    best, behind              the best of the other arms, and by what share of its value
                              the arm is above it; null: that value is 0
    behind_ends               the 95 % interval of `behind`; null: too few trials, or behind is null
    against                   the one arm that it may have no more than; "" if it is all
samples                       of each arm the shortest run: arm, variables, and
    mark                      a hash of all that was measured in it
same                          the last kernel, besides `kernel`, that gave these marks (recheck.py)
"""

import json
import math
import re
import subprocess
from collections.abc import Iterable
from hashlib import sha256
from pathlib import Path
from statistics import mean

from sluice.experiment import contest, expect, metrics, significance, summary
from sluice.experiment.catalogue import kernel_hash
from sluice.experiment.files import write_whole
from sluice.experiment.findings import Finding, finding
from sluice.experiment.result import BadResult, setting
from sluice.experiment.schema import Experiment
from sluice.host.paths import ROOT

FOLDER = ROOT / "results"
MEASURED = ("virtual_ms", "histograms", "jobs", "series")  # in a run, and counters
NUMBER = re.compile(r"\d+(\.\d+)?")  # of a source, which may say "about 600" instead
MADE_OF = ("Makefile", "kernel", "policies", "drives", "user", "mkfs", "experiments")


def commit() -> str:
    """The commit of this tree, with a + if what results depend on has changed since."""
    head = subprocess.run(
        ["git", "rev-parse", "--short=12", "HEAD"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        encoding="utf-8",
    )
    changed = subprocess.run(
        ["git", "diff", "--quiet", "HEAD", "--", *MADE_OF], cwd=ROOT, capture_output=True
    )
    return head.stdout.strip() + ("+" if changed.returncode else "")


def number(value: float) -> float:
    """A value with all digits that a document may print."""
    return float(f"{value:.9g}") if value != int(value) else int(value)


def row(experiment: Experiment, trials: list[dict], names: Iterable[str]) -> dict:
    """One arm in one setting."""
    first = trials[0]
    model = [experiment.predicted(trial) for trial in trials]
    told = {name: summary.said(experiment, first, name) for name in names}
    return {
        "arm": first["arm"],
        "at": setting(first["variables"]),
        "trials": len(trials),
        "measured": {name: number(metrics.together(trials, name)) for name in names},
        "interval": {
            name: [number(found.low), number(found.high)]
            for name in names
            if (found := significance.spread(trials, name))
        },
        "model": {
            n: number(mean(m[n] for m in model)) for n in names if all(n in m for m in model)
        },
        "published": {name: float(v) for name, v in told.items() if NUMBER.fullmatch(v)},
    }


def mark(result: dict) -> str:
    """A hash of all that was measured in a run. A kernel with one policy more has more counters,
    which stay 0: these do not count."""
    measured = {name: result.get(name) for name in MEASURED}
    measured["counters"] = {name: grew for name, (grew, _) in result["counters"].items() if grew}
    return sha256(json.dumps(measured, sort_keys=True).encode()).hexdigest()[:16]


def samples(results: list[dict]) -> list[dict]:
    """Of each arm the shortest run, and its mark."""
    shortest: dict[str, dict] = {}
    for result in results:
        best = shortest.setdefault(result["arm"], result)
        if result["virtual_ms"] < best["virtual_ms"]:
            shortest[result["arm"]] = result
    return [
        {"arm": arm, "variables": result["variables"], "mark": mark(result)}
        for arm, result in shortest.items()
    ]


def of_contest(match: contest.Match) -> dict:
    """A metric in a setting, and how far the arm is from the best of its rivals."""
    best = match.rivals[0].arm if match.rivals else ""
    off = max(match.behind, 0) if match.rivals else 0
    ends = match.behind_ends if match.rivals else None
    return {
        **{"at": match.at, "metric": match.metric, "won": match.won, "best": best},
        **{"behind": number(off) if math.isfinite(off) else None, "against": match.against},
        "behind_ends": [number(ends.low), number(ends.high)] if ends else None,
    }


def digest(experiment: Experiment, results: list[dict], quoted: Iterable[str]) -> dict:
    """The stored part of whole results: the table's metrics, and those that documents quote."""
    if len(results) != len(experiment.runs):
        raise BadResult(
            f"{experiment.name}: {len(results)} of {len(experiment.runs)} runs are there"
        )
    kernels = {result["kernel"] for result in results}
    if kernels != {kernel_hash()}:
        raise BadResult(f"{experiment.name}: results of another kernel than this tree's")
    names = sorted({*experiment.plot["columns"], *quoted})
    groups = summary.groups(results).values()
    rows = [row(experiment, trials, names) for trials in groups]
    about = {"experiment": experiment.name, "commit": commit(), "kernel": kernel_hash()}
    return {
        **about,
        "rows": rows,
        "verdicts": [
            {
                **{"says": one.says, "word": one.word, "why": one.why},
                **{"paper": one.paper, "sure": one.sure, "contest": one.contest},
            }
            for one in expect.judge(experiment, results)
        ],
        "contest": [of_contest(match) for match in contest.matches(experiment, results)],
        "samples": samples(results),
    }


def of_this_kernel(kept: dict) -> bool:
    """True if this tree's kernel made the results, or has been shown to make the same."""
    return kernel_hash() in (kept["kernel"], kept.get("same"))


def write(kept: dict, folder: Path = FOLDER) -> Path:
    """Store it with a line for each row of each list, so that changes can be read."""
    path = folder / f"{kept['experiment']}.json"
    parts = [
        f" {json.dumps(name)}: "
        + (in_lines(value) if isinstance(value, list) else json.dumps(value))
        for name, value in kept.items()
    ]
    write_whole(path, "{\n" + ",\n".join(parts) + "\n}\n")
    return path


def in_lines(rows: list) -> str:
    """JSON of a list, a line for each row."""
    if not rows:
        return "[]"
    return "[\n" + ",\n".join("  " + json.dumps(row, ensure_ascii=False) for row in rows) + "\n ]"


def found(kept: dict) -> list[Finding]:
    """The findings of an experiment, as they are stored. BadResult if its results are from before
    findings were stored."""
    try:
        return [
            finding(one["paper"], one["word"], one["sure"])
            for one in kept["verdicts"]
            if not one["contest"]
        ]
    except KeyError:
        name = kept["experiment"]
        raise BadResult(f"{name}: stored without its findings: make results E={name}") from None


def judges(kept: dict, experiment: Experiment) -> bool:
    """True if results were judged by the expectations that the experiment has in full size now, as
    far as their sentences and papers tell."""
    return {(one["says"], one["paper"]) for one in kept["verdicts"] if not one["contest"]} == {
        (one["says"], one.get("paper", "")) for one in experiment.expectations
    }


def read(name: str, folder: Path = FOLDER) -> dict:
    """The stored results of an experiment. Raises BadResult if there are none."""
    path = folder / f"{name}.json"
    if not path.exists():
        raise BadResult(f"no results of {name} are stored: make results E={name}")
    return json.loads(path.read_text(encoding="utf-8"))
