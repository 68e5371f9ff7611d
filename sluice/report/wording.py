"""Put metrics into words, for headings, sentences and axes.

`hist.disk1.queued.max` becomes "longest queue of disk1", in requests. Every metric on a page goes
through metric_words(); the names themselves stay in the files.
"""

import re
from dataclasses import dataclass

from sluice.experiment import jobs, metrics, utilisation
from sluice.experiment.catalogue import load_catalogue
from sluice.experiment.summary import format_number

UNITS = {"_ns": "ns", "_us": "µs", "_ms": "ms", "_s": "s", "_percent": "%"}
LONG = {"max": "longest", "min": "shortest"}  # of times and queues
LARGE = {"max": "largest", "min": "smallest"}
FIELDS = {"mean": "mean", "std": "standard deviation of the", "p50": "median"}
# The kernel's histograms: the meaning of a value, its unit, and words for the extremes.
SERIES = {
    "bio.burst": ("burst", "blocks", LARGE),
    "bio.age_flushed": ("age of a block when a scan wrote it", "", LONG),
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
    "biowait.sleeps": ("sleeps in biowait", "times"),
    "bio.scanned": ("dirty blocks looked at", "blocks"),
    "cflru.dirty": ("choices of a dirty victim", "times"),
    "cflru.spared": ("choices of a clean victim before a dirty one", "times"),
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
    "updated.looks": ("scans of the update daemon", "times"),
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
# The parts of the drive's time, and the purposes of its commands.
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
    """A metric in words for people, and its unit or ""."""

    text: str
    unit: str

    @property
    def heading(self) -> str:
        """The words for an axis, with the unit."""
        said = not self.unit or self.unit in self.text.split()
        return self.text if said else f"{self.text}, {self.unit}"

    @property
    def capital(self) -> str:
        """The words for the beginning of a sentence."""
        return self.text[0].upper() + self.text[1:]

    def value(self, value: float) -> str:
        """Return a value with its unit."""
        return f"{format_number(value)} {self.unit}".rstrip()


def strip_punctuation(name: str) -> str:
    """Return a name without its punctuation."""
    return re.sub(r"[._]+", " ", name)


def split_unit(name: str) -> tuple[str, str]:
    """Return a name without its unit suffix, and the unit."""
    match = metrics.IN_UNIT.fullmatch(name)
    return (match[1], UNITS[match[2]]) if match else (name, "")


def counter_words(name: str) -> Words:
    """Return the words for a counter of the kernel. A counter without words has its name, and the
    unit of /dev/stat."""
    if name in COUNTERS:
        return Words(*COUNTERS[name])
    base, unit = split_unit(name)
    return Words(
        COUNTERS.get(base, (strip_punctuation(base),))[0],
        unit or load_catalogue().counters.get(name, ""),
    )


def job_words(job: str) -> str:
    """Return a job in words: its name alone may mean something else, as `update` or `read`."""
    return "all jobs" if job == jobs.EVERY else f"job {job}"


def job_number_words(job: str, name: str) -> Words:
    """Return the words for a number that a job printed."""
    base, unit = split_unit(name)
    text, own = NUMBERS.get(base, (strip_punctuation(base) + " of {}", ""))
    return Words(text.format(job_words(job)), unit or own)


def drive_words(match: re.Match[str]) -> Words:
    """Return the words for what the drive did with its time."""
    unit = UNITS.get(match["unit"], "")
    if match["alone"]:
        is_idle = match["alone"] == "idle"
        return Words("time without a command" if is_idle else "commands of unknown parts", unit)
    commands, _ = PURPOSES[match["purpose"]]
    if match["part"] == utilisation.COMMANDS:
        return Words(commands, unit)
    return Words(f"{DRIVE_TIMES[match['part']]} of {commands}", unit)


def loss_words(match: re.Match[str]) -> Words:
    """Return the words for what a power cut loses."""
    whose = "of files" if match["of"] == "data" else "of all blocks"
    if match["figure"] == "kib":
        return Words(f"loss {whose} at a cut", "KiB")
    if match["figure"]:
        return Words(f"cuts without a loss {whose}", "%")
    which, _, field = match["age"].partition(".")
    noun = f"age of {'the oldest loss' if which == 'oldest' else 'a loss'} {whose}"
    what = {"mean": "mean", "max": "highest"}.get(field, f"{field[1:]}th percentile of the")
    return Words(f"{what} {noun}", UNITS[match["age_unit"]])


def words_per_command(above: str, below: str) -> Words | None:
    """Return the words for a time of the drive per command of its purpose, or None if the ratio is
    another one."""
    match = metrics.DRIVE.fullmatch(above)
    if not match or below != f"drive.{match['purpose']}.{utilisation.COMMANDS}":
        return None
    _, one_command = PURPOSES[match["purpose"]]
    return Words(f"{DRIVE_TIMES[match['part']]} per {one_command}", UNITS.get(match["unit"], ""))


def series_noun(series: str) -> tuple[str, str, dict[str, str]]:
    """Return the words for a value of a series, its unit, and words for its extremes."""
    if not series.startswith("hist."):
        return (f"response of {job_words(series)}", "", LONG)
    name = series.removeprefix("hist.")
    if name in SERIES:
        return SERIES[name]
    disk, _, of_disk = name.partition(".")
    text, unit, extremes = SERIES.get(of_disk, (strip_punctuation(of_disk), "", LARGE))
    return (f"{text} of {disk}", unit, extremes)


def plural(text: str) -> str:
    """Return the plural of a value of a series: of the word before " of ", if there is one."""
    first, of, rest = text.partition(" of ")
    return f"{first}s{of}{rest}"


def series_words(series: str, field: str, suffix: str) -> Words:
    """Return the words for a field of a distribution."""
    text, unit, extremes = series_noun(series)
    shown_in = UNITS.get(suffix, unit)
    if field == "count":
        return Words(f"number of {plural(text)}", "")
    if field.startswith("over_"):
        limit = f"{int(field.removeprefix('over_')):,} {shown_in}"
        return Words(f"{plural(text)} over {limit}", "")
    if field in FIELDS:
        return Words(f"{FIELDS[field]} {text}", shown_in)
    if field in extremes:
        return Words(f"{extremes[field]} {text}", shown_in)
    if field.startswith("share"):
        share = field.removeprefix("share")
        return Words(f"{text} up to which there are {share} % of all {shown_in}", shown_in)
    return Words(f"{field.removeprefix('p')}th percentile of {text}", shown_in)


def metric_words(metric: str) -> Words:
    """Return the words for a metric."""
    if metrics.RATIO in metric:
        if each := words_per_command(*metric.split(metrics.RATIO)):
            return each
        above, below = (metric_words(part) for part in metric.split(metrics.RATIO))
        return Words(f"{above.heading} / {below.heading}", "")
    if metrics.SUM in metric:
        parts = [metric_words(part) for part in metric.split(metrics.SUM)]
        unit = parts[0].unit if len({words.unit for words in parts}) == 1 else ""
        return Words(" + ".join(words.text for words in parts), unit)
    if metric.startswith("stat."):
        return counter_words(metric.removeprefix("stat."))
    if match := metrics.JOB.fullmatch(metric):
        return job_number_words(*match.groups())
    if match := metrics.DRIVE.fullmatch(metric):
        return drive_words(match)
    if match := metrics.LOSS.fullmatch(metric):
        return loss_words(match)
    return series_words(*metrics.split_metric(metric))


def replace_metrics(text: str, names: list[str]) -> str:
    """Return the text with these metrics replaced by their words. The longest names come first,
    because they may contain others."""
    for name in sorted(names, key=len, reverse=True):
        text = text.replace(name, metric_words(name).text)
    return text
