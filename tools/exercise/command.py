"""`make exercise`: files under random policies, compared with a model of them.

Each seed draws a machine: policies of all kinds and their tunables, drives, block size, disks with
or without a virtual log, the cache, what runs, and faults: a disk that is nearly full, has few
inodes, or refuses all writes for a while. Programs then change files and names at random and
compare what they find with a model (user/scribble.c, user/churn.c), while policies are swapped.
Afterwards e2fsck checks the disks, and a second boot reads the files again. A boot that is not done
after some hours of virtual time is wrong, and names the policies in use.

The twin makes the runs. With --engine=machine, QEMU makes them in real time, with two harts, disks
of its own and the debug kernel. A run that is wrong is kept in build/exercise, and the command that
repeats it is printed.
"""

import argparse
import shutil
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

from sluice.experiment import commandline
from sluice.experiment.catalogue import known
from sluice.host.fault import HostFault
from sluice.host.interrupt import stoppable, stopped
from sluice.host.paths import BUILD
from tools.exercise import outcome
from tools.exercise.drawn import Setting, draw
from tools.exercise.outcome import Wrong

FOLDER = BUILD / "exercise"
MOST = {"twin": 10_000, "machine": 1_000}  # operations of a program


def repeat(seed: int, live: bool) -> str:
    """The command that makes this run again."""
    return f"make exercise SEED={seed} COUNT=1{' ENGINE=machine' if live else ''}"


def describe(setting: Setting) -> str:
    """The setting, in lines."""
    disks = "\n".join(f"  disk{n}: {of}" for n, of in enumerate(setting.disks))
    args = f"{setting.args} {setting.failing}".rstrip()
    return f"  blocks of {setting.block}, boot arguments {args}\n{disks}\n"


def keep(folder: Path, setting: Setting, wrong: Wrong) -> None:
    """Write beside the disks of a wrong run what it was and what it said."""
    (folder / "console").write_text(wrong.console, encoding="utf-8")
    (folder / "setting").write_text(describe(setting), encoding="utf-8")
    for path, text in setting.files.items():
        (folder / f"root{path.replace('/', '_')}").write_bytes(text)


def make(seed: int, live: bool) -> tuple[Setting, Wrong | None]:
    """Make the run of a seed. Returns its setting, and what is wrong with it; a run that ^C ended
    is not wrong."""
    setting = draw(seed, known(), MOST["machine" if live else "twin"], live)
    folder = FOLDER / f"{'machine' if live else 'twin'}-{seed}"
    wrong = outcome.make(setting, folder, live)
    if wrong and not stopped.is_set():
        keep(folder, setting, wrong)
        print(f"seed {seed}: {wrong.what}\n{describe(setting)}  {repeat(seed, live)}\n", flush=True)
    else:
        shutil.rmtree(folder)
    return setting, wrong


def make_all(choice: argparse.Namespace) -> Iterator[tuple[Setting, Wrong | None]]:
    """Make the run of each seed. After ^C, or if a run cannot be made, no other run begins."""
    seeds = range(choice.seed, choice.seed + choice.count)
    live = choice.engine == "machine"
    with ThreadPoolExecutor(choice.jobs) as pool:
        try:
            for done in as_completed([pool.submit(make, seed, live) for seed in seeds]):
                yield done.result()
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def do(choice: argparse.Namespace) -> bool:
    """Make the runs. Returns true if nothing is wrong with any."""
    known()  # asks a machine, once
    began, operations, failed = time.monotonic(), 0, []
    for setting, wrong in make_all(choice):
        operations += setting.operations
        failed += [setting.seed] if wrong else []
    took_s = time.monotonic() - began
    print(f"{choice.count} runs, {operations} operations in {took_s:.0f} s")
    if failed:
        print(f"wrong: {len(failed)}: {' '.join(map(str, sorted(failed)))}; kept in {FOLDER}")
    return not failed


def main() -> int:
    """Returns the exit status: 1 if a run is wrong."""
    options = argparse.ArgumentParser(prog="make exercise", description=__doc__)
    options.add_argument("--seed", type=int, default=1, help="the first seed")
    options.add_argument("--count", type=int, default=100, help="how many seeds")
    options.add_argument("--engine", choices=("machine", "twin"), default="twin")
    commandline.add_jobs(options)
    choice = options.parse_args()
    return commandline.status(lambda: do(choice), (HostFault,))


if __name__ == "__main__":
    sys.exit(stoppable(main, "the other seeds were not tried"))
