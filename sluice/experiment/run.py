"""One run: a root disk with its scripts, a machine in lab mode, and its result.

The commands are in /workload of the root disk. /rc runs them between two readings of /dev/stat and
/dev/hist. A watchdog in the machine ends a run that takes too much virtual time. It also ends a run
that is stuck, because virtual time jumps when everything waits. The host's limit is for a run that
computes without end.

A result is one JSON object (result.py) that depends only on the run's configuration, the kernel and
the images. The machine's memory is a file, from which the event trace is read when the machine has
ended.
"""

import re
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

from sluice.experiment import jobs, series, trace_disk, utilisation
from sluice.experiment.catalogue import kernel_hash
from sluice.experiment.files import CACHE, Image, cached, hash_of
from sluice.experiment.programs import on_disk
from sluice.experiment.schema import Run
from sluice.host.interrupt import stopped
from sluice.host.scratch import BASE, scratch
from sluice.system import devtext, image, trace
from sluice.system.guest import DiskChanged, Guest
from sluice.system.image import Content
from sluice.system.qemu import Config, Disk, start
from sluice.trace.errors import BadTraceFile
from sluice.twin import engine

UNDER_WAY = CACHE / BASE  # files of runs that are being made
FORM = 5  # of a result; if it changes, all runs are made again
STATUS_LIMIT = 99  # exit status of a machine whose virtual time is up
MS = 10**6  # ns
LOOK_S = 0.5  # how often a waiting thread looks whether ^C was typed
TAIL_LINES = 15
# The text of a device is read by one call, because it may change between two.
READING = """uptime
echo @stat; dd if=/dev/stat bs=256k count=1 2> /dev/null
echo @hist; dd if=/dev/hist bs=256k count=1 2> /dev/null
"""
RC = """{mount}
sh /setup || exit
sync
(sleep {limit}; echo @limit; poweroff {status}) &
echo @start; {reading}
echo @workload
sleep -e 1
sh /workload || exit
echo @end; {reading}
echo @done
"""
MOUNT = "mkdir /data && mount disk1 /data || exit"
UPTIME = re.compile(r"up (?:(\d+) days?, )?(\d\d):(\d\d):(\d\d)\.(\d{3})")


class RunFailed(Exception):
    """A run without a result; the text says why."""


@dataclass(frozen=True)
class Ended:
    """A machine that has ended: exit status, console, QEMU's messages, seconds of the host."""

    status: int | None  # None: the host's limit, or ^C
    console: str
    complaints: str
    host_s: float


def mkfs_options(disk: dict) -> tuple[str, ...]:
    """The options of mkfs for a disk of the schema."""
    words = ["--group", disk["group"]] if disk["group"] else []
    for path, size in disk["files"].items():
        words += ["--file", f"{path}={size}"]
    for path, place in disk["at"].items():
        words += ["--at", f"{path}={place}"]
    for path, files in disk["scatter"].items():
        words += ["--scatter", f"{path}={files}"]
    if disk["indirect"] == "far":
        words.append("--far-indirect")
    if disk["spread"]:
        words += ["--spread", disk["spread"]]
    if disk["fill"]:
        words += ["--fill", str(disk["fill"])]
    if disk["fragment"]:
        words += ["--fragment", str(disk["fragment"])]
    return tuple(words)


def content(run: Run, name: str, files: dict[str, str] | None = None) -> Content:
    """The contents of the root or data disk of a run."""
    disk = run.config[name]
    found = {path: text.encode() for path, text in (files or {}).items()}
    return Content(
        files=found | (trace_disk.programs(run.config) if name == "root" else {}),
        programs=on_disk(scripts(run)) if name == "root" else False,
        size=disk["size"],
        block=run.config["block"],
        options=mkfs_options(disk),
        log_places=disk["log_places"],
        log_summaries=disk["log_summaries"],
        log_seed=disk["log_seed"],
    )


def images(run: Run) -> dict[str, Image]:
    """The run's images in the cache. The root disk's image lacks the run's scripts."""
    names = [name for name in ("root", "data") if run.config[name]]
    return {name: cached(content(run, name)) for name in names}


def key(run: Run) -> str:
    """A hash that is equal for runs with equal results."""
    digests = {name: made.digest for name, made in images(run).items()}
    return hash_of([FORM, run.config, made_by(run), digests])


def made_by(run: Run) -> str:
    """The hash of what makes the run: of the kernel, or of the twin."""
    return engine.twin_hash() if run.on_twin else kernel_hash()


def scripts(run: Run) -> dict[str, str]:
    """The files that make the machine do the run."""
    mount = MOUNT if run.config["data"] else ""
    limit = run.config["virtual_limit_s"]
    return {
        "/rc": RC.format(mount=mount, reading=READING.strip(), limit=limit, status=STATUS_LIMIT),
        "/setup": f"set -e\n{run.config['setup']}\n",
        "/workload": f"set -e\n{run.config['commands']}\n",
    }


def disks(run: Run, folder: Path) -> tuple[Disk, ...]:
    """The run's disks: a root disk made with the scripts, and the others. All are RAM disks, so the
    images stay as they are."""
    root = image.make(folder / "root.img", content(run, "root", scripts(run)))
    return (Disk(root), *others(run))


def others(run: Run) -> tuple[Disk, ...]:
    """The disks besides the root disk: the data disk, and the requests of a trace. Raises RunFailed
    if these are not on this machine."""
    data = [images(run)["data"].path] if run.config["data"] else []
    try:
        return tuple(Disk(path) for path in (*data, *trace_disk.disks(run.config)))
    except BadTraceFile as error:
        raise RunFailed(str(error)) from None


def machine(run: Run, folder: Path) -> Config:
    """The machine that makes the run; the image of its root disk is made in the folder."""
    return Config(
        disks(run, folder),
        memory=run.config["memory"],
        args=run.config["args"],
        lab=True,
        cpu_shift=run.config["cpu_shift"],
    )


def end_of(qemu: subprocess.Popen[bytes], limit_s: float) -> tuple[int | None, str]:
    """Wait for the end of a QEMU: its status, and what it complained about. The status is None if
    it was killed, after limit_s or after a ^C, which a QEMU that is just being started misses."""
    until_s = time.monotonic() + limit_s
    while True:
        try:
            complaints = qemu.communicate(timeout=LOOK_S)[1]
            return qemu.returncode, complaints.decode(errors="replace")
        except subprocess.TimeoutExpired:
            if stopped.is_set() or time.monotonic() >= until_s:
                qemu.kill()
                return None, qemu.communicate()[1].decode(errors="replace")


def boot(run: Run, config: Config, guest: Guest, console: Path) -> Ended:
    """Run the machine, or its twin, to its end. The console is a file, so that it never blocks."""
    begin = engine.start if run.on_twin else start
    began_s = time.monotonic()
    with console.open("wb") as out:
        qemu = begin(config, guest, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.PIPE)
        status, complaints = end_of(qemu, run.host_limit_s)
    text = console.read_text(errors="replace", encoding="utf-8").replace("\r", "")
    return Ended(status, text, complaints, time.monotonic() - began_s)


def uptime_ms(text: str) -> int:
    """The time in the line that uptime prints."""
    match = UPTIME.fullmatch(text)
    if not match:
        raise devtext.BadText(f"not a time: {text!r}")
    days, hours, minutes, seconds, ms = (int(word or 0) for word in match.groups())
    return (((days * 24 + hours) * 60 + minutes) * 60 + seconds) * 1000 + ms


def of_trace(
    run: Run, memory: Path, stats: list[devtext.Counters], times_ms: list[int]
) -> dict[str, dict]:
    """What the trace tells of the time between the two readings of counters and time."""
    start, end = stats
    lost, events = trace.read(memory, end["trace.phys"][0])
    lost_since = max(0, lost - start["trace.written"][0])
    told = {"series": series.gather(events, lost_since, *times_ms)}
    if run.config["drive_times"]:
        told["drive"] = utilisation.of_drive(run, events, lost_since, *(ms * MS for ms in times_ms))
    return told


def readings(console: str) -> dict[str, str]:
    """The parts of what /rc prints, by name: the time, counters and histograms at the start and at
    the end, and what the workload said. That alone may hold a line like one of the marks. Raises
    BadText if a part is missing."""
    shown: dict[str, str] = {}
    rest = console.partition("@start\n")[2]
    shown["start"], _, rest = rest.partition("\n@stat\n")
    shown["stat0"], _, rest = rest.partition("@hist\n")
    shown["hist0"], _, rest = rest.partition("@workload\n")
    shown["said"], _, rest = rest.rpartition("@end\n")
    shown["end"], _, rest = rest.partition("\n@stat\n")
    shown["stat1"], _, rest = rest.partition("@hist\n")
    shown["hist1"], done, _ = rest.partition("@done\n")
    if not done:
        raise devtext.BadText("the console lacks a part of what /rc prints")
    return shown


def figures(shown: dict[str, str]) -> dict:
    """The parts of a result that the console shows: all but the trace, and what the run was."""
    stats = [devtext.stat(shown[name]) for name in ("stat0", "stat1")]
    return {
        "virtual_ms": uptime_ms(shown["end"]) - uptime_ms(shown["start"]),
        "counters": devtext.counter_change(*stats),
        "histograms": devtext.histogram_change(
            devtext.histograms(shown["hist0"]), devtext.histograms(shown["hist1"])
        ),
        "jobs": jobs.lines(shown["said"]),
    }


def result(run: Run, console: str, memory: Path) -> dict:
    """The result, from what the console showed and from the machine's memory.

    Raises BadText or BadTrace if it is incomplete.
    """
    shown = readings(console)
    stats = [devtext.stat(shown[name]) for name in ("stat0", "stat1")]
    times_ms = [uptime_ms(shown[name]) for name in ("start", "end")]
    return {
        "experiment": run.experiment,
        "arm": run.arm,
        "variables": run.variables,
        "key": key(run),
        "config": run.config,
        "kernel": made_by(run),
        "images": {name: made.digest for name, made in images(run).items()},
        **figures(shown),
        **of_trace(run, memory, stats, times_ms),
    }


def time_is_up(ended: Ended) -> bool:
    """Whether the watchdog of /rc has ended the machine."""
    return ended.status == STATUS_LIMIT and "@limit\n" in ended.console


def failure(run: Run, ended: Ended) -> str | None:
    """Why the machine did not end as a good run does, or None."""
    if ended.status == 0:
        return None
    if ended.status is None:
        return f"took more than {run.host_limit_s} s of the host's time (host_limit_s)"
    if time_is_up(ended):
        limit = run.config["virtual_limit_s"]
        return f"took more than {limit} s of virtual time (virtual_limit_s), or was stuck"
    if "panic" in ended.console:
        return "the kernel panicked"
    if ended.status < 0:
        return f"QEMU was ended by signal {-ended.status}"
    return f"the machine ended with status {ended.status}"


def tail(ended: Ended) -> str:
    """The end of the console, for a message."""
    lines = ended.console.splitlines()[-TAIL_LINES:] or ended.complaints.splitlines()[-TAIL_LINES:]
    return "\n".join(f"    | {line[:200]}" for line in lines)


def told(why: str, ended: Ended) -> str:
    """Why a run failed, with the end of the console. If its virtual time was up, that is left out:
    it is mostly the counters that /rc read at the start, and tells nothing of the cause."""
    return why if time_is_up(ended) else f"{why}; the console ends in\n{tail(ended)}"


def all_in(console: Path) -> str:
    """The line below a failure that says where the whole console is."""
    return f"\n    (the whole console: {console})"


def evaluate(run: Run, ended: Ended, memory: Path) -> dict:
    """The result of a machine that has ended. Raises RunFailed."""
    why = failure(run, ended)
    if not why:
        try:
            return result(run, ended.console, memory)
        except (devtext.BadText, trace.BadTrace) as error:
            why = str(error)
    raise RunFailed(why)


def make(run: Run, console: Path, memory: Path | None = None) -> tuple[dict, float]:
    """Make the run. Returns its result and the host's seconds. Raises RunFailed.

    memory: a file for the machine's memory, if it is to be kept.
    """
    with scratch(UNDER_WAY) as folder:
        config = machine(run, folder)
        why = run.on_twin and engine.refusal(config, run.config["commands"])
        if why:
            console.touch()
            raise RunFailed(f"the twin cannot make this run: {why}; leave ENGINE=twin away")
        with config.guest(kept=memory) as guest:
            ended = boot(run, config, guest, console)
            try:
                made = evaluate(run, ended, guest.path)
                if not run.on_twin:
                    guest.verify()
                return made, ended.host_s
            except (RunFailed, DiskChanged) as error:
                raise RunFailed(told(str(error), ended)) from None
