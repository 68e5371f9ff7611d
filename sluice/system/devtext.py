"""Reads the text of /dev/stat, /dev/hist and /dev/prochist strictly: any other line is an error.

The kernel goes on while it prints, so one line may include an event that another lacks: a
histogram's count and the sum of its buckets can differ by a request or two.
"""

import re
from typing import TypedDict

STAT = re.compile(r"(\S+) (\d+) +(\S.*)")
HIST = re.compile(r"hist (\S+) (\S+) (\d+) (\d+)\n((?:bucket \d+ \d+ \d+\n)*)")
MOST_BYTES = 256 << 10  # of the text that one call reads
PROCESS = re.compile(r"process (\d+) (.*)")

Counters = dict[str, tuple[int, str]]


class Histogram(TypedDict):
    """A histogram of the kernel: the unit of its values, how many there are, their sum, and the
    buckets [low, high, count]. A value of `low` is in the bucket, one of `high` is not."""

    unit: str
    count: int
    sum: int
    buckets: list[list[int]]


Histograms = dict[str, Histogram]  # by name


class BadText(ValueError):
    """The error for unexpected text on the console."""


def parse_stat(text: str) -> Counters:
    """Return the value and unit of each counter, by name. Raises BadText."""
    rows: Counters = {}
    for line in text.splitlines():
        match = STAT.fullmatch(line)
        if not match:
            raise BadText(f"not a line of /dev/stat: {line!r}")
        rows[match[1]] = (int(match[2]), match[3])
    return rows


def parse_histograms(text: str) -> Histograms:
    """Return each histogram by name: unit, count, sum, and buckets [low, high, count]. Raises
    BadText."""
    if len(text) >= MOST_BYTES:
        raise BadText(f"/dev/hist is longer than the {MOST_BYTES} bytes that are read of it")
    rows: Histograms = {}
    at = 0
    while match := HIST.match(text, at):
        name, unit, count, total, lines = match.groups()
        words = lines.split()
        buckets = zip(*(map(int, words[i::4]) for i in (1, 2, 3)), strict=True)
        rows[name] = {
            "unit": unit,
            "count": int(count),
            "sum": int(total),
            "buckets": [list(bucket) for bucket in buckets],
        }
        at = match.end()
    if at < len(text):
        raise BadText(f"not a line of /dev/hist: {text[at:].splitlines()[0]!r}")
    return rows


def parse_processes(text: str) -> dict[int, tuple[str, Histograms]]:
    """Return the name and the histograms of each process in /dev/prochist, by pid.

    The histograms' names are those of a disk's after `diskN.`.
    """
    heads = list(re.finditer(r"^process .*\n", text, re.M))
    ends = [head.start() for head in heads[1:]] + [len(text)]
    rows = {}
    for head, end in zip(heads, ends, strict=True):
        match = PROCESS.fullmatch(head[0].rstrip("\n"))
        if not match:
            raise BadText(f"not a line of /dev/prochist: {head[0]!r}")
        pid, name = match.groups()
        found = parse_histograms(text[head.end() : end])
        rows[int(pid)] = (name, {key.removeprefix(f"proc{pid}."): h for key, h in found.items()})
    return rows


def counter_growth(start: Counters, end: Counters) -> dict[str, int]:
    """Return how much each counter grew between two readings, in its unit. A gauge may have
    fallen. The names are in order: that of the kernel's rows is the linker's."""
    return {name: end[name][0] - start[name][0] for name in sorted(end)}


def counter_change(start: Counters, end: Counters) -> dict[str, list[int | str]]:
    """Return how much each counter grew, and its unit, in the form of a result."""
    return {name: [n, end[name][1]] for name, n in counter_growth(start, end).items()}


def histogram_change(start: Histograms, end: Histograms) -> Histograms:
    """Return what was added to each histogram between two readings, in order of names. Raises
    BadText."""
    if start.keys() != end.keys():
        raise BadText("not the same histograms at the start and at the end: cut short?")
    rows: Histograms = {}
    for name, row in sorted(end.items()):
        before = {low: count for low, _, count in start[name]["buckets"]}
        grown = [[low, high, n - before.get(low, 0)] for low, high, n in row["buckets"]]
        rows[name] = {
            "unit": row["unit"],
            "count": row["count"] - start[name]["count"],
            "sum": row["sum"] - start[name]["sum"],
            "buckets": [bucket for bucket in grown if bucket[2]],
        }
    return rows
