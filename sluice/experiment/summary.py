"""Writes the text of an experiment's results for the terminal, as wide as the terminal is.

Runs that differ only in `seed` are trials of one system, and share a row. Below it are the 95 %
intervals of means and sums, and the ranges of extremes over the trials (significance.py).
"""

import math
from collections.abc import Iterable
from statistics import mean

from sluice.experiment import expect, interval, metrics, significance
from sluice.experiment.aligned import GAP, format_rows, format_table
from sluice.experiment.records import PublishedFigure, RunResult
from sluice.experiment.result import disk_series, drop_seed, measured_disk
from sluice.experiment.schema import CHARGED, MEASURED, Experiment
from sluice.host import printing

COUNT = 8  # characters of the count next to a bar
OCTAVE = 13  # characters of a row's heading
BAR = 14  # characters of the longest bar
EIGHTHS = " ▏▎▍▌▋▊▉"
PUBLISHED = "  published"  # begins a row with the source's figures
SPREAD = "  95 %, range"  # begins a row with intervals of means and ranges of extremes
MODEL = "  model"  # begins a row with theory's figures, and the measured deviation
SPARKS = "▁▂▃▄▅▆▇█"  # the first is for nothing at all
SPARK_COLUMNS = 60  # at most; fewer where the terminal is narrow
LEAST_COLUMNS = 10
MS = 10**6


def row_label(result: RunResult) -> str:
    """Return the name of the row to which a result belongs: its arm and the swept variables,
    without the seed."""
    swept = [f"{k}={v}" for k, v in drop_seed(result["variables"]).items()]
    return " ".join([result["arm"], *swept])


def group_trials(results: list[RunResult]) -> dict[str, list[RunResult]]:
    """Return the trials of each row, in order."""
    rows: dict[str, list[RunResult]] = {}
    for result in results:
        rows.setdefault(row_label(result), []).append(result)
    return rows


def format_number(value: float) -> str:
    """Return a number with four digits, or with all digits before the point; a whole number stays
    as it is."""
    if value == int(value) or abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.{max(0, 3 - math.floor(math.log10(abs(value))))}f}"


def is_measured(row: PublishedFigure) -> bool:
    """Return True if a figure of the source was measured, and is no difference of two arms."""
    return row["whose"] == MEASURED and row["than"] is None


def published_figure(experiment: Experiment, result: RunResult, metric: str) -> str:
    """Return what the source measured in runs like this one, or ""."""
    for row in experiment.published:
        here = row["where"].items() <= result["variables"].items() and is_measured(row)
        if here and (row["arm"], row["metric"]) == (result["arm"], metric):
            return row["value"]
    return ""


def predicted_figure(experiment: Experiment, trials: list[RunResult], metric: str) -> str:
    """Return the model's figure for a metric of these runs and the relative error of the
    measurement, or ""."""
    figures = [experiment.find_prediction(trial) for trial in trials]
    if not all(metric in predicted for predicted in figures):
        return ""
    value = mean(predicted[metric] for predicted in figures)
    off = f" ({metrics.aggregate(trials, metric) / value - 1:+.1%})" if value else ""
    return format_number(value) + off


def format_spread(trials: list[RunResult], metric: str) -> str:
    """Return the interval of a metric's mean, or the range of an extreme, or ""."""
    found = significance.spread_of_trials(trials, metric)
    return f"{format_number(found.low)} to {format_number(found.high)}" if found else ""


def interval_note(results: list[RunResult]) -> str:
    """Return a sentence that explains the table's intervals, or says why there are none."""
    fewest = min(len(trials) for trials in group_trials(results).values())
    told = (
        "below a row: 95 % intervals of means (bootstrap over trials); "
        "of max and min, the range over trials"
    )
    return (
        told
        if fewest >= interval.LEAST
        else f"{significance.missing_interval_note(fewest)} of the means"
    )


def clock_note(results: list[RunResult]) -> str:
    """Return a sentence that says of which clock the times are, and what they depend on."""
    if all(result["config"]["clock"] == CHARGED for result in results):
        return (
            "times are virtual, of the charged clock: the same on every machine, by every "
            "compiler and engine"
        )
    compilers = {result["compiler"] for result in results if "compiler" in result}
    return (
        "times are virtual, of the counted clock: the same on every machine, but of this kernel "
        f"only ({' and '.join(sorted(compilers)) or 'an unknown compiler'})"
    )


def column_head(column: str) -> tuple[str, str]:
    """Return the two lines of a column's head."""
    if metrics.RATIO in column:
        above, below = column.split(metrics.RATIO)
        return above, f"/ {below}"
    if metrics.SUM in column:
        above, _, below = column.partition(metrics.SUM)
        return above, f"+ {below}"
    of_series = metrics.NAME.fullmatch(column)
    if of_series and of_series["series"]:
        return of_series["series"], of_series["field"]
    above, _, name = column.rpartition(".")
    return above, name


def table(experiment: Experiment, results: list[RunResult]) -> list[list[str]]:
    """Return the table: two rows of heads, then a row for each system, followed by rows with its
    intervals, the model's figures and the source's."""
    columns = experiment.plot["columns"]
    heads = [column_head(column) for column in columns]
    rows = [["", "", *(above for above, _ in heads)], ["", "trials", *(name for _, name in heads)]]
    for name, trials in group_trials(results).items():
        values = [format_number(metrics.aggregate(trials, column)) for column in columns]
        rows.append([name, str(len(trials)), *values])
        model = [predicted_figure(experiment, trials, column) for column in columns]
        published = [published_figure(experiment, trials[0], column) for column in columns]
        spread = [format_spread(trials, column) for column in columns]
        notes = ((SPREAD, spread), (MODEL, model), (PUBLISHED, published))
        rows += [[name, "", *cells] for name, cells in notes if any(cells)]
    return rows


def octave_counts(trials: list[RunResult], job: str) -> dict[int, int]:
    """Return the number of response times in [2^k, 2^(k+1)) ms, by k. Those below 1 ms have k =
    -1."""
    counts: dict[int, int] = {}
    for trial in trials:
        for low, _, n in metrics.series(trial, job).buckets:
            k = max(0, (low // MS).bit_length() - 1) if low >= MS else -1
            counts[k] = counts.get(k, 0) + n
    return counts


def histogram_bar(count: int, most: int) -> str:
    """Return a bar whose length is the count's logarithm. A count of 1 is visible."""
    eighths = round(8 * BAR * math.log1p(count) / math.log1p(most)) if count else 0
    whole, rest = divmod(eighths, 8)
    return "█" * whole + EIGHTHS[rest].strip()


def octave_label(k: int) -> str:
    """Return the label of an octave's row in the histogram."""
    return "< 1" if k < 0 else f"{2**k} - {2 ** (k + 1)}"


def histogram_lines(counts: dict[str, dict[int, int]], most: int, last: int) -> list[str]:
    """Return the lines of the histograms of some systems, side by side."""
    width = min(histogram_column_width(counts), printing.line_width() - OCTAVE)
    names = set(range(1, len(counts) + 1))
    wide = [OCTAVE - GAP, *[width - GAP] * len(counts)]
    lines = ["", *format_rows([["", *counts]], names, names, printing.line_width(), wide)]
    left = {2 * n - 1 for n in names}  # a bar, and to the right of it its count
    wide = [OCTAVE - GAP, *[BAR, width - BAR - 2 * GAP] * len(counts)]
    for k in range(-1, last + 1):
        row = [octave_label(k)]
        for of_one in counts.values():
            row += [histogram_bar(of_one.get(k, 0), most), str(of_one.get(k) or "")]
        lines += format_rows([row], left, (), printing.line_width(), wide)
    return lines


def histogram_column_width(names: Iterable[str]) -> int:
    """Return the width of one system's histogram, which has room for the longest name."""
    return max(BAR + COUNT, *(len(name) + 2 for name in names))


def histogram(experiment: Experiment, results: list[RunResult]) -> list[str]:
    """Return the histograms of the response times of each system, in octaves, as many side by side
    as fit."""
    job = experiment.plot.get("histogram")
    if not job:
        return []
    counts = {name: octave_counts(trials, job) for name, trials in group_trials(results).items()}
    most = max((n for row in counts.values() for n in row.values()), default=0)
    if not most:
        return []
    last = max(k for row in counts.values() for k in row)
    lines = printing.fill_lines(
        f"response times of `{job}` in ms, all trials; bars are logarithmic", 0
    )
    names = list(counts)
    abreast = max(1, (printing.line_width() - OCTAVE) // histogram_column_width(names))
    for i in range(0, len(names), abreast):
        some = {name: counts[name] for name in names[i : i + abreast]}
        lines += histogram_lines(some, most, last)
    return lines


def writes_per_column(result: RunResult, width_ms: int) -> list[float]:
    """Return the writes per second, in columns of time."""
    bin_ms, bins = result["series"]["bin_ms"], result["series"]["bins"]
    columns = [0.0] * -(-bins * bin_ms // width_ms)
    for i, writes in enumerate(disk_series(result)["writes"]):
        columns[i * bin_ms // width_ms] += writes * 1000 / width_ms
    return columns


def column_width_ms(results: list[RunResult], columns: int) -> int:
    """Return the width of a column in ms: a multiple of every run's bins, so that there are at most
    `columns`."""
    unit_ms = math.lcm(*(result["series"]["bin_ms"] for result in results))
    longest_ms = max(r["series"]["bin_ms"] * r["series"]["bins"] for r in results)
    return unit_ms * math.ceil(longest_ms / unit_ms / columns)


def spark_character(value: float, most: float) -> str:
    """Return a character whose height shows the value. The smallest value is visible."""
    return SPARKS[math.ceil(value / most * (len(SPARKS) - 1))] if value else SPARKS[0]


def sparklines(results: list[RunResult]) -> list[str]:
    """Return a heading and a line for each system: writes over time in its first trial, all on one
    scale. [] if nothing was written."""
    firsts = {name: trials[0] for name, trials in group_trials(results).items()}
    widest = min(max(map(len, firsts)), printing.line_width() - GAP - LEAST_COLUMNS)
    room = printing.line_width() - widest - GAP
    width_ms = column_width_ms(list(firsts.values()), min(SPARK_COLUMNS, max(LEAST_COLUMNS, room)))
    rates = {name: writes_per_column(result, width_ms) for name, result in firsts.items()}
    most = max(max(row) for row in rates.values())
    if not most:
        return []
    disk = measured_disk(results[0])
    about = f"{width_ms / 1000:g} s a character, the highest is {format_number(most)} a second"
    lines = printing.fill_lines(f"writes completed on {disk} over time, first trials; {about}", 0)
    lines.append("")
    rows = [[name, "".join(spark_character(v, most) for v in r)] for name, r in rates.items()]
    wide = [widest, max(len(sparks) for _, sparks in rows)]
    return lines + format_rows(rows, (0, 1), (0,), printing.line_width(), wide)


def trace_loss_lines(results: list[RunResult]) -> list[str]:
    """Return a line for each run whose trace is incomplete."""
    return [
        f"trace: {row_label(result)} {result['variables']} lost its first "
        f"{result['series']['lost']:,} events; a larger trace_k keeps them"
        for result in results
        if result["series"]["lost"]
    ]


def expectation_lines(experiment: Experiment, results: list[RunResult]) -> list[str]:
    """Return lines for each expectation that say whether it was met, and why."""
    lines, verdicts = [], expect.judge_experiment(experiment, results)
    width = max((len(verdict.word) for verdict in verdicts), default=0)
    for verdict in verdicts:
        lines += printing.fill_lines(f"{verdict.word:>{width}}  {verdict.says}", width + 2)
        for line in (verdict.why, *verdict.details, *verdict.origin):
            lines += printing.fill_lines(f"{'':{width}}  {line}", width + 4)
    return lines


def summary_text(experiment: Experiment, results: list[RunResult]) -> str:
    """Return the whole text that the terminal shows."""
    about = [f"{experiment.name}: {experiment.claim}", f"source: {experiment.source}"]
    drive = f"drive {experiment.drive}, {len(results)} of {len(experiment.runs)} runs"
    parts = [[line for part in (*about, drive) for line in printing.fill_lines(part, 2)]]
    if results and experiment.plot["columns"]:
        told = printing.fill_lines(f"{interval_note(results)}; {clock_note(results)}", 0)
        parts.append([*format_table(table(experiment, results), heads=2), *told])
    if results:
        parts.append(histogram(experiment, results))
    if results:
        parts += [sparklines(results), trace_loss_lines(results)]
    if experiment.expectations:
        parts.append(expectation_lines(experiment, results))
    return "\n\n".join("\n".join(part) for part in parts if part)
