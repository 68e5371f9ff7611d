"""`sluice dev exercise`: files under random policies, compared with a model of them.

Each seed draws a machine: policies of all kinds and their tunables, drives, block size, disks with
or without a virtual log, the cache, what runs, and faults: a disk that is nearly full, has few
inodes, or refuses all writes for a while. Programs then change files and names at random and
compare what they find with a model (user/load/scribble.c, user/load/churn.c), while policies are
swapped. Afterwards e2fsck checks the disks, and a second boot reads the files again. A boot that is
not done after some hours of virtual time is wrong, and names the policies in use.

The twin makes the runs. With --engine=machine, QEMU makes them in real time, with two harts, disks
of its own and the debug kernel. A run that is wrong is kept in build/exercise, and the command that
repeats it is printed.
"""

import shutil
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

from sluice.experiment.catalogue import load_catalogue
from sluice.experiment.progress import show_count
from sluice.host.interrupt import stopped
from sluice.host.paths import BUILD
from tools.exercise import outcome
from tools.exercise.drawn import Setting, draw_setting
from tools.exercise.outcome import Wrong

FOLDER = BUILD / "exercise"
MOST = {"twin": 10_000, "machine": 1_000}  # operations of a program


def repeat_command(seed: int, live: bool) -> str:
    """Return the command that makes this run again."""
    return f"sluice dev exercise --seed {seed} --count 1{' --engine machine' if live else ''}"


def describe(setting: Setting) -> str:
    """Return the setting, in lines."""
    disks = "\n".join(f"  disk{n}: {of}" for n, of in enumerate(setting.disks))
    args = f"{setting.args} {setting.failing}".rstrip()
    return f"  blocks of {setting.block}, boot arguments {args}\n{disks}\n"


def write_evidence(folder: Path, setting: Setting, wrong: Wrong) -> None:
    """Write the setting and the console of a wrong run beside its disks."""
    (folder / "console").write_text(wrong.console, encoding="utf-8")
    (folder / "setting").write_text(describe(setting), encoding="utf-8")
    for path, text in setting.files.items():
        (folder / f"root{path.replace('/', '_')}").write_bytes(text)


def run_seed(seed: int, live: bool) -> tuple[Setting, Wrong | None]:
    """Make the run of a seed. Returns its setting, and what is wrong with it.

    A run that ^C ended is not wrong.
    """
    setting = draw_setting(seed, load_catalogue(), MOST["machine" if live else "twin"], live)
    folder = FOLDER / f"{'machine' if live else 'twin'}-{seed}"
    wrong = outcome.make_run(setting, folder, live)
    if wrong and not stopped.is_set():
        write_evidence(folder, setting, wrong)
        print(
            f"seed {seed}: {wrong.what}\n{describe(setting)}  {repeat_command(seed, live)}\n",
            flush=True,
        )
    else:
        shutil.rmtree(folder)
    return setting, wrong


def run_seeds(seeds: range, live: bool, jobs: int) -> Iterator[tuple[Setting, Wrong | None]]:
    """Make the run of each seed, and yield its setting and what is wrong with it.

    After ^C, or if a run cannot be made, no other run begins.
    """
    with ThreadPoolExecutor(jobs) as pool:
        try:
            for done in as_completed([pool.submit(run_seed, seed, live) for seed in seeds]):
                yield done.result()
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def run_exercise(seeds: range, live: bool, jobs: int) -> bool:
    """Make the runs. Returns true if nothing is wrong with any. live: the machine makes them."""
    load_catalogue()  # asks a machine, once
    began, operations, failed = time.monotonic(), 0, []
    with show_count("seeds", len(seeds)) as count:
        for setting, wrong in run_seeds(seeds, live, jobs):
            operations += setting.operations
            failed += [setting.seed] if wrong else []
            count()
    took_s = time.monotonic() - began
    print(f"{len(seeds)} runs, {operations} operations in {took_s:.0f} s")
    if failed:
        print(f"wrong: {len(failed)}: {' '.join(map(str, sorted(failed)))}; kept in {FOLDER}")
    return not failed
