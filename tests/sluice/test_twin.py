"""The twin does what the machine does (sluice/twin/).

The machine is Sluice under QEMU. The twin is the same kernel and programs compiled for the host, a
process that ends with its run. A resident twin boots once and forks a process, its worker, for
trials; a trial may begin with bytes that are put onto its disks (`Put`). Each must give the same
consoles, times and traces. A clock is charged (computing costs what a table says) or counted
(instructions are counted).
"""

import os
import platform
import re
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random

import pytest
from both import END, expect_alike, machine_and_twin, phys_of

from sluice.experiment import run as runs
from sluice.experiment import trial
from sluice.experiment.load import load
from sluice.experiment.run import RunFailed
from sluice.experiment.runner import to_line
from sluice.experiment.schema import Experiment
from sluice.experiment.selection import choose_engine, experiment_file, twin_variant
from sluice.host.interrupt import stopped
from sluice.host.limits import HANG_S
from sluice.host.paths import BUILT, ROOT
from sluice.system import image, trace
from sluice.system.image import Content
from sluice.system.qemu import Config, Disk
from sluice.twin import engine
from sluice.twin.resident import Put, Resident, TwinDied

pytestmark = pytest.mark.skipif(
    platform.machine() not in engine.HOSTS, reason=f"the twin runs on {engine.HOSTS} only"
)

KERNEL_END = 0x80200000  # of the twin's kernel (tools/rules/twin.mk); its memory begins there
IN_TRIAL_NS = 50_000_000  # of a processor: no twin boots for so long

# Rooms whose sources the twin shares with the machine, whole.
SHARED = ("base", "measure", "policy", "disk", "vlog", "cache", "journal", "ext2", "file")
SHARED += ("depend", "link", "net", "nfs", "nvram", "remote", "spritely")


@dataclass(frozen=True)
class Ended:
    """A twin that has ended: its exit status, its console, and its messages."""

    status: int
    console: str
    messages: str


@pytest.fixture
def twin(tmp_path: Path) -> Iterator[Callable[..., Ended]]:
    """Return a function that runs a script in the twin. e2fsck checks the disk afterwards."""

    def run(script: str, args: str = "drive=fixed", **content: object) -> Ended:
        root = image.make_image(tmp_path / "root.img", Content(rc=script, **content))
        machine = Config((Disk(root),), memory="64M", args=args, lab=True)
        with machine.guest() as guest:
            pipes = {"stdin": subprocess.DEVNULL, "capture_output": True, "text": True}
            done = subprocess.run(engine.twin_command(machine, guest), timeout=HANG_S, **pipes)
            guest.save()
        return Ended(done.returncode, done.stdout, done.stderr)

    yield run
    image.check_image(tmp_path / "root.img")


@pytest.mark.native
def test_the_twin_is_made_of_the_kernels_own_sources() -> None:
    """The twin has each source of the rooms SHARED and each policy, and its own sources define no
    function of theirs."""
    sources = [path for room in SHARED for path in (ROOT / "kernel" / room).glob("*.c")]
    sources += (ROOT / "policies").glob("*/*.c")
    assert len(sources) > 60
    linked = (BUILT / "twin" / "link.command").read_text()
    missing = [p for p in sources if str(p.relative_to(ROOT).with_suffix(".o")) not in linked]
    assert not missing
    # a function's definition at the begin of a line, which is not static
    function = re.compile(r"^(?!static)[a-z].*?\b\*?(\w+)\([^;]*?\)\n\{", re.M)
    ours = {n for p in (ROOT / "sluice/twin").glob("*.c") for n in function.findall(p.read_text())}
    theirs = {name for path in sources for name in function.findall(path.read_text())}
    assert {"bread", "disk_submit", "ext2_read"} <= theirs
    assert {"copyin", "counter_ring"} <= ours
    assert not ours & theirs


@pytest.mark.native
def test_programs_run_fork_and_exit_as_in_the_machine(twin) -> None:
    """Pipes, exit statuses, background processes, files, and a command that does not exist."""
    script = """echo one > /a; cat /a /a /a | wc -l
sh -c 'exit 3' || echo status $?
for i in 1 2 3; do (x=$i; sleep 0.$((4 - i)); echo child $x of $i) & done; wait
seq 2000 | sort -r | head -1
mkdir /d; mv /a /d/b; ls /d; sync
nothing; echo $?
"""
    ended = twin(script)
    expected = "3\nstatus 3\nchild 3 of 3\nchild 2 of 2\nchild 1 of 1\n999\nb\n"
    assert ended.console == expected + "sh: /rc: line 6: nothing: command not found\n127\n"
    assert (ended.status, ended.messages) == (0, "")


@pytest.mark.native
def test_a_run_of_the_twin_is_the_same_each_time(twin) -> None:
    """Counters and time are equal after a load of three processes."""
    script = """iogen bs=4k name=a rw=randrw filename=/f nr=300 numjobs=3 fsync=9
cat /dev/stat; uptime
"""
    first, second = (twin(script, options=("--file", "/f=4M")) for _ in range(2))
    assert "disk.writes" in first.console
    assert first == second


@pytest.mark.native
def test_what_is_no_pointer_stays_as_it_is_when_a_process_forks(twin) -> None:
    """Text that overwrites a part of a pointer is copied unchanged."""
    words = " ".join("x" * n for n in range(1, 40))
    ended = twin(f"for w in {words}; do a=$w; (echo $a) ; done\n")
    assert ended.console.split() == words.split()


@pytest.mark.native
def test_two_block_numbers_side_by_side_are_no_pointer(tmp_path: Path) -> None:
    """Some neighbouring numbers that this run draws look like an address when they are read as one
    word. A fork moves pointers, and must leave these numbers."""
    experiment = load(experiment_file("flash-clean"), "quick")
    found = []
    for number, each in enumerate((experiment, twin_variant(experiment))):
        # the run of the arm cost-benefit with this load
        run = each.runs[9]
        assert (run.arm, run.variables["rw"]) == ("cost-benefit", "zipfwrite")
        runs.result_key(run)
        found.append(runs.make_run(run, tmp_path / str(number))[0])
    assert found[0]["counters"] == found[1]["counters"]


def test_a_program_forks_where_addresses_are_few(twin, monkeypatch: pytest.MonkeyPatch) -> None:
    """The twin may use 3 GiB of addresses, as on a host whose addresses have 39 bits."""
    script = "for i in 1 2 3; do (x=$i; echo $x) ; done; seq 2000 | sort -r | head -1; uptime\n"
    wide = twin(script)
    assert wide.console.startswith("1\n2\n3\n999\n")
    limit = ("prlimit", f"--as={3 << 30}")
    plain = engine.twin_command
    monkeypatch.setattr(engine, "twin_command", lambda *of: [*limit, *plain(*of)])
    assert twin(script) == wide


# A library that prints in which file each of five functions is
PRELOADED = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
__attribute__((constructor)) static void tell(void)
{
    static void *const called[] = {strlen, strchr, memcpy, fork, exit};
    Dl_info of;
    for (unsigned i = 0; i < sizeof called / sizeof *called; i++)
        fprintf(stderr, "%s\\n", dladdr(called[i], &of) ? of.dli_fname : "none");
}
"""


@pytest.mark.native
def test_a_preloaded_library_calls_the_c_librarys_functions(tmp_path: Path) -> None:
    """The twin has functions of the same names: the kernel's."""
    source, library = tmp_path / "tell.c", tmp_path / "tell.so"
    source.write_text(PRELOADED)
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, source], check=True)
    said = subprocess.run(
        [engine.TWIN], env=os.environ | {"LD_PRELOAD": str(library)}, capture_output=True, text=True
    ).stderr.splitlines()
    assert ["libc.so" in line for line in said[:5]] == [True] * 5
    symbols = subprocess.run(
        ["readelf", "-W", "--dyn-syms", engine.TWIN], capture_output=True, text=True, check=True
    ).stdout
    assert not [line for line in symbols.splitlines() if " FUNC " in line and " UND " not in line]


@pytest.mark.native
def test_a_machine_that_the_twin_cannot_be_is_refused_with_the_reason(tmp_path: Path) -> None:
    """The twin has one hart and RAM disks, in virtual time, and lacks some programs."""
    disks = (Disk(image.make_image(tmp_path / "root.img", Content())),)
    assert engine.refusal_reason(Config(disks, lab=True), "iogen") is None
    assert "one hart" in engine.refusal_reason(Config(disks, lab=True, harts=2), "iogen")
    assert "one hart" in engine.refusal_reason(Config(disks), "iogen")
    assert "RAM disks" in engine.refusal_reason(Config((Disk(drive="x"),), lab=True), "iogen")
    assert "usertests" in engine.refusal_reason(Config(disks, lab=True), "usertests -l")


@pytest.mark.native
def test_a_run_that_the_twin_cannot_make_fails_with_the_reason(tmp_path: Path) -> None:
    """The run's command is a program that the twin lacks."""
    experiment = twin_variant(load(experiment_file("mogul-4.1-fast"), "quick"))
    run = experiment.runs[0]
    run.config["commands"] = "usertests"
    with pytest.raises(RunFailed, match=r"no program usertests.*leave --engine=twin away"):
        runs.make_run(run, tmp_path / "console")


# The loads under which all policies of these kinds are tried, one after another
KINDS = ("write", "replace", "prefetch", "sched")
RANDOM = "iogen output=text name=x filename=/f bs=4k nr=150 rw=randrw seed={}"
STREAMS = "iogen output=text name=x filename=/f bs=4k nr=100 rw=read streams=3 step=2"


def policies_script() -> str:
    """Return a script that uses all policies of KINDS, one after another, with two loads each. A
    pause comes before each command, because the second in which the shell reads the script is
    written into its inode."""
    policies = [p for kind in KINDS for p in sorted((ROOT / "policies" / kind).glob("*.c"))]
    uses = [f"{path.parent.name} {path.stem}" for path in policies]
    lines = ["policy use update none"]
    for seed, use in enumerate(uses):
        lines += [f"policy use {use}", RANDOM.format(seed), STREAMS]
    return "set -e\n" + "\nsleep 2\n".join([*lines, "sync", END]) + "\n"


@pytest.mark.xdist_group("twin")
def test_the_twin_does_what_the_machine_does_at_the_same_times(tmp_path: Path) -> None:
    """Each event of a long run, with its time in ns, on a drive that rotates. There are more than
    20,000."""
    content = Content(rc=policies_script(), size="24M", options=("--file", "/f=8M"))
    disks = (Disk(image.make_image(tmp_path / "root.img", content)),)
    args = "drive=cheetah4lp nbuf=512 trace_k=256"
    config = Config(disks, memory="64M", args=args, lab=True)
    machine, twin = (ran.events for ran in machine_and_twin(config))
    expect_alike(machine, twin, 20000)


ARMS = ("async+PU", "delayed+PU", "delayed+AIPU")


@pytest.fixture(scope="module")
def mogul() -> Experiment:
    """Return three runs of Mogul's experiment, of three arms with one seed, without
    expectations."""
    whole = load(experiment_file("mogul-4.1-fast"), "quick")
    kept = [run for run in whole.runs if run.arm in ARMS and run.variables["seed"] == 1]
    return replace(whole, arms=list(ARMS), runs=kept, expectations=[])


@pytest.fixture(scope="module")
def both(mogul: Experiment, tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[dict]]:
    """Return the results of `mogul`, by engine."""
    console = tmp_path_factory.mktemp("both") / "console"
    return {
        name: [runs.make_run(run, console)[0] for run in made.runs]
        for name, made in (("machine", mogul), ("twin", twin_variant(mogul)))
    }


@pytest.mark.xdist_group("twin")
def test_results_are_those_of_the_machine_to_the_byte(both) -> None:
    for machine, twin in zip(both["machine"], both["twin"], strict=True):
        assert twin.pop("key") != machine.pop("key")
        assert to_line(twin) == to_line(machine)


def test_a_copy_with_another_clock_than_the_file_says_has_another_name() -> None:
    """The twin has no counted clock, so the twin's variant of an experiment with that clock is
    another experiment. It is not chosen automatically, and neither is the twin for a large disk."""
    charged = load(experiment_file("mogul-4.1-fast"), "quick")
    counted = load(experiment_file("mogul-4.4"), "quick")
    assert choose_engine(charged, "auto") == twin_variant(charged)
    assert choose_engine(counted, "auto") == choose_engine(counted, "machine") == counted
    assert twin_variant(charged).name == charged.name
    assert twin_variant(counted).name == f"{counted.name}@twin"
    assert {run.config["clock"] for run in twin_variant(counted).runs} == {"charged"}
    large = replace(charged, runs=[replace(charged.runs[0], config=large_config(charged))])
    assert choose_engine(large, "auto") == large


def large_config(experiment: Experiment) -> dict:
    """Return the configuration of a run whose disks are no RAM disks."""
    config = experiment.runs[0].config
    return config | {"root": config["root"] | {"size": "7G"}}


def run_plain_twin(machine: Config) -> tuple[subprocess.CompletedProcess, tuple]:
    """Run a twin that is not resident. Return its ended process, and its trace."""
    with machine.guest() as guest:
        pipes = {"stdin": subprocess.DEVNULL, "capture_output": True, "text": True}
        done = subprocess.run(engine.twin_command(machine, guest), timeout=HANG_S, **pipes)
        return done, trace.read_ring(guest.path, phys_of(done.stdout))


STATUS_BOOT_FAIL = 100  # kernel/machine/panic.h


@pytest.mark.native
def test_a_resident_twin_refuses_boot_arguments_of_its_own(tmp_path: Path) -> None:
    """-r makes the twin resident: it is started once, and makes trials one after the other."""
    memory = tmp_path / "memory"
    memory.write_bytes(bytes(8192))
    line = [str(engine.TWIN), "-p", ".", "-m", str(memory), "-r", "4096", "--", "write=delayed"]
    done = subprocess.run(line, input="", capture_output=True, text=True, check=False)
    assert done.returncode == STATUS_BOOT_FAIL
    assert done.stderr == "twin: -r: each trial has its boot arguments\n"


@pytest.mark.native
def test_a_trial_of_a_resident_twin_is_a_plain_run_to_the_byte(tmp_path: Path) -> None:
    """Console, exit status and trace are compared, under two sets of boot arguments, and after
    another trial."""
    script = f"""{RANDOM.format(7)}
rm /rc; mkdir /new; sync; cksum /f; cat /dev/stat; uptime
"""
    content = Content(rc=script, options=("--file", "/f=4M"))
    disks = (Disk(image.make_image(tmp_path / "root.img", content)),)
    machines = [
        Config(disks, 1, "64M", f"drive=rz58 nbuf=64 trace_k=64 write={write}", lab=True)
        for write in ("delayed", "through")
    ]
    kept = tmp_path / "trace"
    with machines[0].guest() as guest, Resident(guest, trace=kept) as resident:
        for machine in (*machines, machines[0]):
            made = resident.trial(machine.charged_arguments(), limit_s=HANG_S)
            expected, expected_trace = run_plain_twin(machine)
            assert "disk.writes" in made.console
            assert (made.status, made.console) == (expected.returncode, expected.stdout)
            assert trace.read_ring(kept, phys_of(made.console)) == expected_trace


@pytest.mark.xdist_group("twin")
def test_a_full_run_of_a_resident_twin_is_a_plain_one_to_the_byte(tmp_path: Path) -> None:
    """Results with series and losses, and consoles, are compared. The second run uses the first
    run's resident twin."""
    experiment = twin_variant(load(experiment_file("order-small"), "quick"))
    for run in experiment.runs[:2]:
        made = trial.make_run(run, tmp_path / "resident")
        plain, _ = runs.make_run(run, tmp_path / "plain", tmp_path / "memory")
        assert plain["loss"]["data"]["bytes"] and plain["series"]["disks"]
        assert to_line(made[0]) == to_line(plain)
        said = (tmp_path / "plain").read_bytes().replace(b"\r", b"")
        assert (tmp_path / "resident").read_bytes() == said


@pytest.mark.xdist_group("twin")
def test_a_run_whose_resident_dies_is_made_by_a_plain_twin(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If an interrupt stopped the resident twin, the run fails instead."""

    def die(*_: object) -> None:
        raise TwinDied("it was killed")

    run = twin_variant(load(experiment_file("order-small"), "quick")).runs[0]
    monkeypatch.setattr(Resident, "trial", die)
    assert trial.make_run(run, tmp_path / "console") is None
    made, _ = runs.make_run(run, tmp_path / "console")
    assert made["counters"]["disk.writes"][0]
    monkeypatch.setattr(stopped, "is_set", lambda: True)
    with pytest.raises(RunFailed, match="it was killed"):
        runs.make_run(run, tmp_path / "console")


@pytest.mark.native
def test_a_trial_ends_soon_after_an_interrupt(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The script would never end."""
    path = image.make_image(tmp_path / "root.img", Content(rc="while true; do true; done\n"))
    monkeypatch.setattr(stopped, "is_set", lambda: True)
    began_s = time.monotonic()
    with (
        Config((Disk(path),), lab=True).guest() as guest,
        Resident(guest) as resident,
        pytest.raises(TwinDied, match="killed"),
    ):
        resident.trial("drive=fixed charged_ns=32", limit_s=HANG_S)
    assert time.monotonic() - began_s < HANG_S


@pytest.mark.native
def test_pages_of_a_disk_with_equal_contents_are_changed_alone(tmp_path: Path) -> None:
    """A resident twin has pages of disks with equal contents in memory once, until one is changed.
    The files are larger than the cache; the second disk is written past the cache, by sectors."""
    script = """cp /f /a; sync; cp /f /b; sync; cp /f /c; sync; cksum /a /b /c
dd if=/g of=/b bs=8k count=2 seek=4 conv=notrunc; sync; cksum /a /b /c
rm /a; cp /g /d; sync; cp /f /a; sync; cksum /a /b /c /d
dd if=/f of=/dev/disk1 bs=8k; dd if=/f of=/dev/disk1 bs=8k seek=128
dd if=/g of=/dev/disk1 bs=512 count=3 seek=2051; cksum /dev/disk1
cat /dev/stat
"""
    files = {f"/{name}": Random(name).randbytes(1 << 20) for name in "fg"}
    root = image.make_image(tmp_path / "root.img", Content(rc=script, block="8K", files=files))
    other = tmp_path / "other.img"
    other.write_bytes(bytes(4 << 20))
    machine = Config(
        (Disk(root), Disk(other)), 1, "64M", "drive=fixed nbuf=64 trace_k=64", lab=True
    )
    expected, _ = run_plain_twin(machine)
    sums = [int(number) for number in re.findall(r"^(\d+) \d+ /\w$", expected.stdout, re.M)]
    # the three copies are equal at first; then the second copy differs from the others
    assert (len(set(sums[:3])), len(set(sums[3:6]))) == (1, 2)
    with machine.guest() as guest, Resident(guest) as resident:
        made = resident.trial(machine.charged_arguments(), limit_s=HANG_S)
    assert (made.status, made.console) == (expected.returncode, expected.stdout)


def cpu_ns(process: int) -> int:
    """Return how long a process has computed (Linux, scheduler/sched-stats)."""
    return int(Path(f"/proc/{process}/schedstat").read_text().split()[0])


def find_worker(resident: Resident) -> int:
    """Return the number of the process that makes a resident twin's trials (resident.h). There is
    one soon after the end of the one before."""
    number = resident.process.pid
    children = Path(f"/proc/{number}/task/{number}/children")
    while not (found := children.read_text()):
        os.sched_yield()
    return int(found)


def read_memory(process: int, at: int, n: int) -> bytes:
    """Return a piece of a process's memory."""
    with Path(f"/proc/{process}/mem").open("rb", buffering=0) as memory:
        memory.seek(at)
        return memory.read(n)


@pytest.mark.native
def test_trials_of_one_worker_begin_with_the_same_memory_and_disks(tmp_path: Path) -> None:
    """Each of four trials changes disks and leaves processes, dirty blocks, and memory that was
    freed. Later trials need far fewer page faults, and afterwards the kernel's memory is zero."""
    script = f"""cksum /f /g; ls /; cat /dev/stat
{RANDOM.format(7)}
(sleep 100; echo late) & (sleep 100; cat /f) & dd if=/f bs=1m of=/dev/disk1
rm /f; mkdir /new; cp /g /new/g; cat /dev/stat; cksum /g /dev/disk1; uptime; poweroff
"""
    files = {f"/{name}": Random(name).randbytes(1 << 20) for name in "fg"}
    root = image.make_image(tmp_path / "root.img", Content(rc=script, files=files))
    other = tmp_path / "other.img"
    other.write_bytes(bytes(4 << 20))
    machine = Config(
        (Disk(root), Disk(other)), 1, "64M", "drive=rz58 nbuf=256 trace_k=64", lab=True
    )
    expected, _ = run_plain_twin(machine)
    assert "disk.writes" in expected.stdout
    with machine.guest() as guest, Resident(guest) as resident:
        made, workers, mappings = [], set(), []
        for _ in range(4):
            made.append(resident.trial(machine.charged_arguments(), limit_s=HANG_S))
            workers.add(find_worker(resident))
            mappings.append(Path(f"/proc/{find_worker(resident)}/maps").read_text().count("\n"))
        assert {(one.status, one.console) for one in made} == {(0, expected.stdout)}
        assert len(workers) == 1
        assert mappings[1] == mappings[3]
        assert made[3].faults < made[0].faults / 4
        assert not any(read_memory(workers.pop(), KERNEL_END, 8 << 20))


@pytest.mark.native
def test_a_trial_that_ends_badly_harms_none_after_it(tmp_path: Path) -> None:
    """A panic, a status that is not 0, and a signal in the middle of a trial: each trial that
    follows has another worker and its usual result."""
    normal = "echo one >> /f; sync; cksum /f; cat /dev/stat\n"
    path = image.make_image(tmp_path / "root.img", Content(rc=normal))
    at = path.read_bytes().find(normal.encode())
    args = "drive=rz58 charged_ns=32"

    def script(text: str) -> list[Put]:
        """Return what puts this script in the place of the usual one."""
        return [Put(0, at, text.ljust(len(normal) - 1).encode() + b"\n")]

    with (
        Config((Disk(path),), lab=True).guest() as guest,
        Resident(guest) as resident,
        ThreadPoolExecutor(1) as other_thread,
    ):
        expected = resident.trial(args, limit_s=HANG_S)
        assert expected.status == 0 and "disk.writes" in expected.console
        worker = find_worker(resident)

        def expect_usual_trial() -> None:
            """Expect a trial to be as usual. Each trial has a worker, a process, of its own."""
            nonlocal worker
            made = resident.trial(args, limit_s=HANG_S)
            assert (made.status, made.console) == (0, expected.console)
            old, worker = worker, find_worker(resident)
            assert worker != old

        # a byte that is put on no disk makes the kernel panic, which is status 101
        panicked = resident.trial(args, [Put(0, guest.size, b"x")], HANG_S)
        assert (panicked.status, "panic: " in panicked.console) == (101, True)
        expect_usual_trial()
        assert resident.trial(args, script("rm /rc; poweroff 7"), HANG_S).status == 7
        expect_usual_trial()
        for number in (signal.SIGKILL, signal.SIGSEGV):
            endless = script("while true; do echo >> /f; done")
            began_ns = cpu_ns(worker)
            killed = other_thread.submit(resident.trial, args, endless, HANG_S)
            while cpu_ns(worker) < began_ns + IN_TRIAL_NS:
                os.sched_yield()
            os.kill(worker, number)
            assert killed.result().status == -number
            expect_usual_trial()


@pytest.mark.native
def test_a_worker_whose_trial_took_much_memory_ends(tmp_path: Path) -> None:
    """A program allocates 280 MB in each of two trials, so the second one has another worker."""
    script = "dd if=/dev/zero of=/dev/null bs=280m count=1; echo done\n"
    path = image.make_image(tmp_path / "root.img", Content(rc=script))
    with Config((Disk(path),), 1, "512M", lab=True).guest() as guest, Resident(guest) as resident:
        consoles, workers = set(), set()
        for _ in range(2):
            made = resident.trial("drive=fixed charged_ns=32", limit_s=HANG_S)
            consoles.add((made.status, made.console))
            workers.add(find_worker(resident))
    assert len(consoles) == 1 and "done" in made.console
    assert len(workers) == 2


@pytest.mark.native
def test_a_trial_finds_what_was_put_on_its_disk(tmp_path: Path) -> None:
    """The script is overwritten for the second of three trials only."""
    path = image.make_image(tmp_path / "root.img", Content(rc="echo one\n"))
    at = path.read_bytes().find(b"echo one\n")
    with Config((Disk(path),), lab=True).guest() as guest, Resident(guest) as resident:
        said = [
            resident.trial("drive=fixed charged_ns=32", puts, HANG_S).console
            for puts in ([], [Put(0, at, b"echo two\n")], [])
        ]
    assert said == ["one\n", "two\n", "one\n"]


@pytest.mark.native
def test_a_resident_twin_that_ends_says_why(tmp_path: Path) -> None:
    """A trial takes too long, has too many puts, or puts a byte on no disk."""
    path = image.make_image(tmp_path / "root.img", Content(rc="while true; do true; done\n"))
    for puts, why in (([], "killed"), ([Put(0, 0, b"")] * 2049, "want PUTS BOOT ARGUMENTS")):
        with (
            Config((Disk(path),), lab=True).guest() as guest,
            Resident(guest) as resident,
            pytest.raises(TwinDied, match=why),
        ):
            resident.trial("drive=fixed charged_ns=32", puts, limit_s=0.5)
    with Config((Disk(path),), lab=True).guest() as guest, Resident(guest) as resident:
        wrong = resident.trial("drive=fixed charged_ns=32", [Put(0, guest.size, b"x")], HANG_S)
        assert "panic: twin: a put is on no disk" in wrong.console


@pytest.mark.native
def test_a_resident_twin_that_was_killed_says_so_and_leaves_nothing_open(tmp_path: Path) -> None:
    """The request that it did not read is still in the pipe's buffer."""
    path = image.make_image(tmp_path / "root.img", Content(rc="echo one\n"))
    with (
        Config((Disk(path),), lab=True).guest() as guest,
        pytest.raises(TwinDied, match="it was killed"),
        Resident(guest) as resident,
    ):
        resident.process.kill()
        resident.process.wait()
        resident.trial("drive=fixed charged_ns=32", limit_s=HANG_S)
    process = resident.process
    assert process.stdin.closed and process.stdout.closed and resident.errors.closed


@pytest.mark.native
def test_a_resident_twin_outlives_the_thread_that_asked_for_it(tmp_path: Path) -> None:
    """Linux can end a child with the thread that started it, which must not happen here."""
    path = image.make_image(tmp_path / "root.img", Content(rc="echo one\n"))
    with Config((Disk(path),), lab=True).guest() as guest, ExitStack() as stack:
        residents, ids = [], []

        def ask() -> None:
            ids.append(threading.get_native_id())
            residents.append(stack.enter_context(Resident(guest)))

        thread = threading.Thread(target=ask)
        thread.start()
        thread.join()
        # Python's thread object ends a little before the kernel's thread
        while Path(f"/proc/self/task/{ids[0]}").exists():
            os.sched_yield()
        assert residents[0].trial("drive=fixed charged_ns=32", limit_s=HANG_S).console == "one\n"
