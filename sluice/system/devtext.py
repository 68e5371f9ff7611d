"""The text of /dev/stat, /dev/hist and /dev/prochist, read strictly: any other line is an error.

The kernel goes on while it prints, so one line may include an event that another lacks: a
histogram's count and the sum of its buckets can differ by a request or two.
"""

import re

STAT = re.compile(r"(\S+) (\d+) (\S+)")
HIST = re.compile(r"hist (\S+) (\S+) (\d+) (\d+)\n((?:bucket \d+ \d+ \d+\n)*)")
MOST_BYTES = 256 << 10  # that one call gets of such a text
PROCESS = re.compile(r"process (\d+) (.*)")

Counters = dict[str, tuple[int, str]]
Histograms = dict[str, dict]


class BadText(ValueError):
    """The console shows something unexpected."""


def stat(text: str) -> Counters:
    """Value and unit of each counter, by name."""
    rows: Counters = {}
    for line in text.splitlines():
        match = STAT.fullmatch(line)
        if not match:
            raise BadText(f"not a line of /dev/stat: {line!r}")
        rows[match[1]] = (int(match[2]), match[3])
    return rows


def histograms(text: str) -> Histograms:
    """Each histogram by name: unit, count, sum, and buckets [low, high, count]."""
    if len(text) >= MOST_BYTES:
        raise BadText(f"/dev/hist is longer than the {MOST_BYTES} bytes that are read of it")
    rows: Histograms = {}
    at = 0
    while match := HIST.match(text, at):
        name, unit, count, total, lines = match.groups()
        words = lines.split()
        buckets = zip(*(map(int, words[i::4]) for i in (1, 2, 3)), strict=True)
        row = {"unit": unit, "count": int(count), "sum": int(total)}
        rows[name] = row | {"buckets": list(map(list, buckets))}
        at = match.end()
    if at < len(text):
        raise BadText(f"not a line of /dev/hist: {text[at:].splitlines()[0]!r}")
    return rows


def processes(text: str) -> dict[int, tuple[str, Histograms]]:
    """The name and the histograms of each process in /dev/prochist, by pid.

    The histograms have the names that those of a disk have after `diskN.`.
    """
    heads = list(re.finditer(r"^process .*\n", text, re.M))
    ends = [head.start() for head in heads[1:]] + [len(text)]
    rows = {}
    for head, end in zip(heads, ends, strict=True):
        pid, name = PROCESS.fullmatch(head[0].rstrip("\n")).groups()
        found = histograms(text[head.end() : end])
        rows[int(pid)] = (name, {key.removeprefix(f"proc{pid}."): h for key, h in found.items()})
    return rows


def counter_change(start: Counters, end: Counters) -> dict[str, list]:
    """How much each counter grew, and its unit. (A gauge may have fallen.)"""
    return {name: [value - start[name][0], unit] for name, (value, unit) in end.items()}


def histogram_change(start: Histograms, end: Histograms) -> Histograms:
    """What was added to each histogram between two readings."""
    if start.keys() != end.keys():
        raise BadText("not the same histograms at the start and at the end: cut short?")
    rows: Histograms = {}
    for name, row in end.items():
        before = {low: count for low, _, count in start[name]["buckets"]}
        grown = [[low, high, n - before.get(low, 0)] for low, high, n in row["buckets"]]
        rows[name] = {
            "unit": row["unit"],
            "count": row["count"] - start[name]["count"],
            "sum": row["sum"] - start[name]["sum"],
            "buckets": [bucket for bucket in grown if bucket[2]],
        }
    return rows
