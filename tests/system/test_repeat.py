"""Runs are the same bytes each time, however long the boot takes, also under another QEMU, in the
twin, and from another compiler. `sluice validate repeat` makes runs in these ways and compares
them.

QEMU_OTHER names another QEMU; tools/other_qemu.sh fetches one. In other tests a shell script stands
for another QEMU (OTHER) or another compiler (COMPILER): it runs ours, with other arguments.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from random import SystemRandom

import pytest
from busy import busy_host
from small_experiment import random_reads

from sluice.experiment import repeat, runner
from sluice.experiment import run as runs
from sluice.experiment.load import load
from sluice.experiment.selection import experiment_file, load_experiments
from sluice.host.clone import find_tool
from sluice.host.paths import KERNEL, ROOT
from sluice.system import image
from sluice.system.image import Content
from sluice.system.qemu import Config, Disk, run_rc

TIMES, READS = 2, 1000  # a trial is made so often, with so many reads

# A short run whose console tells every time: of each event, and sums of response times.
SCRIPT = """
bench null 3
bench random /data 10
bench write /new 32k
sync
cat /dev/hist
cat /dev/trace
"""
ARGS = "drive=rz58 trace_k=2"
# Fills a disk nearly to its end and reads it back.
DISKS = """
set -e
mkdir /mnt
mount /dev/disk1 /mnt
for i in 1 2 3 4; do cp /data /mnt/$i; done
iogen name=w rw=randwrite filename=/mnt/4 bs=4k nr=100
sync
cksum /mnt/1 /mnt/2 /mnt/3 /mnt/4
umount /mnt
"""
MOST = 1023 - len(" ramdisks=3221225472")  # the longest boot arguments, in bytes
# Lengths that are tried. At each one, what comes behind the arguments lies elsewhere in memory.
# SHORT has all remainders of 4 bytes, and MANY all lengths.
SHORT = (*range(30, 46, 3), MOST)
MANY = (*range(30, 110), MOST - 1, MOST)


def result_file(folder: Path, arm: str, reads: int = 10_000) -> bytes:
    """Return what one trial of this many reads writes."""
    folder.mkdir()
    text = experiment_file("mogul-4.1-fast").read_text()
    path = folder / "mogul.toml"
    path.write_text(text.replace("nr=10000", f"nr={reads}"))
    experiment = load(path)
    [run] = [r for r in experiment.runs if r.arm == arm and r.variables["seed"] == 1]
    outcome = runner.execute(experiment, [run], 1, lambda step: None, folder)
    assert outcome.errors == {}
    return (folder / experiment.name / "results.jsonl").read_bytes()


def test_a_long_run_gives_the_same_bytes_many_times_at_once_beside_busy_loops(tmp_path: Path):
    with busy_host(), ThreadPoolExecutor(TIMES) as pool:
        one = partial(result_file, arm="delayed+AIPU", reads=READS)
        texts = list(pool.map(one, (tmp_path / str(i) for i in range(TIMES))))
    assert texts[0].count(b"\n") == 1
    assert len(set(texts)) == 1, f"of {TIMES} runs {len(set(texts))} are different"


@pytest.fixture(scope="module")
def disk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the disk of the short run."""
    path = tmp_path_factory.mktemp("repeat") / "disk.img"
    return image.make_image(path, Content(rc=SCRIPT, size="16M", options=("--file", "/data=4M")))


def console(disk: Path, **config: object) -> str:
    """Return what the short run shows, on a disk of its own."""
    config = {"args": ARGS} | config
    with tempfile.TemporaryDirectory(dir=disk.parent) as folder:
        own = Disk(Path(shutil.copy(disk, folder)), device=config.pop("device", ""))
        result = run_rc(Config((own,), lab=True, **config))
    assert result.status == 0 and " completed disk0 " in result.console, result.console
    return result.console


def group_lengths(disk: Path, lengths: tuple[int, ...]) -> dict[str, list[int]]:
    """Return the lengths of boot arguments that print the same console, by the console."""
    with ThreadPoolExecutor(2) as pool:
        shown = pool.map(lambda length: console(disk, args=ARGS.ljust(length)), lengths)
    found: dict[str, list[int]] = {}
    for length, text in zip(lengths, shown, strict=True):
        found.setdefault(text, []).append(length)
    return found


def test_the_length_of_the_boot_arguments_changes_no_time(disk: Path):
    found = group_lengths(disk, SHORT)
    assert len(found) == 1, f"the lengths differ: {list(found.values())}"


def test_the_length_changes_no_time_with_the_slowest_cpu(disk: Path):
    found = {console(disk, args=ARGS.ljust(length), cpu_shift=10) for length in (30, 31, MOST)}
    assert len(found) == 1


def test_what_a_disk_is_capable_of_changes_no_time(disk: Path):
    """QEMU 11.1 has shorter queues than 10.0."""
    shown = {console(disk, device=f"queue-size={size}") for size in (64, 256, 1024)}
    assert len(shown) == 1


@pytest.fixture
def other_qemu() -> str:
    """Return the path of the other QEMU."""
    path = os.environ.get("QEMU_OTHER")
    if not path:
        pytest.skip("QEMU_OTHER= names no other QEMU (tools/other_qemu.sh fetches one)")
    return path


def test_another_qemu_gives_the_same_times_with_boot_arguments_of_any_length(
    disk: Path, monkeypatch: pytest.MonkeyPatch, other_qemu: str
):
    """group_lengths() groups the lengths of boot arguments by the console that a boot with them
    prints, which has the times."""
    here = group_lengths(disk, MANY)
    monkeypatch.setenv("QEMU", other_qemu)
    there = group_lengths(disk, MANY)
    assert len(here) == 1, f"the lengths differ: {list(here.values())}"
    assert here == there, f"the lengths differ there: {list(there.values())}"


@pytest.mark.parametrize("block", ["1K", "4K"])
def test_another_qemu_leaves_the_same_disks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, other_qemu: str, block: str
):
    """Each QEMU has its own place for the device tree. With blocks of 1 KiB the last group has
    its bitmaps where QEMU 10 would put the tree if there were no room behind the disks."""
    left, said = [], []
    for qemu in ("qemu-system-riscv64", other_qemu):
        monkeypatch.setenv("QEMU", qemu)
        options = ("--file", "/data=4M")
        content = Content(rc=DISKS, size="16M", block=block, options=options)
        root = image.make_image(tmp_path / "root.img", content)
        data = image.make_image(tmp_path / "data.img", Content(size="24M", block=block))
        result = run_rc(Config((Disk(root), Disk(data)), args="drive=rz58", lab=True))
        assert result.status == 0, result.console
        image.check_image(root)
        image.check_image(data)
        left.append((root.read_bytes(), data.read_bytes()))
        said.append(result.console)
    assert said[0] == said[1]
    assert left[0] == left[1]


@pytest.mark.parametrize("arm", ["delayed+PU", "delayed+AIPU"])
def test_another_qemu_gives_the_same_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, other_qemu: str, arm: str
):
    one = result_file(tmp_path / "one", arm)
    monkeypatch.setenv("QEMU", other_qemu)
    assert result_file(tmp_path / "other", arm) == one


SMALL = random_reads(
    "a QEMU makes no difference",
    100,
    seeds=2,
    more="[sizes.full]\nseed = [1]\n[sizes.quick]\nseed = [1, 2]\n",
)
# A QEMU of version 99.0, which replaces the text `old` by `new` in each of its arguments.
OTHER = """\
#!/bin/sh
[ "$*" = --version ] && {{ echo "QEMU emulator version 99.0 (another)"; exit; }}
for word; do
    shift
    case "$word" in
    *{old}*) word=$(echo "$word" | sed 's/{old}/{new}/') ;;
    esac
    set -- "$@" "$word"
done
exec qemu-system-riscv64 "$@"
"""


def validate(*words: object) -> subprocess.CompletedProcess:
    """Run `sluice validate repeat` with these words."""
    line = [sys.executable, ROOT / "tests/support/typed.py", "validate", "repeat", *words]
    return subprocess.run(line, cwd=ROOT, capture_output=True, text=True)


def small_experiment(folder: Path, clock: str) -> Path:
    """Return an experiment of two runs with this clock."""
    path = folder / "small.toml"
    path.write_text(SMALL.replace("[machine.", f'[machine]\nclock = "{clock}"\n[machine.', 1))
    return path


@pytest.mark.parametrize(
    ("clock", "old", "new", "said"),
    [
        ("charged", "nothing", "nothing", ["small-quick +QEMU_99.0_another +2 +2$"]),
        ("charged", "nothing", "nothing", ["small-quick +twin +2 +2$"]),
        (
            "charged",
            "charged_ns=32",
            "charged_ns=64",
            ["small-quick +QEMU_99.0_another +2 +0$", "only_seed=2: counters.+ [0-9]+ more"],
        ),
        ("counted", "nothing", "nothing", ["small-quick +QEMU_99.0_another +2 +2$"]),
        (
            "counted",
            "shift=5,",
            "shift=6,",
            ["small-quick +QEMU_99.0_another +2 +0$"],
        ),
    ],
)
def test_validate_tells_which_runs_differ_and_how(
    tmp_path: Path, clock: str, old: str, new: str, said: list[str]
):
    """A line of the table has the experiment, the other way to make its runs, how many were made,
    and how many are the same. If the other QEMU makes time pass faster, none is the same."""
    other = tmp_path / "other-qemu"
    other.write_text(OTHER.format(old=old, new=new))
    other.chmod(0o755)
    path = small_experiment(tmp_path, clock)
    done = validate(f"--folder={tmp_path}", f"--qemu={other}", path)
    assert done.returncode == (old != "nothing"), done.stderr
    for pattern in said:
        assert re.search(pattern, done.stdout, re.M), done.stdout


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["--no-twin"], "there is only one way"),
        (["--qemu=/nonexistent"], "/nonexistent"),
        (["--compiler=/nonexistent-"], "/nonexistent-gcc"),
        (["--qemu=qemu-system-riscv64"], "two of the ways to be compared are the same"),
        (["nosuch"], "nosuch: there is no such experiment"),
        (["--page", "--draw=1"], "the page shows whole experiments"),
    ],
)
def test_validate_says_what_is_wrong_with_what_it_was_given(words: list[str], complaint: str):
    done = validate(*words)
    assert done.returncode == 2
    assert complaint in done.stderr and "Traceback" not in done.stderr


def test_what_is_drawn_depends_on_the_seed_and_the_experiment_alone():
    """Draw(3, seed) picks three of an experiment's runs. 30 seeds pick each run at least once. To
    draw 0 runs, or more than there are, is to take all."""
    [whole] = load_experiments("mogul-4.1-fast", "quick")
    drawn = [repeat.Draw(3, seed).pick(whole) for seed in range(30)]
    numbers = [[run.number for run in one.runs] for one in drawn]
    assert all(found == sorted({*found}) and len(found) == 3 for found in numbers)
    assert {number for found in numbers for number in found} == {run.number for run in whole.runs}
    assert repeat.Draw(3, 7).pick(whole).runs == drawn[7].runs
    assert repeat.Draw(0, 7).pick(whole).runs == whole.runs
    assert repeat.Draw(99).pick(whole) is whole


def test_a_draw_makes_and_compares_its_runs_only(tmp_path: Path):
    other = tmp_path / "other-qemu"
    other.write_text(OTHER.format(old="nothing", new="nothing"))
    other.chmod(0o755)
    path = small_experiment(tmp_path, "charged")
    done = validate(f"--folder={tmp_path}", f"--qemu={other}", "--draw=1", path)
    assert done.returncode == 0, done.stdout + done.stderr
    for way in ("QEMU_99.0_another", "twin"):
        assert re.search(f"^small-quick +{way} +1 +1$", done.stdout, re.M), done.stdout
    assert len([*tmp_path.glob("*/small-quick/runs/*.json")]) == 3  # one for each way


def test_a_compiler_makes_no_drawn_runs_in_counted_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """In counted time another compiler gives other times, so only verdicts could be compared. Some
    drawn runs of an experiment have no verdicts. So they are not made."""
    made: dict[str, list[str]] = {}

    def note(way: repeat.Way, names: list[str], *_: object) -> None:
        made[way.name] = [Path(name).stem for name in names]

    monkeypatch.setattr(repeat, "make_way", note)
    monkeypatch.setattr(repeat, "compare_all", lambda *_: [])
    counted, charged = "mogul-4.3", "mogul-4.5"
    experiments = [load_experiments(name, "quick")[0] for name in (counted, charged)]
    ways = [repeat.Way("here"), repeat.Way("gcc", compiler="gcc-"), repeat.Way("twin", twin=True)]
    assert repeat.execute(experiments, ways, tmp_path, 1, draw=repeat.Draw(1))
    assert made == {"here": [counted, charged], "gcc": [charged], "twin": [charged]}


# -g0: a kernel without a debugger's notes takes less of the compiler's time.
COMPILER = """\
#!/bin/sh
[ "$*" = --version ] && {{ echo "another compiler"; exit; }}
exec {prefix}gcc "$@" -g0 {more}
"""


def other_compiler(folder: Path, more: str) -> str:
    """Return the prefix of a compiler that makes other instructions: ours, with more options."""
    prefix = find_tool("prefix")
    ours = Path(shutil.which(prefix + "gcc"))
    start = ours.name.removesuffix("gcc")
    for path in ours.parent.glob(f"{start}*"):
        (folder / f"other-{path.name.removeprefix(start)}").symlink_to(path)
    script = folder / "other-gcc"
    script.unlink()
    script.write_text(COMPILER.format(prefix=prefix, more=more))
    script.chmod(0o755)
    return str(folder / "other-")


READ = "iogen name=read rw=randread filename=/data/read"


@pytest.mark.parametrize(
    ("commands", "leaves"),
    [
        ("read", False),
        ("read &\nread", True),
        ("read \\\n -- &\nwrite", True),
        ("read &\nread\nwait", False),
        ("test -e /x || { read &\nread\nwait; }", False),
        ("read &\nwait\nread &\nread", True),
        ("read &&\nread", False),
    ],
)
def test_which_commands_leave_programs_running(commands: str, leaves: bool):
    """A command with & goes on in the background, unless a `wait` follows it."""
    assert runs.leaves_programs(commands) == leaves


def test_a_program_that_runs_on_when_the_commands_end_makes_no_difference(tmp_path: Path):
    """A program in the background is still running when the commands end. In the machine it takes
    pages of memory, in the twin it takes none. The runs must be the same all the same."""
    path = small_experiment(tmp_path, "charged")
    [line] = [line for line in path.read_text().splitlines() if line.startswith("commands")]
    shell = [f"{READ} seed={{seed}} runtime_s=900 thinktime_us=100000 &", f"{READ} nr=50"]
    path.write_text(path.read_text().replace(line, f"commands = {json.dumps(chr(10).join(shell))}"))
    done = validate(f"--folder={tmp_path}", path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search("small-quick +twin +2 +2$", done.stdout, re.M), done.stdout


OPTIONS = ("-O1", "-Os", "-fno-inline")  # each makes other instructions of the whole tree


def write_one_seed(name: str, seed: int, folder: Path) -> Path:
    """Return a copy of an experiment whose quick size has this seed only, and fewer reads."""
    text = experiment_file(name).read_text()
    rows = re.compile(r"(?<=^\[sizes\.quick\]\n)seed = \[1, 2, 3, 4, 5\]\nreads = 4000$", re.M)
    assert len(rows.findall(text)) == 1
    path = folder / f"{name}.toml"
    path.write_text(rows.sub(f"seed = [{seed}]\nreads = {READS}", text))
    return path


def test_another_compiler_and_the_twin_give_the_same_bytes(tmp_path: Path):
    """One of the options and one of the seeds are tried. They are drawn anew each time, and printed
    if the test fails."""
    draw = SystemRandom()
    option, seed = draw.choice(OPTIONS), draw.randint(1, 5)
    print(f"drawn: {option}, seed {seed}")
    prefix = other_compiler(tmp_path, option)
    paths = [str(write_one_seed("mogul-4.1-fast", seed, tmp_path)), "own-full"]
    experiments = [load_experiments(path, "quick")[0] for path in paths]
    ways = repeat.choose_ways([], [prefix], twin=True)
    assert [way.name for way in ways][1:] == ["another_compiler", "twin"]
    assert repeat.execute(experiments, ways, tmp_path / "made", os.cpu_count() or 1)
    kernels = [tmp_path / "made/another_compiler/tree/build/kernel/kernel.elf", KERNEL]
    assert len({path.read_bytes() for path in kernels}) == 2


def test_a_compiler_moves_counted_time_and_the_table_says_how_far():
    """The figures of three runs differ by 0, 1.5 and 2 %. The row has the number of runs, the
    median, the greatest difference, and how many verdicts changed."""
    moved = repeat.Moved("small-quick", "gcc_14", [0.0, 1.5, 2.0], ["reads wait: a here, b there"])
    text = repeat.moves_table([moved])
    assert re.search(r"small-quick +gcc_14 +3 +1\.50 % +2\.00 % +1$", text, re.M), text
    assert "small-quick, gcc_14: reads wait: a here, b there" in text
