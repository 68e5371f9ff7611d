"""The text that the terminal shows of an experiment's results, as wide as the terminal is.

Runs that differ only in `seed` are trials of one system, and share a row. Below it are the 95 %
intervals of means and sums, and the ranges of extremes over the trials (significance.py).
"""

import math
from collections.abc import Iterable
from statistics import mean

from sluice.experiment import expect, interval, metrics, significance
from sluice.experiment.aligned import GAP, aligned, drawn
from sluice.experiment.result import disk_series, measured_disk, setting
from sluice.experiment.schema import Experiment
from sluice.host import printing

COUNT = 8  # characters of a count beside a bar
OCTAVE = 13  # and of the heading of a row
BAR = 14  # characters of the longest bar
EIGHTHS = " ▏▎▍▌▋▊▉"
PUBLISHED = "  published"  # begins a row with the source's figures
SPREAD = "  95 %, range"  # begins one with the intervals of means, and the ranges of extremes
MODEL = "  model"  # begins one with what theory says, and how far off was measured
SPARKS = "▁▂▃▄▅▆▇█"  # the first is for nothing at all
SPARK_COLUMNS = 60  # at most; fewer where the terminal is narrow
LEAST_COLUMNS = 10
MS = 10**6


def group_of(result: dict) -> str:
    """The row to which a result belongs: its arm and the swept variables, without the seed."""
    swept = [f"{k}={v}" for k, v in setting(result["variables"]).items()]
    return " ".join([result["arm"], *swept])


def groups(results: list[dict]) -> dict[str, list[dict]]:
    """The trials of each row, in order."""
    rows: dict[str, list[dict]] = {}
    for result in results:
        rows.setdefault(group_of(result), []).append(result)
    return rows


def number(value: float) -> str:
    """A number with four digits, or with all digits before the point; a whole number as it is."""
    if value == int(value) or abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.{max(0, 3 - math.floor(math.log10(abs(value))))}f}"


def said(experiment: Experiment, result: dict, metric: str) -> str:
    """The source's figure for runs like this one, or ""."""
    for row in experiment.published:
        here = row["where"].items() <= result["variables"].items()
        if here and (row["arm"], row["metric"]) == (result["arm"], metric):
            return row["value"]
    return ""


def foretold(experiment: Experiment, trials: list[dict], metric: str) -> str:
    """The model's figure for a metric of these runs, and by how much it was missed, or ""."""
    values = [experiment.predicted(trial).get(metric) for trial in trials]
    if None in values:
        return ""
    value = mean(values)
    off = f" ({metrics.together(trials, metric) / value - 1:+.1%})" if value else ""
    return number(value) + off


def between(trials: list[dict], metric: str) -> str:
    """The interval of a metric's mean, or the range of an extreme, or ""."""
    found = significance.spread(trials, metric)
    return f"{number(found.low)} to {number(found.high)}" if found else ""


def sureness(results: list[dict]) -> str:
    """A sentence that says what the intervals of the table are, or why there are none."""
    fewest = min(len(trials) for trials in groups(results).values())
    told = (
        "below a row: 95 % intervals of means (bootstrap over trials); "
        "of max and min, the range over trials"
    )
    return told if fewest >= interval.LEAST else f"{significance.no_interval(fewest)} of the means"


def head(column: str) -> tuple[str, str]:
    """The two lines of a column's head."""
    if metrics.RATIO in column:
        above, below = column.split(metrics.RATIO)
        return above, f"/ {below}"
    of_series = metrics.NAME.fullmatch(column)
    if of_series and of_series["series"]:
        return of_series["series"], of_series["field"]
    above, _, name = column.rpartition(".")
    return above, name


def table(experiment: Experiment, results: list[dict]) -> list[list[str]]:
    """Two rows of heads, then one for each system, followed by its intervals and the model's and
    the source's figures."""
    columns = experiment.plot["columns"]
    heads = [head(column) for column in columns]
    rows = [["", "", *(above for above, _ in heads)], ["", "trials", *(name for _, name in heads)]]
    for name, trials in groups(results).items():
        values = [number(metrics.together(trials, column)) for column in columns]
        rows.append([name, str(len(trials)), *values])
        model = [foretold(experiment, trials, column) for column in columns]
        published = [said(experiment, trials[0], column) for column in columns]
        spread = [between(trials, column) for column in columns]
        notes = ((SPREAD, spread), (MODEL, model), (PUBLISHED, published))
        rows += [[name, "", *cells] for name, cells in notes if any(cells)]
    return rows


def octaves(trials: list[dict], job: str) -> dict[int, int]:
    """The number of response times in [2^k, 2^(k+1)) ms, by k; k = -1 has those below 1 ms."""
    counts: dict[int, int] = {}
    for trial in trials:
        for low, _, n in metrics.series(trial, job).buckets:
            k = max(0, (low // MS).bit_length() - 1) if low >= MS else -1
            counts[k] = counts.get(k, 0) + n
    return counts


def bar(count: int, most: int) -> str:
    """A bar as long as the count's logarithm. A count of 1 is visible."""
    eighths = round(8 * BAR * math.log1p(count) / math.log1p(most)) if count else 0
    whole, rest = divmod(eighths, 8)
    return "█" * whole + EIGHTHS[rest].strip()


def octave_label(k: int) -> str:
    """The heading of a row of the histogram."""
    return "< 1" if k < 0 else f"{2**k} - {2 ** (k + 1)}"


def histogram_lines(counts: dict[str, dict[int, int]], most: int, last: int) -> list[str]:
    """The lines of a histogram of some systems side by side."""
    width = min(bars_width(counts), printing.width() - OCTAVE)
    names = set(range(1, len(counts) + 1))
    wide = [OCTAVE - GAP, *[width - GAP] * len(counts)]
    lines = ["", *drawn([["", *counts]], names, names, printing.width(), wide)]
    left = {2 * n - 1 for n in names}  # a bar, and to the right of it its count
    wide = [OCTAVE - GAP, *[BAR, width - BAR - 2 * GAP] * len(counts)]
    for k in range(-1, last + 1):
        row = [octave_label(k)]
        for of_one in counts.values():
            row += [bar(of_one.get(k, 0), most), str(of_one.get(k) or "")]
        lines += drawn([row], left, (), printing.width(), wide)
    return lines


def bars_width(names: Iterable[str]) -> int:
    """How much of a line the bars of one system take; room for each system's name."""
    return max(BAR + COUNT, *(len(name) + 2 for name in names))


def histogram(experiment: Experiment, results: list[dict]) -> list[str]:
    """The response times of each system side by side, as many as fit, in octaves."""
    job = experiment.plot["histogram"]
    counts = {name: octaves(trials, job) for name, trials in groups(results).items()}
    most = max((n for row in counts.values() for n in row.values()), default=0)
    if not most:
        return []
    last = max(k for row in counts.values() for k in row)
    lines = printing.filled(f"response times of `{job}` in ms, all trials; bars are logarithmic", 0)
    names = list(counts)
    abreast = max(1, (printing.width() - OCTAVE) // bars_width(names))
    for i in range(0, len(names), abreast):
        some = {name: counts[name] for name in names[i : i + abreast]}
        lines += histogram_lines(some, most, last)
    return lines


def in_columns(result: dict, width_ms: int) -> list[float]:
    """The writes a second, in columns of time."""
    bin_ms, bins = result["series"]["bin_ms"], result["series"]["bins"]
    columns = [0.0] * -(-bins * bin_ms // width_ms)
    for i, writes in enumerate(disk_series(result)["writes"]):
        columns[i * bin_ms // width_ms] += writes * 1000 / width_ms
    return columns


def column_width_ms(results: list[dict], columns: int) -> int:
    """The width of a column: whole bins of every run, and at most this many columns."""
    unit_ms = math.lcm(*(result["series"]["bin_ms"] for result in results))
    longest_ms = max(r["series"]["bin_ms"] * r["series"]["bins"] for r in results)
    return unit_ms * math.ceil(longest_ms / unit_ms / columns)


def spark(value: float, most: float) -> str:
    """A character as high as the value. The smallest value is visible."""
    return SPARKS[math.ceil(value / most * (len(SPARKS) - 1))] if value else SPARKS[0]


def sparklines(results: list[dict]) -> list[str]:
    """The writes of each system over time: the first trial of each, on one scale."""
    firsts = {name: trials[0] for name, trials in groups(results).items()}
    widest = min(max(map(len, firsts)), printing.width() - GAP - LEAST_COLUMNS)
    room = printing.width() - widest - GAP
    width_ms = column_width_ms(list(firsts.values()), min(SPARK_COLUMNS, max(LEAST_COLUMNS, room)))
    rates = {name: in_columns(result, width_ms) for name, result in firsts.items()}
    most = max(max(row) for row in rates.values())
    if not most:
        return []
    disk = measured_disk(results[0])
    about = f"{width_ms / 1000:g} s a character, the highest is {number(most)} a second"
    lines = printing.filled(f"writes completed on {disk} over time, first trials; {about}", 0)
    lines.append("")
    rows = [[name, "".join(spark(v, most) for v in r)] for name, r in rates.items()]
    wide = [widest, max(len(sparks) for _, sparks in rows)]
    return lines + drawn(rows, (0, 1), (0,), printing.width(), wide)


def losses(results: list[dict]) -> list[str]:
    """A line for each run whose trace is incomplete."""
    return [
        f"trace: {group_of(result)} {result['variables']} lost its first "
        f"{result['series']['lost']:,} events; a larger trace_k keeps them"
        for result in results
        if result["series"]["lost"]
    ]


def expectations(experiment: Experiment, results: list[dict]) -> list[str]:
    """A line for each expectation, and whether it was met."""
    lines, verdicts = [], expect.judge(experiment, results)
    width = max((len(verdict.word) for verdict in verdicts), default=0)
    for verdict in verdicts:
        lines += printing.filled(f"{verdict.word:>{width}}  {verdict.says}", width + 2)
        for line in (verdict.why, *verdict.details, *verdict.origin):
            lines += printing.filled(f"{'':{width}}  {line}", width + 4)
    return lines


def text(experiment: Experiment, results: list[dict]) -> str:
    """All of the text."""
    about = [f"{experiment.name}: {experiment.claim}", f"source: {experiment.source}"]
    drive = f"drive {experiment.drive}, {len(results)} of {len(experiment.runs)} runs"
    parts = [[line for part in (*about, drive) for line in printing.filled(part, 2)]]
    if results and experiment.plot["columns"]:
        told = printing.filled(sureness(results), 0)
        parts.append([*aligned(table(experiment, results), heads=2), *told])
    if results and experiment.plot.get("histogram"):
        parts.append(histogram(experiment, results))
    if results:
        parts += [sparklines(results), losses(results)]
    if experiment.expectations:
        parts.append(expectations(experiment, results))
    return "\n\n".join("\n".join(part) for part in parts if part)
