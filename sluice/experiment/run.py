"""Makes one run: a root disk with its scripts, a machine in lab mode, and the result.

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
from dataclasses import dataclass, replace
from pathlib import Path

from sluice.experiment import jobs, loss, series, trace_disk, utilisation
from sluice.experiment.catalogue import kernel_compiler, kernel_hash
from sluice.experiment.files import CACHE, Image, cached_image, hash_value
from sluice.experiment.programs import root_disk_programs
from sluice.experiment.records import (
    Configuration,
    ConsoleFigures,
    DiskConfig,
    KernelRecord,
    RunResult,
    TraceFigures,
)
from sluice.experiment.result import disk_config
from sluice.experiment.schema import CHARGED, Run
from sluice.host.interrupt import stopped
from sluice.host.scratch import BASE, scratch_folder
from sluice.system import devtext, image, trace
from sluice.system.guest import DiskChanged, Guest
from sluice.system.image import Content
from sluice.system.qemu import Config, Disk, start
from sluice.trace.errors import BadTraceFile
from sluice.twin import engine

UNDER_WAY = CACHE / BASE  # files of runs that are being made
FORM = 6  # of a result; if it changes, all runs are made again
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
# The server takes its readings when a datagram comes.
REMOTE_MOUNT = """mkdir /data || exit
mount -t nfs -o consistency={consistency} 10.0.0.1:/data /data || exit
udpecho 10.0.0.1 begin > /dev/null"""
# Blocks that are dirty at the end go to the server while it still runs.
LEAVE_SERVER = """udpecho 10.0.0.1 end > /dev/null
umount /data
udpecho 10.0.0.1 gone > /dev/null
"""
FREE_PAGES = "mem.free"  # a gauge
WAIT = re.compile(r"^\s*wait\b", re.M)
BACKGROUND = re.compile(r"[^&]&\s*$", re.M)  # the end of a line of the shell
UPTIME = re.compile(r"up (?:(\d+) days?, )?(\d\d):(\d\d):(\d\d)\.(\d{3})")


class RunFailed(Exception):
    """A run without a result; the text says why."""


@dataclass(frozen=True)
class Ended:
    """A machine that has ended: its exit status, console, QEMU's stderr, and seconds of the
    host."""

    status: int | None  # None: the host's limit, or ^C
    console: str
    complaints: str
    host_s: float


def mkfs_options(disk: DiskConfig) -> tuple[str, ...]:
    """Return the options of mkfs for a disk of the schema."""
    words = ["--group", disk["group"]] if disk["group"] else []
    if journal := disk.get("journal"):
        words += ["--journal", journal]
    for path, size in disk["files"].items():
        words += ["--file", f"{path}={size}"]
    for path, place in disk["at"].items():
        words += ["--at", f"{path}={place}"]
    for path, files in disk["scatter"].items():
        words += ["--scatter", f"{path}={files}"]
    if disk["indirect"] != "near":
        words.append(f"--{disk['indirect']}-indirect")
    if disk["spread"]:
        words += ["--spread", disk["spread"]]
    if disk["fill"]:
        words += ["--fill", str(disk["fill"])]
    if disk["fragment"]:
        words += ["--fragment", str(disk["fragment"])]
    return tuple(words)


def content(run: Run, name: str, files: dict[str, str] | None = None) -> Content:
    """Return the contents of the root or data disk of a run. files: the text of more files, by
    path."""
    disk = disk_config(run.config, name)
    found = {path: text.encode() for path, text in (files or {}).items()}
    return Content(
        files=found | (trace_disk.replay_programs(run.config) if name == "root" else {}),
        programs=root_disk_programs(guest_scripts(run)) if name == "root" else False,
        size=disk["size"],
        block=run.config["block"],
        options=mkfs_options(disk),
        log_places=disk["log_places"],
        log_summaries=disk["log_summaries"],
        log_seed=disk["log_seed"],
    )


def run_images(run: Run) -> dict[str, Image]:
    """Return the run's images in the cache. The root disk's image lacks the run's scripts."""
    names = ["root", "data"] if run.config["data"] else ["root"]
    images = {name: cached_image(content(run, name)) for name in names}
    if "server" in run.config:
        server = replace(run, config=run.config["server"])
        images |= {f"server.{name}": made for name, made in run_images(server).items()}
    return images


def result_key(run: Run) -> str:
    """Return a hash that is equal for runs with equal results."""
    digests = {name: made.digest for name, made in run_images(run).items()}
    return hash_value([FORM, run.config, maker_hash(run), digests])


def maker_hash(run: Run) -> str:
    """Return the hash of what makes the run: the kernel, or the twin."""
    return engine.twin_hash() if run.uses_twin else kernel_hash()


def guest_scripts(run: Run) -> dict[str, str]:
    """Return the scripts that make the machine do the run, by path."""
    mount, leave = MOUNT if run.config["data"] else "", ""
    if "server" in run.config:
        mount, leave = REMOTE_MOUNT.format(consistency=run.config["consistency"]), LEAVE_SERVER
    limit = run.config["virtual_limit_s"]
    return {
        "/rc": RC.format(mount=mount, reading=READING.strip(), limit=limit, status=STATUS_LIMIT)
        + leave,
        "/setup": f"set -e\n{run.config['setup']}\n",
        "/workload": f"set -e\n{run.config['commands']}\n",
    }


def build_disks(run: Run, folder: Path) -> tuple[Disk, ...]:
    """Return the run's disks: a root disk that is made with the scripts, and the others. All are
    RAM disks, so the images stay unchanged."""
    root = image.make_image(folder / "root.img", content(run, "root", guest_scripts(run)))
    return (Disk(root), *other_disks(run))


def other_disks(run: Run) -> tuple[Disk, ...]:
    """Return the disks besides the root disk: the data disk, and the requests of a trace. Raises
    RunFailed if the requests are not on this machine."""
    data = [run_images(run)["data"].path] if run.config["data"] else []
    try:
        return tuple(Disk(path) for path in (*data, *trace_disk.request_disks(run.config)))
    except BadTraceFile as error:
        raise RunFailed(str(error)) from None


def charged_arguments(run: Run) -> str:
    """Return the boot arguments of the run's machine with charged time."""
    return Config(
        (), args=run.config["args"], cpu_shift=run.config["cpu_shift"]
    ).charged_arguments()


def build_machine(run: Run, folder: Path) -> Config:
    """Return the machine that makes the run. Its root disk's image is made in the folder."""
    return replace(plain_machine(run), disks=build_disks(run, folder))


def plain_machine(run: Run) -> Config:
    """Return the machine that makes the run, without disks."""
    return Config(
        (),
        memory=run.config["memory"],
        args=run.config["args"],
        lab=True,
        charged=run.config["clock"] == CHARGED,
        cpu_shift=run.config["cpu_shift"],
    )


def wait_for_exit(qemu: subprocess.Popen[bytes], limit_s: float) -> tuple[int | None, str]:
    """Wait for the end of a QEMU. Returns its status and its stderr.

    The status is None if QEMU was killed, after limit_s or after a ^C, which a QEMU that is just
    starting misses.
    """
    until_s = time.monotonic() + limit_s
    while True:
        try:
            complaints = qemu.communicate(timeout=LOOK_S)[1]
            return qemu.returncode, complaints.decode(errors="replace")
        except subprocess.TimeoutExpired:
            if stopped.is_set() or time.monotonic() >= until_s:
                qemu.kill()
                return None, qemu.communicate()[1].decode(errors="replace")


def boot_run(run: Run, config: Config, guest: Guest, console: Path) -> Ended:
    """Run the machine, or its twin, to its end. Returns how it ended. The console is a file, so
    that the machine never blocks on it. Text of the console that is still in the guest's memory at
    the end is put into the file before the rest."""
    begin = engine.start_twin if run.uses_twin else start
    began_s = time.monotonic()
    with console.open("wb") as out:
        qemu = begin(config, guest, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.PIPE)
        status, complaints = wait_for_exit(qemu, run.host_limit_s)
    if kept := guest.console_text():
        console.write_bytes(kept + console.read_bytes())
    text = console.read_text(errors="replace", encoding="utf-8").replace("\r", "")
    return Ended(status, text, complaints, time.monotonic() - began_s)


def uptime_ms(text: str) -> int:
    """Return the time in the line that uptime prints, in ms. Raises BadText."""
    match = UPTIME.fullmatch(text)
    if not match:
        raise devtext.BadText(f"not a time: {text!r}")
    days, hours, minutes, seconds, ms = (int(word or 0) for word in match.groups())
    return (((days * 24 + hours) * 60 + minutes) * 60 + seconds) * 1000 + ms


def trace_figures(
    run: Run, memory: Path, stats: list[devtext.Counters], times_ms: list[int]
) -> TraceFigures:
    """Return the parts of a result that come from the trace, of the time between the two
    readings."""
    start, end = stats
    lost, events = trace.read_trace(memory, end["trace.phys"][0])
    lost_since = max(0, lost - start["trace.written"][0])
    told: TraceFigures = {"series": series.gather_series(events, lost_since, *times_ms)}
    if run.config["drive_times"]:
        told["drive"] = utilisation.drive_utilisation(
            run, events, lost_since, *(ms * MS for ms in times_ms)
        )
    if run.config.get("loss_ages"):
        told["loss"] = loss.loss_figures(run, events, lost_since, *(ms * MS for ms in times_ms))
    return told


def split_readings(console: str) -> dict[str, str]:
    """Return the parts of what /rc prints, by name: time, counters and histograms at the start and
    at the end, and the workload's output.

    Only the workload's output may hold a line that looks like a mark. Raises BadText if a part is
    missing.
    """
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


def leaves_programs(commands: str) -> bool:
    """Return whether programs that the commands began may still run when the commands end."""
    return bool(BACKGROUND.search(WAIT.split(commands)[-1]))


def parse_figures(run: Run, shown: dict[str, str]) -> ConsoleFigures:
    """Return the parts of a result that come from the console.

    The pages that programs take at the end are left out: the twin's programs take none.
    """
    start, end = (devtext.parse_stat(shown[name]) for name in ("stat0", "stat1"))
    if leaves_programs(run.config["commands"]):
        del start[FREE_PAGES], end[FREE_PAGES]
    return {
        "virtual_ms": uptime_ms(shown["end"]) - uptime_ms(shown["start"]),
        "counters": devtext.counter_change(start, end),
        "histograms": devtext.histogram_change(
            devtext.parse_histograms(shown["hist0"]), devtext.parse_histograms(shown["hist1"])
        ),
        "jobs": jobs.parse_job_lines(shown["said"]),
    }


def result_config(run: Run) -> Configuration:
    """Return the configuration as a result has it. In charged time it does not say which engine
    made the run, because that makes no difference."""
    config = run.config.copy()
    if config["clock"] == CHARGED:
        config.pop("engine", None)
    return config


def result_kernel(run: Run) -> KernelRecord:
    """Return what a result says of its kernel."""
    if run.config["clock"] == CHARGED:
        return {"kernel": kernel_hash()}
    return {"kernel": maker_hash(run), "compiler": kernel_compiler()}


def build_result(run: Run, console: str, memory: Path) -> RunResult:
    """Return the result, made from the console's text and the machine's memory.

    Raises BadText or BadTrace if one of them is incomplete.
    """
    shown = split_readings(console)
    stats = [devtext.parse_stat(shown[name]) for name in ("stat0", "stat1")]
    times_ms = [uptime_ms(shown[name]) for name in ("start", "end")]
    return {
        "experiment": run.experiment,
        "arm": run.arm,
        "variables": run.variables,
        "key": result_key(run),
        "config": result_config(run),
        **result_kernel(run),
        "images": {name: made.digest for name, made in run_images(run).items()},
        **parse_figures(run, shown),
        **trace_figures(run, memory, stats, times_ms),
    }


def watchdog_fired(ended: Ended) -> bool:
    """Return whether the watchdog of /rc has ended the machine."""
    return ended.status == STATUS_LIMIT and "@limit\n" in ended.console


def failure_reason(run: Run, ended: Ended) -> str | None:
    """Return why the machine did not end as a successful run does, or None if it did."""
    if ended.status == 0:
        return None
    if ended.status is None:
        return f"took more than {run.host_limit_s} s of the host's time (host_limit_s)"
    if watchdog_fired(ended):
        limit = run.config["virtual_limit_s"]
        return f"took more than {limit} s of virtual time (virtual_limit_s), or was stuck"
    if "panic" in ended.console:
        return "the kernel panicked"
    if ended.status < 0:
        return f"QEMU was ended by signal {-ended.status}"
    return f"the machine ended with status {ended.status}"


def console_tail(ended: Ended) -> str:
    """Return the last lines of the console, for a message."""
    lines = ended.console.splitlines()[-TAIL_LINES:] or ended.complaints.splitlines()[-TAIL_LINES:]
    return "\n".join(f"    | {line[:200]}" for line in lines)


def describe_failure(why: str, ended: Ended) -> str:
    """Return why a run failed, with the end of the console.

    If the virtual time was up, the console is left out: its end is mostly the counters that /rc
    read at the start.
    """
    return why if watchdog_fired(ended) else f"{why}; the console ends in\n{console_tail(ended)}"


def console_note(console: Path) -> str:
    """Return the line below a failure that says where the whole console is."""
    return f"\n    (the whole console: {console})"


def build_run_result(run: Run, ended: Ended, memory: Path) -> RunResult:
    """Return the result of a machine that has ended. Raises RunFailed."""
    why = failure_reason(run, ended)
    if not why:
        try:
            return build_result(run, ended.console, memory)
        except (devtext.BadText, trace.BadTrace) as error:
            why = str(error)
    raise RunFailed(why)


def expect_engine(run: Run, machines: list[Config]) -> None:
    """Raise RunFailed if the twin is to make the run and cannot be one of its machines."""
    for machine in machines if run.uses_twin else ():
        if why := engine.refusal_reason(machine, run.config["commands"]):
            raise RunFailed(f"the twin cannot make this run: {why}; leave --engine=twin away")


def make_run(run: Run, console: Path, memory: Path | None = None) -> tuple[RunResult, float]:
    """Make the run. Returns its result and the host's seconds. Raises RunFailed.

    memory: a file for the machine's memory, if it is to be kept.
    """
    if "server" in run.config:
        from sluice.experiment import two_machines

        return two_machines.make_run(run, console, memory)
    if run.uses_twin and not memory:
        from sluice.experiment import trial

        if of_resident := trial.make_run(run, console):
            return of_resident
    with scratch_folder(UNDER_WAY) as folder:
        config = build_machine(run, folder)
        console.touch()
        expect_engine(run, [config])
        in_memory = config.charged and not run.uses_twin
        with config.guest(kept=memory, console=in_memory) as guest:
            ended = boot_run(run, config, guest, console)
            try:
                made = build_run_result(run, ended, guest.path)
                if not run.uses_twin:
                    guest.verify()
                return made, ended.host_s
            except (RunFailed, DiskChanged) as error:
                raise RunFailed(describe_failure(str(error), ended)) from None
