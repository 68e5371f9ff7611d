"""Computes metrics, which are numbers of a run's result, by name.

    stat.disk.writes               a counter of /dev/stat, its growth
    stat.cpu.idle_s                a counter of ns, in other units; and
    stat.cpu.idle_percent          as a share of the time that was measured
    hist.bio.burst.max             of a histogram of /dev/hist
    hist.disk1.write_response.p99_ms
    read.mean_ms                   of the response times of the job `read`
    job.build.reads                a number that the job `build` printed (jobs.py)
    job.build.elapsed_s            a time that it printed, as elapsed_ns
    job.*.reads                    of all jobs together
    drive.write.seek_ms            what the drive did with its time, over all its commands; only
                                   with drive_times = 1, see below
    stat.disk.reads / read.count   one divided by another; by 0 it is 0
    stat.bio.hits + stat.bio.misses   a sum; on both sides of a division, too

Of the measured disk's drive: drive.PURPOSE.commands, and times drive.PURPOSE.PART_ms. PURPOSE is
read, write, map (of a virtual log), moved (to empty places), or all. PART is command (its
controller), busy (the arm, with what came before), seek, rotation, transfer; locating, which is
busy, seek and rotation; or service, all of them. drive.idle_ms: it had no command; drive.unknown:
commands whose parts are not known.

What a power cut at a random time of the run would lose (loss.py has the definitions); an experiment
asks for these metrics by loss_ages = 1:

    loss.data.oldest.mean_ms       the age of the oldest modification that is lost
    loss.data.age.p95_ms           the age of a modification that is lost
    loss.data.kib                  the blocks that are lost, in the mean
    loss.data.nothing_percent      of the cuts, those that lose nothing

data is what programs wrote to files; loss.all has the inodes and bitmaps, too. An age has mean, max
and whole percentiles.

Of a histogram and of response times: count, mean, std, min, max, p50, p99.9
and so on, and over_450 (how many were longer). share50 is a percentile of the sum: with bursts in
blocks, half of all blocks are in bursts of at most share50 blocks. Where the unit is time, all but
count end in _ns, _us, _ms or _s. Percentiles are the upper ends of buckets,
hence at most 1/128 too long.

Over several runs the figures are means, but max and min are the extremes, and
over_ and count are sums.
"""

import math
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, partial
from statistics import mean

from sluice.experiment import jobs, loss, utilisation
from sluice.experiment.records import JobLine, RunFigures
from sluice.experiment.service import PURPOSES
from sluice.host.matching import match_whole
from sluice.host.nearest import suggest

SCALE_NS = {"_ns": 1, "_us": 10**3, "_ms": 10**6, "_s": 10**9}
FIELD = re.compile(
    r"(count|mean|std|min|max|(?:p|share)(?:100|\d\d?(?:\.\d+)?)|over_\d+)(_ns|_us|_ms|_s|)"
)
JOB = re.compile(rf"job\.([\w-]+|{re.escape(jobs.EVERY)})\.(\w+)")
DRIVE = re.compile(
    rf"drive\.(?:(?P<purpose>{'|'.join((*PURPOSES, utilisation.ALL))})\."
    rf"(?P<part>{utilisation.COMMANDS}(?!_)|(?:{'|'.join(utilisation.TIMES)})(?=_))"
    r"|(?P<alone>idle(?=_)|unknown(?!_)))"
    r"(?P<unit>_ns|_us|_ms|_s|)"
)
LOSS = re.compile(
    r"loss\.(?P<of>data|all)\."
    r"(?:(?P<age>(?:age|oldest)\.(?:mean|max|p100|p\d\d?))(?P<age_unit>_ns|_us|_ms|_s)"
    r"|(?P<figure>kib|nothing_percent))"
)
OWN = re.compile(rf"{DRIVE.pattern}|{LOSS.pattern}")  # of neither the kernel nor a job
NAME = re.compile(
    rf"(?:stat\.(?P<stat>.+)|(?P<job>{JOB.pattern})|(?P<series>.+?)\.(?P<field>{FIELD.pattern}))"
)
OFTEN = ("mean", "std", "min", "max", "p50", "p90", "p99", "p99.9")  # fields that a message offers
LOSS_OFTEN, LOSS_OTHERS = ("mean", "max", "p50", "p95"), ("kib", "nothing_percent")
RATIO, SUM = " / ", " + "
PARTS = re.compile(rf"{re.escape(RATIO)}|{re.escape(SUM)}")
MetricError = tuple[str, str, list[str]]  # a kind, the wrong word, the possible words
# A name that ends in its unit. The field over_450_ms is a number of values, not a time.
IN_UNIT = re.compile(r"(?!.*\.over_\d+_)(.+?)(_ns|_us|_ms|_s|_percent)")


def percentile_rank(percent: float, count: int) -> int:
    """Return the rank, from 1, of a percentile among `count` values in order: the first value that
    at least `percent` per cent do not exceed.

    The percentage is taken as a decimal fraction, because 99.9 / 100 * 1000 is more than 999 in
    floating point.
    """
    return max(1, math.ceil(Fraction(str(percent)) * count / 100))


@dataclass(frozen=True)
class Series:
    """A distribution: buckets are [low, high, count]; exact has the exact values that are known."""

    unit: str
    buckets: list[list[int]]
    exact: dict[str, float]

    @property
    def count(self) -> int:
        """The number of values."""
        return sum(n for _, _, n in self.buckets)

    def bucket_middles(self) -> list[tuple[float, int]]:
        """Return the middle of each bucket, with its number of values."""
        return [((low + high - 1) / 2, n) for low, high, n in self.buckets]

    def mean(self) -> float:
        """Return the mean, with all values of a bucket taken to be at its middle."""
        return sum(value * n for value, n in self.bucket_middles()) / self.count

    def std(self) -> float:
        """Return the standard deviation, with all values of a bucket taken to be at its middle."""
        centre = self.value("mean")
        return math.sqrt(sum((v - centre) ** 2 * n for v, n in self.bucket_middles()) / self.count)

    def percentile(self, percent: float) -> float:
        """Return a percentile: the upper end of its bucket, but no more than the largest value."""
        need, seen = percentile_rank(percent, self.count), 0
        for _, high, n in self.buckets:
            seen += n
            if seen >= need:
                return min(high - 1, self.exact.get("max", high))
        raise AssertionError("a percentile over 100")

    def sum_percentile(self, percent: float) -> float:
        """Return the smallest value v for which the values up to v add up to at least `percent` per
        cent of the sum of all. Each value of a bucket counts as the bucket's upper end."""
        sums = [(min(high - 1, self.exact.get("max", high)), n) for _, high, n in self.buckets]
        need = percentile_rank(percent, round(sum(value * n for value, n in sums)))
        seen = 0.0
        for value, n in sums:
            seen += value * n
            if seen >= need:
                return value
        raise AssertionError("a percentile over 100")

    def value(self, field: str) -> float:
        """Return a field of the distribution, in the series' unit; 0 if the series is empty."""
        if field == "count" or not self.count:
            return self.count
        if field in self.exact:
            return self.exact[field]
        if field.startswith("share"):
            return self.sum_percentile(float(field.removeprefix("share")))
        if field.startswith("p"):
            return self.percentile(float(field[1:]))
        if field == "min":
            return self.buckets[0][0]
        if field == "max":
            return self.buckets[-1][1] - 1
        return self.mean() if field == "mean" else self.std()

    def count_over(self, limit: int) -> int:
        """Return how many values are in buckets from this limit on."""
        return sum(n for low, _, n in self.buckets if low >= limit)


def bucket_end(low: int) -> int:
    """Return the end of the bucket of hist.h that begins at `low`."""
    return low + (1 << max(low.bit_length() - 8, 0))


def merge_job_lines(rows: list[JobLine]) -> dict[str, float]:
    """Return the exact min, max, mean and std of all processes of a job together."""
    if len(rows) == 1:
        return rows[0]["response_ns"]
    counts = [sum(n for _, n in row["histogram"]) for row in rows]
    parts = [(n, row["response_ns"]) for n, row in zip(counts, rows, strict=True) if n]
    count = sum(n for n, _ in parts)
    if not count:
        return {}
    centre = sum(n * part["mean"] for n, part in parts) / count
    squares = sum(n * (part["std"] ** 2 + (part["mean"] - centre) ** 2) for n, part in parts)
    return {
        "min": min(part["min"] for _, part in parts),
        "max": max(part["max"] for _, part in parts),
        "mean": centre,
        "std": math.sqrt(squares / count),
    }


def job_series(result: RunFigures, job: str) -> Series:
    """Return the response times of all processes of a job together."""
    counts = jobs.response_counts(result, job)
    buckets = [[low, bucket_end(low), n] for low, n in sorted(counts.items())]
    return Series("ns", buckets, merge_job_lines(jobs.job_lines(result, job)))


def series(result: RunFigures, name: str) -> Series:
    """Return a histogram of the kernel (hist.NAME) or a job's response times."""
    if not name.startswith("hist."):
        return job_series(result, name)
    row = result["histograms"][name.removeprefix("hist.")]
    exact = {"mean": row["sum"] / row["count"]} if row["count"] else {}
    return Series(row["unit"], row["buckets"], exact)


def split_metric(name: str) -> tuple[str, str, str]:
    """Return the series, field and unit suffix of a metric that is not a counter."""
    match = match_whole(NAME, name)
    field, suffix = match_whole(FIELD, match["field"]).groups()
    return match["series"], field, suffix


def jobs_in_metric(name: str) -> list[str]:
    """Return the names of the jobs that a metric reads, except the one that stands for all jobs."""
    parts = [
        part
        for part in PARTS.split(name)
        if not part.startswith(("stat.", "hist.")) and not OWN.fullmatch(part)
    ]
    matches = [(part, JOB.fullmatch(part)) for part in parts]
    found = [match[1] if match else split_metric(part)[0] for part, match in matches]
    return [job for job in found if job != jobs.EVERY]


def counter_growth(result: RunFigures, name: str) -> int:
    """Return by how much a counter of /dev/stat grew, in its own unit."""
    grew = result["counters"][name][0]
    assert isinstance(grew, int)
    return grew


def counter_value(result: RunFigures, name: str) -> float:
    """Return the growth of a counter, in the unit in which its name may end."""
    if name in result["counters"]:
        return counter_growth(result, name)
    base, suffix = match_whole(IN_UNIT, name).groups()
    whole_ns = result["virtual_ms"] * SCALE_NS["_ms"]
    grew = counter_growth(result, base)
    return grew / (whole_ns / 100 if suffix == "_percent" else SCALE_NS[suffix])


def job_value(result: RunFigures, job: str, name: str) -> float:
    """Return a number that a job printed, in the unit of time in which its name may end."""
    match = IN_UNIT.fullmatch(name)
    if not match or match[2] not in SCALE_NS:
        return jobs.job_number(result, job, name)
    return jobs.job_number(result, job, match[1] + jobs.TIME) / SCALE_NS[match[2]]


def needs_drive_times(name: str) -> bool:
    """Return whether the metric needs the times that the drive's model computes."""
    return any(DRIVE.fullmatch(part) for part in PARTS.split(name))


def needs_loss_ages(name: str) -> bool:
    """Return whether the metric needs what a power cut would lose."""
    return any(LOSS.fullmatch(part) for part in PARTS.split(name))


def evaluate(result: RunFigures, name: str) -> float:
    """Return the metric's value in one run. Raises BadResult if its job has not printed it."""
    return evaluate_all(result, [name])[name]


def evaluate_all(result: RunFigures, names: Iterable[str]) -> dict[str, float]:
    """Return the values of several metrics in one run, by name. Raises BadResult if a job has not
    printed its metric."""
    distribution = cache(partial(series, result))  # several metrics need the same series
    return {name: evaluate_with(result, name, distribution) for name in names}


def evaluate_with(result: RunFigures, name: str, distribution: Callable[[str], Series]) -> float:
    """Return the metric's value in one run. distribution: returns the run's distribution of a
    name."""
    if RATIO in name:
        above, below = (evaluate_with(result, part, distribution) for part in name.split(RATIO))
        return above / below if below else 0
    if SUM in name:
        return sum(evaluate_with(result, part, distribution) for part in name.split(SUM))
    if name.startswith("stat."):
        return counter_value(result, name.removeprefix("stat."))
    if match := JOB.fullmatch(name):
        return job_value(result, *match.groups())
    if match := DRIVE.fullmatch(name):
        purpose, unit = match["purpose"] or match["alone"], match["unit"]
        found = utilisation.utilisation_value(result["drive"], purpose, match["part"])
        return found / SCALE_NS[unit] if unit else found
    if match := LOSS.fullmatch(name):
        figure = loss.loss_value(result["loss"], match["of"], match["age"] or match["figure"])
        unit = match["age_unit"]
        return figure / SCALE_NS[unit] if unit else figure
    from_series, field, suffix = split_metric(name)
    row, scale = distribution(from_series), SCALE_NS.get(suffix, 1)
    if field.startswith("over_"):
        return row.count_over(int(field.removeprefix("over_")) * scale)
    return row.value(field) / scale


def aggregation(name: str) -> str:
    """Return how the values of several runs are combined: "mean", "min", "max" or "sum"."""
    if RATIO in name or SUM in name:
        return "mean"
    if name.startswith("stat.") or any(form.fullmatch(name) for form in (JOB, OWN)):
        return "mean"
    _, field, _ = split_metric(name)
    if field in ("min", "max"):
        return field
    return "sum" if field == "count" or field.startswith("over_") else "mean"


TOGETHER: dict[str, Callable[[list[float]], float]] = {
    "mean": mean,
    "min": min,
    "max": max,
    "sum": sum,
}


def aggregate(results: Sequence[RunFigures], name: str, how: str | None = None) -> float:
    """Return the metric's value over several runs."""
    return TOGETHER[how or aggregation(name)]([evaluate(result, name) for result in results])


def find_counter_error(name: str, counters: dict[str, str]) -> MetricError | None:
    """Return what is wrong with a counter's name, in the form of find_metric_error(), or None."""
    times = [
        c + end for c, unit in counters.items() for end in (*SCALE_NS, "_percent") if unit == "ns"
    ]
    good = [*counters, *times]
    return None if name in good else ("counter", name, good)


def similar_metrics(name: str) -> list[str]:
    """Return metrics that have the form of a wrong name, for suggestions."""
    if name.startswith("drive."):
        parts = [*(f"{part}_ms" for part in utilisation.TIMES), utilisation.COMMANDS]
        whole = [
            f"drive.{purpose}.{part}" for purpose in (*PURPOSES, utilisation.ALL) for part in parts
        ]
        return [*whole, "drive.idle_ms", "drive.unknown"]
    if name.startswith("loss."):
        ages = [f"{age}.{field}_ms" for age in ("age", "oldest") for field in LOSS_OFTEN]
        return [f"loss.{of}.{what}" for of in ("data", "all") for what in (*ages, *LOSS_OTHERS)]
    series = name.rpartition(".")[0]
    fields = [f"{field}{unit}" for field in OFTEN for unit in ("", *SCALE_NS)]
    return [f"{series}.{field}" for field in ("count", *fields)] if series else []


def suggest_metric(name: str) -> str:
    """Return the end of a message about a wrong metric: the most similar one, or examples."""
    near = suggest(name, similar_metrics(name))
    return near if near.startswith("did") else 'one is "read.p99_ms" or "stat.disk.writes"'


def find_metric_error(
    name: str, counters: dict[str, str], histograms: dict[str, str]
) -> MetricError | None:
    """Return what is wrong with a metric's name: (kind, the wrong word, the possible words); or
    None."""
    parts = PARTS.split(name)
    if len(parts) > 1:
        found = [find_metric_error(part, counters, histograms) for part in parts]
        bad = [("metric", name, [])] if name.count(RATIO) > 1 else [row for row in found if row]
        return bad[0] if bad else None
    if OWN.fullmatch(name):
        return None
    match = NAME.fullmatch(name)
    if not match:
        return ("metric", name, [])
    if match["stat"]:
        return find_counter_error(match["stat"], counters)
    if match["job"]:
        return None
    series_name, field, suffix = split_metric(name)
    histogram = series_name.removeprefix("hist.")
    if series_name.startswith("hist.") and histogram not in histograms:
        return ("histogram", histogram, list(histograms))
    of_times = not series_name.startswith("hist.") or histograms[histogram] == "ns"
    is_time = of_times and field != "count"
    if is_time != bool(suffix):
        units = list(SCALE_NS) if is_time else [""]
        return ("metric", name, [f"{series_name}.{field}{unit}" for unit in units])
    return None
