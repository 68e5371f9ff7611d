"""Files under drawn policies hold what a model of them says (tools/exercise/), and the programs
that compare them notice when they do not.

A seed draws a Setting: a machine, its policies and tunables, its disks, and loads for two boots.
Two programs change files and compare them with their own model of the contents: scribble one file,
churn the names of a directory. Their options excuse a fault that may be there: -f a full disk, -l a
loss that the kernel reports. outcome.py makes the run, and returns a Wrong if anything differs.
"""

import os
import platform
import re
import threading
import time
from pathlib import Path

import pytest
from whole import WHOLE

from sluice.experiment.catalogue import load_catalogue
from sluice.host.fault import HostFault
from sluice.host.paths import ROOT
from sluice.system import image
from sluice.system.image import Content
from sluice.system.qemu import Config, Disk
from sluice.twin import engine
from tools.exercise import command as exercise
from tools.exercise import drawn, outcome
from tools.exercise.drawn import Setting, draw_setting
from tools.exercise.outcome import Wrong

SEEDS = range(1, 1 + int(os.environ.get("SLUICE_SEEDS", "200" if WHOLE else "24")))
LIVE_SEEDS = range(1, 9)
needs_twin = pytest.mark.skipif(
    platform.machine() not in engine.HOSTS, reason=f"the twin runs on {engine.HOSTS} only"
)


@needs_twin
@pytest.mark.xdist_group("twin")
@pytest.mark.drawn(3)
@pytest.mark.parametrize("seed", SEEDS)
def test_files_hold_what_the_model_says_under_any_policies(seed: int, tmp_path: Path) -> None:
    wrong = outcome.make_run(draw_setting(seed, load_catalogue(), 3000), tmp_path)
    assert not wrong, f"{wrong.what}\n{wrong.console[-3000:]}"


@pytest.mark.drawn(8)
@pytest.mark.parametrize("seed", LIVE_SEEDS)
def test_files_hold_what_the_model_says_on_two_harts_with_disks_of_qemu(
    seed: int, tmp_path: Path
) -> None:
    wrong = outcome.make_run(
        draw_setting(seed, load_catalogue(), 600, live=True), tmp_path, live=True
    )
    assert not wrong, f"{wrong.what}\n{wrong.console[-3000:]}"


@pytest.mark.native
def test_sums_are_compared_except_those_of_files_that_may_be_lost() -> None:
    """A sum is a line of cksum between two marks. Messages of the kernel among them are left out,
    and so are the files of folders that may have lost something."""
    text = f"x\n{drawn.SUMS}\n1 5 /data/w1\next2: disk1: inode 18 is damaged\n2 5 /work/a b\n"
    text += f"{drawn.END}\n3 5 /no\n"
    assert outcome.parse_sums(text, []) == ["1 5 /data/w1", "2 5 /work/a b"]
    assert outcome.parse_sums(text, [drawn.DATA]) == ["2 5 /work/a b"]


@pytest.mark.native
@pytest.mark.parametrize("said", [outcome.LOST_STRUCTURE, f"{outcome.UNWRITTEN}: error 5", ""])
def test_e2fsck_may_mend_only_where_the_machine_said_that_something_lacks(
    said: str, tmp_path: Path
) -> None:
    """The disk is damaged: a file's count of blocks (i_blocks) is wrong. That is a complaint unless
    the machine printed that it could not write everything."""
    disk = image.make_image(
        tmp_path / "disk.img", Content(files={"/f": b"x" * 9000}, programs=False)
    )
    image.run_command("debugfs", "-w", "-R", "sif /f blocks 2", disk)
    found = outcome.check_disk(disk, drawn.DrawnDisk(32), may_mend=outcome.is_torn(f"{said}\n"))
    assert bool(found) == (not said)
    assert not found or "i_blocks is 2" in found


@needs_twin
@pytest.mark.xdist_group("twin")
def test_a_run_that_goes_on_past_its_limit_of_virtual_time_is_ended_and_says_its_policies(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(drawn, "LIMIT_S", 1)
    setting = draw_setting(1, load_catalogue(), 10_000)
    wrong = outcome.make_run(setting, tmp_path)
    assert wrong  # 10,000 operations take more than a second
    said = re.fullmatch(r"first boot: .* limit of virtual time was over, under (.*)", wrong.what)
    assert said, wrong.what
    in_use = dict(pair.split("=") for pair in said[1].split(", "))
    assert set(in_use) == set(load_catalogue().policies)
    assert f"place={in_use['place']}" in setting.args


def test_a_seed_draws_the_same_machine_each_time() -> None:
    assert draw_setting(7, load_catalogue(), 100) == draw_setting(7, load_catalogue(), 100)
    assert draw_setting(7, load_catalogue(), 100) != draw_setting(8, load_catalogue(), 100)


def test_full_disks_few_inodes_and_failing_disks_are_drawn_and_told_to_the_programs() -> None:
    """A load has the option -f exactly if its disk is full or has few inodes, and -l exactly if its
    disk fails for a while."""
    settings = [draw_setting(seed, load_catalogue(), 100) for seed in range(100)]
    for s in settings:
        loads = s.files["/loads"].decode()
        for folder, disk in zip((drawn.WORK, drawn.DATA), s.disks, strict=False):
            # The options of the programs that work in this folder.
            mine = re.findall(rf"^\((?:.* )?(?:scribble|churn) (.*)-s .* {folder}/", loads, re.M)
            assert mine or f" {folder}/w" not in loads
            is_full = f"{folder}/fill" in s.files["/first"].decode() or disk.inode_bytes > 8192
            loses = folder == drawn.DATA and bool(s.failing)
            assert all(("-f" in options) == is_full for options in mine)
            assert all(("-l" in options) == loses for options in mine)
    loads = b"".join(s.files["/loads"] for s in settings).decode()
    for program in ("scribble", "churn"):
        assert {f"{program} {option}" in loads for option in ("-f", "-l", "-o")} == {True}
    assert any(disk.inode_bytes > 8192 for s in settings for disk in s.disks)
    live = [draw_setting(seed, load_catalogue(), 100, live=True) for seed in range(100)]
    assert not any(s.failing for s in live)  # the window is one of RAM disks


def test_all_policies_tunables_and_drives_are_drawn() -> None:
    """300 seeds are enough to draw each name at least once."""
    texts = [
        f"{s.args}\n{b''.join(s.files.values()).decode()}"
        for s in (draw_setting(seed, load_catalogue(), 100) for seed in range(300))
    ]
    words = set(" ".join(texts).replace("=", " ").split())
    names = {name for of in load_catalogue().policies.values() for name in of}
    assert words >= names | set(load_catalogue().tunables) | set(load_catalogue().drives)


# ---- the command ----


@pytest.mark.native
@pytest.mark.parametrize("stop", [KeyboardInterrupt, HostFault])
def test_no_run_begins_after_the_command_was_stopped(
    stop: type[BaseException], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first of 50 runs is stopped. Those that have begun meanwhile end, and no other begins."""
    tried: list[int] = []

    def make(seed: int, live: bool) -> tuple[None, None]:
        tried.append(seed)
        if seed == 1:
            raise stop
        time.sleep(0.1)  # as a run takes some time
        return None, None

    monkeypatch.setattr(exercise, "run_seed", make)
    with pytest.raises(stop):
        list(exercise.run_seeds(range(1, 51), live=False, jobs=1))
    assert len(tried) < 25


@pytest.mark.native
@pytest.mark.parametrize("is_stopped", [False, True])
def test_a_wrong_run_is_kept_with_its_command_unless_it_was_stopped(
    is_stopped: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A run that differs prints its seed, what differs and the command that repeats it, and keeps
    its files. A run that the user stopped is no finding, so it leaves nothing."""

    def run(setting: Setting, folder: Path, live: bool) -> Wrong:
        """Pretend to run a setting in which something is wrong; the user may stop it meanwhile."""
        folder.mkdir()
        if is_stopped:
            exercise.stopped.set()
        return Wrong("second boot: it said no", "console")

    monkeypatch.setattr(exercise, "FOLDER", tmp_path)
    monkeypatch.setattr(exercise, "stopped", threading.Event())
    monkeypatch.setattr(outcome, "make_run", run)
    exercise.run_seed(7, False)
    said = capsys.readouterr().out
    if is_stopped:
        assert (said, list(tmp_path.iterdir())) == ("", [])
    else:
        assert said.startswith("seed 7: second boot: it said no\n  blocks of ")
        assert said.endswith("  sluice dev exercise --seed 7 --count 1\n\n")
        assert (tmp_path / "twin-7/console").read_text() == "console"
        assert (tmp_path / "twin-7/root_rc").exists()


def boot(script: str, folder: Path, args: str = "drive=rz58 nbuf=64") -> tuple[int, str, Path]:
    """Return a twin's exit status and console after this script, and its disk."""
    root = image.make_image(folder / "root.img", Content(rc=script, size="24M"))
    machine = Config((Disk(root),), memory="64M", args=args, lab=True)
    return *outcome.boot_twin(machine), root


# While a program (key) runs, other commands change its file or directory; then what it prints.
MEDDLED = {
    "scribble -s 5 -n 1000000 /f": (
        "for i in $(seq 100); do echo meddled >> /f; done",
        r"/f: seed 5, operation \d+, \w+ of \d+ bytes at \d+, the file has \d+: expected .*",
    ),
    "churn -s 5 -n 1000000 /d": (
        "rm -r /d/*",
        r"/d: seed 5, operation \d+, \w+ of '.*' '.*': expected: .*, got: .*",
    ),
}
# With an option that excuses a fault, the program still reports any other difference.
MEDDLED |= {
    command.replace(" -s", f" {option} -s"): of
    for command, of in MEDDLED.items()
    for option in ("-f", "-l", "-o")
}


@needs_twin
@pytest.mark.native
@pytest.mark.parametrize("command", MEDDLED)
def test_a_difference_ends_the_program_with_what_was_expected(command: str, tmp_path: Path) -> None:
    """MEDDLED has, for a command, what another one changes meanwhile, and what the first then
    says."""
    meddling, said = MEDDLED[command]
    script = f"mkdir /d\n(sleep 1; {meddling}) &\n{command}\n"
    status, console, _ = boot(script, tmp_path)
    assert status == 1
    assert re.fullmatch(rf"\w+: {said}\n", console)


# What the disk has too few of, by mkfs's option -i: bytes of the disk for each inode.
SMALL = {"blocks": ("-i", "8192"), "inodes": ("-i", "262144")}
BOTH = "scribble {0} -s 5 -n 2000 -m 2000000 /m/f & churn {0} -s 5 -n 2000 /m/d; wait"


def boot_two(
    script: str, folder: Path, args: str, size: str, options: tuple[str, ...] = ()
) -> tuple[int, str, Path]:
    """Return a twin's exit status and console after this script, with a second disk at /m, and that
    disk."""
    rc = f"mkdir /m; mount disk1 /m; mkdir /m/d; {script}\n"
    root = image.make_image(folder / "root.img", Content(rc=rc, size="24M"))
    content = Content(programs=False, size=size, options=options)
    data = image.make_image(folder / "data.img", content)
    machine = Config((Disk(root), Disk(data)), memory="64M", args=args, lab=True)
    return *outcome.boot_twin(machine), data


@needs_twin
@pytest.mark.native
@pytest.mark.parametrize("full", SMALL)
def test_nothing_else_changes_on_a_disk_that_is_full(full: str, tmp_path: Path) -> None:
    """With -f both programs come to their end on a full disk. Without -f the same work ends with
    the error, or with a write that is too short."""
    args, options = "drive=rz58 nbuf=64 check=1", SMALL[full]
    status, console, _ = boot_two(BOTH.format(""), tmp_path, args, "1M", options)
    assert re.search("no space left on the disk|bytes written, got", console), console
    status, console, data = boot_two(BOTH.format("-f"), tmp_path, args, "1M", options)
    assert status == 0, console
    assert console.count("2000 operations") == 2, console
    image.check_image(data)


# What the kernel prints when it gives a block up.
LOST = "bio: disk1: block 7 cannot be written and is lost: fsync, close and sync will say so"
LOSSES = {"scribble": "scribble {} -s 5 -n 4000 /m/f", "churn": "churn {} -s 5 -n 4000 /m/d"}


@needs_twin
@pytest.mark.native
@pytest.mark.parametrize("program", LOSSES)
def test_a_loss_that_is_told_ends_the_program_and_an_untold_one_is_wrong(
    program: str, tmp_path: Path
) -> None:
    """The disk takes no writes from second 5 to second 65, so the kernel loses blocks. With -l the
    program ends when a call reports this. If the report were missing, find_complaint would say so.
    Without -l the error itself is reported as a difference."""
    args = "drive=rz58 nbuf=48 full_from_s=5 full_for_s=60"
    _, console, _ = boot_two(LOSSES[program].format("-l"), tmp_path, args, "16M")
    path = LOSSES[program].split()[-1]
    assert re.search(rf"^a loss in {path} was told: operation \d+$", console, re.M), console
    assert path in outcome.reported_losses(console)
    assert not outcome.find_complaint(1, f"{console}{drawn.END}", failing=True, again=False)
    untold = re.sub(f"(a loss in .*|{drawn.TOLD})\n", f"{LOST}\n", console)
    said = outcome.find_complaint(1, f"{untold}{drawn.END}", failing=True, again=False)
    assert said == "something is lost, and no program was told"
    _, console, _ = boot_two(LOSSES[program].format(""), tmp_path, args, "16M")
    said = rf"^{program}: {path}: seed 5, .*(input/output error|read-only)"
    assert re.search(said, console, re.M), console


@needs_twin
@pytest.mark.native
@pytest.mark.parametrize("policy", sorted(p.stem for p in (ROOT / "policies/write").glob("*.c")))
def test_a_clean_shutdown_is_marked_on_the_disk_under_any_write_policy(
    policy: str, tmp_path: Path
) -> None:
    script = f"policy use update none; policy use write {policy}; echo x > /f\n"
    status, console, root = boot(script, tmp_path)
    assert (status, console) == (0, "")
    said = image.run_command("dumpe2fs", "-h", root).stdout.decode()
    assert re.search(r"^Filesystem state: +clean$", said, re.M), said
