"""Numbers of a run's result, by name.

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

Of the measured disk's drive: drive.PURPOSE.commands, and times drive.PURPOSE.PART_ms. PURPOSE is
read, write, map (of a virtual log), moved (to empty places), or all. PART is command (its
controller), busy (the arm, with what came before), seek, rotation, transfer; locating, which is
busy, seek and rotation; or service, all of them. drive.idle_ms: it had no command; drive.unknown:
commands whose parts are not known.

Of a histogram and of response times: count, mean, std, min, max, p50, p99.9
and so on, and over_450 (how many were longer). Where the unit is time, all but
count end in _ns, _us, _ms or _s. Percentiles are the upper ends of buckets,
hence at most 1/128 too long.

Over several runs the figures are means, but max and min are the extremes, and
over_ and count are sums.
"""

import math
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, partial
from statistics import mean

from sluice.experiment import jobs, utilisation
from sluice.experiment.service import PURPOSES
from sluice.host.nearest import meant

SCALE_NS = {"_ns": 1, "_us": 10**3, "_ms": 10**6, "_s": 10**9}
FIELD = re.compile(r"(count|mean|std|min|max|p(?:100|\d\d?(?:\.\d+)?)|over_\d+)(_ns|_us|_ms|_s|)")
JOB = re.compile(rf"job\.([\w-]+|{re.escape(jobs.EVERY)})\.(\w+)")
DRIVE = re.compile(
    rf"drive\.(?:({'|'.join((*PURPOSES, utilisation.ALL))})"
    rf"\.({utilisation.COMMANDS}(?!_)|(?:{'|'.join(utilisation.TIMES)})(?=_))|(idle)(?=_)|(unknown)(?!_))"
    r"(_ns|_us|_ms|_s|)"
)
NAME = re.compile(
    rf"(?:stat\.(?P<stat>.+)|(?P<job>{JOB.pattern})|(?P<series>.+?)\.(?P<field>{FIELD.pattern}))"
)
OFTEN = ("mean", "std", "min", "max", "p50", "p90", "p99", "p99.9")  # fields that a message offers
RATIO = " / "
# A name that ends in its unit. The field over_450_ms is a number of values, not a time.
IN_UNIT = re.compile(r"(?!.*\.over_\d+_)(.+?)(_ns|_us|_ms|_s|_percent)")


def rank(percent: float, count: int) -> int:
    """Which of so many values in order is this percentile, from 1: the first that at least so many
    percent do not exceed. The percentage is taken as it is written, because 99.9 / 100 * 1000 is
    more than 999 in floating point."""
    return max(1, math.ceil(Fraction(str(percent)) * count / 100))


@dataclass(frozen=True)
class Series:
    """A distribution: buckets are [low, high, count], exact values if known."""

    unit: str
    buckets: list[list[int]]
    exact: dict[str, float]

    @property
    def count(self) -> int:
        return sum(n for _, _, n in self.buckets)

    def middles(self) -> list[tuple[float, int]]:
        return [((low + high - 1) / 2, n) for low, high, n in self.buckets]

    def mean(self) -> float:
        return sum(value * n for value, n in self.middles()) / self.count

    def std(self) -> float:
        centre = self.value("mean")
        return math.sqrt(sum((v - centre) ** 2 * n for v, n in self.middles()) / self.count)

    def percentile(self, percent: float) -> int:
        need, seen = rank(percent, self.count), 0
        for _, high, n in self.buckets:
            seen += n
            if seen >= need:
                return min(high - 1, self.exact.get("max", high))
        raise AssertionError("a percentile over 100")

    def value(self, field: str) -> float:
        """A field, in the series' unit; 0 if the series is empty."""
        if field == "count" or not self.count:
            return self.count
        if field in self.exact:
            return self.exact[field]
        if field.startswith("p"):
            return self.percentile(float(field[1:]))
        if field == "min":
            return self.buckets[0][0]
        if field == "max":
            return self.buckets[-1][1] - 1
        return self.mean() if field == "mean" else self.std()

    def over(self, limit: int) -> int:
        return sum(n for low, _, n in self.buckets if low >= limit)


def bucket_end(low: int) -> int:
    """The end of the bucket of hist.h that begins here."""
    return low + (1 << max(low.bit_length() - 8, 0))


def merged(rows: list[dict]) -> dict[str, float]:
    """The exact figures of all processes of a job together."""
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


def job_series(result: dict, job: str) -> Series:
    """The response times of all processes of a job together."""
    counts = jobs.response_counts(result, job)
    buckets = [[low, bucket_end(low), n] for low, n in sorted(counts.items())]
    return Series("ns", buckets, merged(jobs.of(result, job)))


def series(result: dict, name: str) -> Series:
    """A histogram of the kernel (hist.NAME) or a job's response times."""
    if not name.startswith("hist."):
        return job_series(result, name)
    row = result["histograms"][name.removeprefix("hist.")]
    exact = {"mean": row["sum"] / row["count"]} if row["count"] else {}
    return Series(row["unit"], row["buckets"], exact)


def split(name: str) -> tuple[str, str, str]:
    """Series, field and unit suffix of a metric that is not a counter."""
    match = NAME.fullmatch(name)
    field, suffix = FIELD.fullmatch(match["field"]).groups()
    return match["series"], field, suffix


def jobs_of(name: str) -> list[str]:
    """The jobs that a metric names."""
    parts = [
        part
        for part in name.split(RATIO)
        if not part.startswith(("stat.", "hist.")) and not DRIVE.fullmatch(part)
    ]
    matches = [(part, JOB.fullmatch(part)) for part in parts]
    found = [match[1] if match else split(part)[0] for part, match in matches]
    return [job for job in found if job != jobs.EVERY]


def counter(result: dict, name: str) -> float:
    """The growth of a counter, in the unit that its name may end in."""
    counters = result["counters"]
    if name in counters:
        return counters[name][0]
    base, suffix = IN_UNIT.fullmatch(name).groups()
    whole_ns = result["virtual_ms"] * SCALE_NS["_ms"]
    return counters[base][0] / (whole_ns / 100 if suffix == "_percent" else SCALE_NS[suffix])


def job_number(result: dict, job: str, name: str) -> float:
    """A number that a job printed, in the unit of time that its name may end in."""
    match = IN_UNIT.fullmatch(name)
    if not match or match[2] not in SCALE_NS:
        return jobs.number(result, job, name)
    return jobs.number(result, job, match[1] + jobs.TIME) / SCALE_NS[match[2]]


def asks_drive(name: str) -> bool:
    """Does the metric tell what the drive did with its time?"""
    return any(DRIVE.fullmatch(part) for part in name.split(RATIO))


def of(result: dict, name: str) -> float:
    """The metric's value in one run. Raises BadResult if its job has not printed it."""
    return of_all(result, [name])[name]


def of_all(result: dict, names: Iterable[str]) -> dict[str, float]:
    """The values of several metrics in one run, by name. Raises BadResult as `of` does."""
    distribution = cache(partial(series, result))  # several metrics are of one
    return {name: value(result, name, distribution) for name in names}


def value(result: dict, name: str, distribution: Callable[[str], Series]) -> float:
    """The metric's value in one run, whose distributions these are."""
    if RATIO in name:
        above, below = (value(result, part, distribution) for part in name.split(RATIO))
        return above / below if below else 0
    if name.startswith("stat."):
        return counter(result, name.removeprefix("stat."))
    if match := JOB.fullmatch(name):
        return job_number(result, *match.groups())
    if match := DRIVE.fullmatch(name):
        purpose, what, *single, suffix = match.groups()
        found = utilisation.of(result["drive"], purpose or single[0] or single[1], what)
        return found / SCALE_NS[suffix] if suffix else found
    from_series, field, suffix = split(name)
    row, scale = distribution(from_series), SCALE_NS.get(suffix, 1)
    if field.startswith("over_"):
        return row.over(int(field.removeprefix("over_")) * scale)
    return row.value(field) / scale


def over_runs(name: str) -> str:
    """How the values of several runs are combined: mean, min, max or sum."""
    if name.startswith("stat.") or any(form.fullmatch(name) for form in (JOB, DRIVE)):
        return "mean"
    if RATIO in name:
        return "mean"
    _, field, _ = split(name)
    if field in ("min", "max"):
        return field
    return "sum" if field == "count" or field.startswith("over_") else "mean"


TOGETHER = {"mean": mean, "min": min, "max": max, "sum": sum}


def together(results: list[dict], name: str, how: str | None = None) -> float:
    """The metric's value over several runs."""
    return TOGETHER[how or over_runs(name)]([of(result, name) for result in results])


def wrong_counter(name: str, counters: dict[str, str]) -> tuple | None:
    """What is wrong with a counter's name, as `wrong` returns it."""
    times = [
        c + end for c, unit in counters.items() for end in (*SCALE_NS, "_percent") if unit == "ns"
    ]
    good = [*counters, *times]
    return None if name in good else ("counter", name, good)


def like(name: str) -> list[str]:
    """Metrics whose form is that of a name that is none."""
    if name.startswith("drive."):
        parts = [*(f"{part}_ms" for part in utilisation.TIMES), utilisation.COMMANDS]
        whole = [
            f"drive.{purpose}.{part}" for purpose in (*PURPOSES, utilisation.ALL) for part in parts
        ]
        return [*whole, "drive.idle_ms", "drive.unknown"]
    series = name.rpartition(".")[0]
    fields = [f"{field}{unit}" for field in OFTEN for unit in ("", *SCALE_NS)]
    return [f"{series}.{field}" for field in ("count", *fields)] if series else []


def no_metric(name: str) -> str:
    """The end of a message about a name that is no metric: the nearest one, or examples."""
    near = meant(name, like(name))
    return near if near.startswith("did") else 'one is "read.p99_ms" or "stat.disk.writes"'


def wrong(name: str, counters: dict[str, str], histograms: dict[str, str]) -> tuple | None:
    """What is wrong with a metric's name: (kind, the word, the possible words), or None."""
    if RATIO in name:
        parts = name.split(RATIO)
        found = [wrong(part, counters, histograms) for part in parts]
        bad = [("metric", name, [])] if len(parts) > 2 else [row for row in found if row]
        return bad[0] if bad else None
    if DRIVE.fullmatch(name):
        return None
    match = NAME.fullmatch(name)
    if not match:
        return ("metric", name, [])
    if match["stat"]:
        return wrong_counter(match["stat"], counters)
    if match["job"]:
        return None
    series_name, field, suffix = split(name)
    histogram = series_name.removeprefix("hist.")
    if series_name.startswith("hist.") and histogram not in histograms:
        return ("histogram", histogram, list(histograms))
    of_times = not series_name.startswith("hist.") or histograms[histogram] == "ns"
    is_time = of_times and field != "count"
    if is_time != bool(suffix):
        units = list(SCALE_NS) if is_time else [""]
        return ("metric", name, [f"{series_name}.{field}{unit}" for unit in units])
    return None
