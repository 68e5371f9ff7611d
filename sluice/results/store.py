"""Store a short form of an experiment's full results: a row for each arm and setting.

`shorten_results` makes the full form: all metrics of the experiment's table, and all that documents
quote. `write_full` writes it into build/results. `pare` reduces it to what documents show, and
`write_stored` stores the rest in results/ (compact.py).

experiment, commit, kernel    the experiment's name, the tree's commit and the kernel's hash
rows                          arm, at (the setting, without the seed), trials, and
    measured, model, published
                              values by metric: over the trials, as the table of the
                              experiment has it; of the model; of the source
    interval                  of the mean over the trials, by metric; of an extreme the range of
                              the trials; none if there are too few trials
verdicts                      says, word, why: what was expected, whether it came, and the
                              figures; of a contest too, where `word` is won or LOST. Why a
                              result differs stands in the experiment's file only
    paper, contest            as sluice/experiment/verdict.py has them
contest                       a row for each setting and metric: at, metric, won (null: neither
                              won nor lost), and
    best, behind              the best of the other arms, and by what share of its value
                              the arm is above it; null: that value is 0
    behind_ends               the 95 % interval of `behind`; null: too few trials, or behind is null
    against                   the only arm whose value it may not exceed; "" if it is all others
samples                       of each arm the shortest run: arm, variables, and
    mark                      a hash of everything that the run measured
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
from sluice.experiment.files import write_atomically
from sluice.experiment.findings import Finding, classify
from sluice.experiment.records import RunResult
from sluice.experiment.result import BadResult, drop_seed
from sluice.experiment.rows import parse_experiment
from sluice.experiment.schema import Experiment
from sluice.experiment.selection import experiments_by_name
from sluice.host.paths import ROOT
from sluice.results import compact
from sluice.results.documents import Source
from sluice.results.stored_records import Sample, StoredMatch, StoredResults, StoredRow

FOLDER = ROOT / "results"
WHOLE = ROOT / "build/results"  # the full form: CI attaches it to a release
HASH_DIGITS = 8  # of a kernel's hash, in results/
MARK_DIGITS = 5  # of the mark of a run
ALL_DIGITS, QUOTED_DIGITS, SHOWN_DIGITS = 9, 5, 4  # least numbers of digits that are stored
ABOUT = ("from", "arm", "metric", "is", "digits")  # names in a source that are not variables
MEASURED = ("virtual_ms", "histograms", "jobs", "series")  # keys of a run; counters are added
NUMBER = re.compile(r"\d+(\.\d+)?")  # a published figure; a paper may have "about 600" instead
MADE_OF = (
    *("Makefile", "tools/rules", "kernel", "policies", "drives", "user", "mkfs", "experiments"),
)


def tree_commit() -> str:
    """Return the commit of this tree, with a "+" if files on which results depend have changed
    since."""
    head = subprocess.run(
        ["git", "rev-parse", "--short=8", "HEAD"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        encoding="utf-8",
    )
    changed = subprocess.run(
        ["git", "diff", "--quiet", "HEAD", "--", *MADE_OF], cwd=ROOT, capture_output=True
    )
    return head.stdout.strip() + ("+" if changed.returncode else "")


def decimal_number(value: float) -> float:
    """Return a value with all digits that a document may print."""
    return float(f"{value:.9g}") if value != int(value) else int(value)


def stored_row(experiment: Experiment, trials: list[RunResult], names: Iterable[str]) -> StoredRow:
    """Return the stored row of one arm in one setting."""
    first = trials[0]
    model = [experiment.find_prediction(trial) for trial in trials]
    told = {name: summary.published_figure(experiment, first, name) for name in names}
    return {
        "arm": first["arm"],
        "at": drop_seed(first["variables"]),
        "trials": len(trials),
        "measured": {name: decimal_number(metrics.aggregate(trials, name)) for name in names},
        "interval": {
            name: [decimal_number(found.low), decimal_number(found.high)]
            for name in names
            if (found := significance.spread_of_trials(trials, name))
        },
        "model": {
            n: decimal_number(mean(m[n] for m in model))
            for n in names
            if all(n in m for m in model)
        },
        "published": {name: float(v) for name, v in told.items() if NUMBER.fullmatch(v)},
    }


def result_hash(result: RunResult) -> str:
    """Return a hash of everything that a run measured.

    Counters that stayed 0 are left out, because a kernel with one more policy has more of them.
    """
    measured: dict[str, object] = {name: result.get(name) for name in MEASURED}
    measured |= {name: result[name] for name in ("loss",) if name in result}
    measured["counters"] = {name: grew for name, (grew, _) in result["counters"].items() if grew}
    return sha256(json.dumps(measured, sort_keys=True).encode()).hexdigest()[:MARK_DIGITS]


def sample_runs(results: list[RunResult]) -> list[Sample]:
    """Return the shortest run of each arm, with its mark."""
    shortest: dict[str, RunResult] = {}
    for result in results:
        best = shortest.setdefault(result["arm"], result)
        if result["virtual_ms"] < best["virtual_ms"]:
            shortest[result["arm"]] = result
    return [
        {"arm": arm, "variables": result["variables"], "mark": result_hash(result)}
        for arm, result in shortest.items()
    ]


def contest_summary(match: contest.Match) -> StoredMatch:
    """Return the stored row of a match: a metric in a setting, and how far the arm is from its best
    rival."""
    best = match.rivals[0].arm if match.rivals else ""
    off = max(match.loss_ratio, 0) if match.rivals else 0
    ends = match.loss_interval if match.rivals else None
    return {
        "at": match.at,
        "metric": match.metric,
        "won": match.is_won,
        "best": best,
        "behind": decimal_number(off) if math.isfinite(off) else None,
        "against": match.against,
        "behind_ends": [decimal_number(ends.low), decimal_number(ends.high)] if ends else None,
    }


def shorten_results(
    experiment: Experiment, results: list[RunResult], quoted: Iterable[str]
) -> StoredResults:
    """Return the full form of complete results: the table's metrics, and those that documents
    quote. Raises BadResult if results are missing or of another kernel."""
    if len(results) != len(experiment.runs):
        raise BadResult(
            f"{experiment.name}: {len(results)} of {len(experiment.runs)} runs are there"
        )
    kernels = {result["kernel"] for result in results}
    if kernels != {kernel_hash()}:
        raise BadResult(f"{experiment.name}: results of another kernel than this tree's")
    names = sorted({*experiment.plot["columns"], *quoted})
    groups = summary.group_trials(results).values()
    rows = [stored_row(experiment, trials, names) for trials in groups]
    return {
        "experiment": experiment.name,
        "commit": tree_commit(),
        "kernel": kernel_hash(),
        "rows": rows,
        "verdicts": [
            {
                "says": one.says,
                "word": one.word,
                "why": one.why,
                "paper": one.paper,
                "contest": one.contest,
            }
            for one in expect.judge_experiment(experiment, results)
        ],
        "contest": [contest_summary(match) for match in contest.play_matches(experiment, results)],
        "samples": sample_runs(results),
    }


def cut_digits(values: list[float], digits: int) -> list[float]:
    """Return the values rounded to the fewest digits, at least `digits`, that change no printed
    text and keep different values different."""

    def printed_form(found: list[float]) -> tuple[list[str], int]:
        """Return the figures as they are printed, and how many of them differ."""
        return [summary.format_number(value) for value in found], len(set(found))

    for enough in range(digits, ALL_DIGITS):
        short = [decimal_number(float(f"{value:.{enough}g}")) for value in values]
        if printed_form(short) == printed_form(values):
            return short
    return values


def pare_row(row: StoredRow, quoted: list[Source]) -> StoredRow:
    """Return the part of a row that documents show. quoted: the sources of all figures in
    documents."""
    used: dict[str, set[str]] = {}  # by metric: the kinds of its figures that documents quote
    for source in quoted:
        variables = {name: value for name, value in source.items() if name not in ABOUT}
        is_of_arm = source.get("arm", row["arm"]) == row["arm"]
        if is_of_arm and all(str(row["at"].get(k)) == v for k, v in variables.items()):
            used.setdefault(source["metric"], set()).add(source.get("is", "measured"))

    def ours(metric: str) -> set[str]:
        """Return which kinds of this metric's own figures are quoted, without the model's and the
        paper's."""
        return used.get(metric, set()) - {*compact.OTHERS}

    def digits(metric: str) -> int:
        """Return how many digits of this metric are stored."""
        return QUOTED_DIGITS if ours(metric) else SHOWN_DIGITS

    def quoted_figures(kind: compact.Other) -> dict[str, float]:
        """Return the figures of this kind that documents quote."""
        return {name: v for name, v in row[kind].items() if kind in used.get(name, ())}

    return {
        **row,
        "measured": {name: cut_digits([v], digits(name))[0] for name, v in row["measured"].items()},
        "interval": {
            name: cut_digits(ends, digits(name))
            for name, ends in row["interval"].items()
            if ours(name)
        },
        "model": quoted_figures("model"),
        "published": quoted_figures("published"),
    }


def pare(kept: StoredResults, quoted: list[Source]) -> StoredResults:
    """Return the part of the full form that documents need. Figures that documents quote or draw
    keep QUOTED_DIGITS and their interval. Figures that only the experiment's page shows keep
    SHOWN_DIGITS.

    quoted: the sources that documents name; a source without an arm means each arm."""
    short: StoredResults = {
        **kept,
        "kernel": kept["kernel"][:HASH_DIGITS],
        "rows": [pare_row(row, quoted) for row in kept["rows"]],
        "contest": [pare_match(match) for match in kept["contest"]],
    }
    if "same" in kept:
        short["same"] = kept["same"][:HASH_DIGITS]
    return short


def pare_match(match: StoredMatch) -> StoredMatch:
    """Return the part of a match that documents show: how far the arm is behind, if it lost."""
    if match["won"] is not False or match["behind"] is None:
        return {**match, "behind": None, "behind_ends": None}
    ends = match["behind_ends"]
    return {
        **match,
        "behind": cut_digits([match["behind"]], SHOWN_DIGITS)[0],
        "behind_ends": ends and cut_digits(ends, SHOWN_DIGITS),
    }


def is_current(kept: StoredResults) -> bool:
    """Return whether this tree's kernel made the results, or was shown to give the same results."""
    return kernel_hash()[:HASH_DIGITS] in (
        kept["kernel"][:HASH_DIGITS],
        kept.get("same", "")[:HASH_DIGITS],
    )


def expectations(name: str) -> list[compact.Expectation]:
    """Return the expectations of an experiment's file, or none if there is no such file."""
    path = experiments_by_name().get(name)
    if not path:
        return []
    rows: list[compact.Expectation] = parse_experiment(path.read_text(encoding="utf-8"))[
        "expectations"
    ]
    return rows


def write_stored(kept: StoredResults, folder: Path = FOLDER) -> Path:
    """Store the results in the compact form. Returns the file's path."""
    path = folder / f"{kept['experiment']}.json"
    write_atomically(path, compact.encode(kept, expectations(kept["experiment"])))
    return path


def write_full(kept: StoredResults, folder: Path = WHOLE) -> Path:
    """Write the full form, with a line for each row of each list, so that a diff is easy to
    read."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{kept['experiment']}.json"
    parts = [
        f" {json.dumps(name)}: "
        + (json_lines(value) if isinstance(value, list) else json.dumps(value))
        for name, value in kept.items()
    ]
    write_atomically(path, "{\n" + ",\n".join(parts) + "\n}\n")
    return path


def json_lines(rows: list[object]) -> str:
    """Return the JSON of a list, with a line for each row."""
    if not rows:
        return "[]"
    return "[\n" + ",\n".join("  " + json.dumps(row, ensure_ascii=False) for row in rows) + "\n ]"


def stored_findings(kept: StoredResults) -> list[Finding]:
    """Return the stored findings of an experiment.

    Raises BadResult if its results are too old to have findings.
    """
    try:
        return [
            classify(one.get("finding") or one["paper"], one["word"], one.get("check", ""))
            for one in kept["verdicts"]
            if not one["contest"]
        ]
    except KeyError:
        name = kept["experiment"]
        raise BadResult(
            f"{name}: stored without its findings: sluice results store {name}"
        ) from None


def is_judged(kept: StoredResults, experiment: Experiment) -> bool:
    """Return whether the stored verdicts have the sentences and papers of the experiment's present
    expectations (in full size)."""
    judged = {(one["says"], one["paper"]) for one in kept["verdicts"] if not one["contest"]}
    return judged == {(one["says"], one.get("paper", "")) for one in experiment.expectations}


def read_stored(name: str, folder: Path = FOLDER) -> StoredResults:
    """Return the stored results of an experiment. Raises BadResult if there are none."""
    path = folder / f"{name}.json"
    if not path.exists():
        raise BadResult(f"no results of {name} are stored: sluice results store {name}")
    return compact.decode(path.read_text(encoding="utf-8"), expectations(name))
