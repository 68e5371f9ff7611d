"""Metrics in words, for headings, sentences and axes.

`hist.disk1.queued.max` becomes "longest queue of disk1", in requests. Every metric on a page goes
through `words`; the names themselves stay in the files.
"""

import re
from dataclasses import dataclass

from sluice.experiment import jobs, metrics, utilisation
from sluice.experiment.catalogue import known
from sluice.experiment.summary import number

UNITS = {"_ns": "ns", "_us": "µs", "_ms": "ms", "_s": "s", "_percent": "%"}
LONG = {"max": "longest", "min": "shortest"}  # of times and queues
LARGE = {"max": "largest", "min": "smallest"}
FIELDS = {"mean": "mean", "std": "standard deviation of the", "p50": "median"}
# Histograms of the kernel: what one value of them is, its unit, and words for the extremes.
SERIES = {
    "bio.burst": ("burst", "blocks", LARGE),
    "bio.age_written": ("age of a block when written", "", LONG),
    "queued": ("queue", "requests", LONG),
    "read_response": ("read response", "", LONG),
    "write_response": ("write response", "", LONG),
    "read_service": ("read service time", "", LONG),
    "write_service": ("write service time", "", LONG),
}
COUNTERS = {
    "bio.absorbed": ("writes absorbed by dirty blocks", "blocks"),
    "bio.ahead": ("blocks read ahead", "blocks"),
    "bio.ahead_late": ("blocks read ahead too late", "blocks"),
    "bio.ahead_used": ("blocks read ahead and used", "blocks"),
    "bio.ahead_wasted": ("blocks read ahead for nothing", "blocks"),
    "bio.cancelled": ("dirty blocks freed before they were written", "blocks"),
    "bio.dirtied": ("blocks that became dirty", "blocks"),
    "bio.flush_sleeps": ("waits of a flush", "times"),
    "bio.scanned": ("dirty blocks looked at", "blocks"),
    "cflru.dirty": ("choices of a dirty victim", "times"),
    "cflru.spared": ("dirty blocks spared", "blocks"),
    "cpu.idle": ("CPU idle", ""),
    "disk.commands": ("disk commands", "commands"),
    "disk.mode_selects": ("divisions of the drive's cache", "times"),
    "disk.offers_taken": ("writes taken up early", "requests"),
    "disk.reads": ("reads from the disk", "requests"),
    "disk.writes": ("writes to the disk", "requests"),
    "flash.erased": ("blocks of pages erased", "blocks"),
    "flash.moved": ("pages moved", "pages"),
    "flash.written": ("pages written for the host", "pages"),
    "freeblock.late": ("free writes that came late", "requests"),
    "updated.cpu": ("CPU time of the update daemon", "ns"),
    "updated.looks": ("looks of the update daemon", "times"),
    "updated.written": ("blocks written by the update daemon", "blocks"),
    "wow.spared": ("groups spared by WOW", "groups"),
}
# Numbers that jobs print, by their name without its unit.
NUMBERS = {
    "elapsed": ("time that {} took", ""),
    "bytes": ("bytes of {}", "bytes"),
    "fsync_max": ("longest fsync of {}", ""),
    "ios": ("requests of {}", "requests"),
    "request": ("time per request of {}", ""),
    "run_mean": ("mean time per run of {}", ""),
    "run_std": ("standard deviation of a run of {}", ""),
    "runs": ("runs of {}", "runs"),
    "tasks": ("tasks of {}", "tasks"),
    "throughput": ("throughput of {}", "bytes/s"),
}
# What the drive did with its time, and what for.
DRIVE_TIMES = {
    "command": "controller's time",
    "busy": "waiting for the arm",
    "seek": "seeks",
    "rotation": "rotation",
    "transfer": "transfer",
    "locating": "locating",
    "service": "time",
}
PURPOSES = {
    "all": ("the drive's commands", "command"),
    "read": ("the drive's reads", "read"),
    "write": ("the drive's writes", "write"),
    "map": ("the drive's writes of the map", "write of the map"),
    "moved": ("the drive's moves", "move"),
}


@dataclass(frozen=True)
class Words:
    """A metric for people: what it is, and its unit or ""."""

    text: str
    unit: str

    @property
    def heading(self) -> str:
        """The words for an axis."""
        said = not self.unit or self.unit in self.text.split()
        return self.text if said else f"{self.text}, {self.unit}"

    @property
    def capital(self) -> str:
        """The words for the beginning of a sentence."""
        return self.text[0].upper() + self.text[1:]

    def value(self, value: float) -> str:
        """A value with its unit."""
        return f"{number(value)} {self.unit}".rstrip()


def plain(name: str) -> str:
    """A name without its punctuation."""
    return re.sub(r"[._]+", " ", name)


def in_unit(name: str) -> tuple[str, str]:
    """A name without the unit that it may end in, and that unit."""
    match = metrics.IN_UNIT.fullmatch(name)
    return (match[1], UNITS[match[2]]) if match else (name, "")


def of_counter(name: str) -> Words:
    """A counter of the kernel. One without words here has its name, and the unit of /dev/stat."""
    if name in COUNTERS:
        return Words(*COUNTERS[name])
    base, unit = in_unit(name)
    return Words(COUNTERS.get(base, (plain(base),))[0], unit or known().counters.get(name, ""))


def called(job: str) -> str:
    """A job in words. (The name alone may mean something else, too: `update`, `read`.)"""
    return "all jobs" if job == jobs.EVERY else f"job {job}"


def of_job(job: str, name: str) -> Words:
    """A number that a job printed."""
    base, unit = in_unit(name)
    text, own = NUMBERS.get(base, (plain(base) + " of {}", ""))
    return Words(text.format(called(job)), unit or own)


def of_drive(match: re.Match[str]) -> Words:
    """What the drive did with its time."""
    purpose, what, idle, _, suffix = match.groups()
    unit = UNITS.get(suffix, "")
    if not purpose:
        return Words("time without a command" if idle else "commands of unknown parts", unit)
    many, _ = PURPOSES[purpose]
    return Words(many if what == utilisation.COMMANDS else f"{DRIVE_TIMES[what]} of {many}", unit)


def per_command(above: str, below: str) -> Words | None:
    """A time of the drive by how many commands it had of that purpose, or None."""
    match = metrics.DRIVE.fullmatch(above)
    if not match or below != f"drive.{match[1]}.{utilisation.COMMANDS}":
        return None
    return Words(f"{DRIVE_TIMES[match[2]]} per {PURPOSES[match[1]][1]}", UNITS.get(match[5], ""))


def noun(series: str) -> tuple[str, str, dict[str, str]]:
    """A value of a series in words, its unit, and words for its extremes."""
    if not series.startswith("hist."):
        return (f"response of {called(series)}", "", LONG)
    name = series.removeprefix("hist.")
    if name in SERIES:
        return SERIES[name]
    disk, _, of_disk = name.partition(".")
    text, unit, extremes = SERIES.get(of_disk, (plain(of_disk), "", LARGE))
    return (f"{text} of {disk}", unit, extremes)


def many(text: str) -> str:
    """The plural of a value of a series: of the word before " of ", if there is one."""
    first, of, rest = text.partition(" of ")
    return f"{first}s{of}{rest}"


def of_series(series: str, field: str, suffix: str) -> Words:
    """A field of a distribution."""
    text, unit, extremes = noun(series)
    shown_in = UNITS.get(suffix, unit)
    if field == "count":
        return Words(f"number of {many(text)}", "")
    if field.startswith("over_"):
        limit = f"{int(field.removeprefix('over_')):,} {shown_in}"
        return Words(f"{many(text)} over {limit}", "")
    if field in FIELDS:
        return Words(f"{FIELDS[field]} {text}", shown_in)
    if field in extremes:
        return Words(f"{extremes[field]} {text}", shown_in)
    return Words(f"{field.removeprefix('p')}th percentile of {text}", shown_in)


def words(metric: str) -> Words:
    """A metric in words."""
    if metrics.RATIO in metric:
        if each := per_command(*metric.split(metrics.RATIO)):
            return each
        above, below = (words(part) for part in metric.split(metrics.RATIO))
        return Words(f"{above.heading} / {below.heading}", "")
    if metric.startswith("stat."):
        return of_counter(metric.removeprefix("stat."))
    if match := metrics.JOB.fullmatch(metric):
        return of_job(*match.groups())
    if match := metrics.DRIVE.fullmatch(metric):
        return of_drive(match)
    return of_series(*metrics.split(metric))


def in_words(text: str, names: list[str]) -> str:
    """The text with these metrics in words. The longest names come first, as they may contain
    others."""
    for name in sorted(names, key=len, reverse=True):
        text = text.replace(name, words(name).text)
    return text
