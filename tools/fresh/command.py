"""`sluice dev fresh`: try README's commands on bare Debian systems, and say what each takes.

Each system is a copy of what debootstrap makes (bareroot.py), with git, make and a clone
of this tree's last commit. The commands are run one after the other, so a later one finds what an
earlier one installed. --full adds the book and all tests.

A system's table has, for each command, the seconds it took, the sum of seconds up to its end, what
apt-get and pip fetched, and how much larger the system's disk then was.

NEWEST=1 builds all on Debian sid instead, without a warning: it has the newest compilers of Debian.
Its two compilers for RISC-V differ in age, and the one without a C library lacks stdint.h.
"""

import re
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from sluice.experiment.aligned import Growing
from sluice.host.paths import BUILD, ROOT
from tools.fresh.bareroot import NoRoots, bare_system, expect_possible, run_in_copy

SUITES = {"bookworm": "Debian 12", "trixie": "Debian 13"}
LIMIT_S = 5400
FOLDER = BUILD / "fresh"
SHOWN_LINES = 30  # of the output of a command that failed
UNITS = {"kB": 1e-3, "MB": 1.0, "GB": 1e3}
TABLE = Growing(
    ["s", "sum s", "apt MB", "pip MB", "disk MB", ""], [26, 5, 5, 6, 6, 7, 6], words=(6,)
)


@dataclass(frozen=True)
class Step:
    """A command that is tried.

    says: what its output must have, if its status says too little.
    """

    command: str
    says: str = ""

    @property
    def name(self) -> str:
        """The last command of the line, which the table shows."""
        return re.split("[|;&] ", self.command)[-1]


BOOT = Step("echo poweroff | make qemu", "sluice:/$")
SHORT = [
    BOOT,
    Step("make experiment SIZE=quick", "report.html"),
    Step("make grade LAB=elevator"),
    Step("make test T=test_lab.py"),
]
FULL = [*SHORT, Step("make book"), Step("make test")]
NEWEST_SUITE = {"sid": "Debian sid"}
LINUX, BARE = "riscv64-linux-gnu-", "riscv64-unknown-elf-"
COMPILERS = f"gcc libc6-dev gcc-{LINUX[:-1]} binutils-{LINUX[:-1]} gcc-{BARE[:-1]}"
# A mirror of sid may be some weeks old.
OLD_MIRROR = "echo 'Acquire::Check-Valid-Until false;' > /etc/apt/apt.conf.d/mirror"


def build_steps(prefix: str) -> list[Step]:
    """Return the steps that build all by a compiler, with each warning an error."""
    make = f"make SETUP=no WERROR=1 TOOLPREFIX={prefix}"
    return [
        Step(f"{prefix}gcc --version; {make} all native twin"),
        Step(f"{make} DEBUG=1 build/debug/kernel/kernel.elf"),
    ]


NEWEST = [
    Step(f"{OLD_MIRROR}; apt-get update && apt-get install -y --no-install-recommends {COMPILERS}"),
    *build_steps(BARE),
    *build_steps(LINUX),
]


@dataclass(frozen=True)
class Measured:
    """The time of a step, and the sizes after it.

    apt, pip: the MB that apt-get and pip have fetched in all. kept: the MB of the system's disk.
    """

    status: int
    seconds: float
    apt: float
    pip: float
    kept: float


def sum_file_sizes(folder: Path, pattern: str) -> float:
    """Return the sum of these files' sizes, in MB."""
    return sum(path.stat().st_size for path in folder.glob(pattern)) / 1e6


def count_pip_downloads(root: Path) -> float:
    """Return the sum of the downloads in pip's log, in MB."""
    log = root / "root/pip.log"
    text = log.read_text(errors="replace", encoding="utf-8") if log.exists() else ""
    found = re.findall(r"Downloading \S+\.whl[^\n(]*\(([\d.]+) (kB|MB|GB)\)", text)
    return sum(float(number) * UNITS[unit] for number, unit in found)


def measure_disk(root: Path) -> float:
    """Return the size of the system on the disk, in MB."""
    done = subprocess.run(
        ["du", "-sx", "-B1", root], capture_output=True, text=True, encoding="utf-8"
    )
    return int(done.stdout.split()[0]) / 1e6


def measure_sizes(root: Path, status: int = 0, seconds: float = 0) -> Measured:
    """Return the sizes now."""
    apt = sum_file_sizes(root / "var/cache/apt/archives", "*.deb")
    return Measured(status, seconds, apt, count_pip_downloads(root), measure_disk(root))


def run_step(root: Path, step: Step, log: Path) -> Measured:
    """Run a step in a system, and return its time and the sizes after it."""
    began = log.stat().st_size if log.exists() else 0
    started = time.monotonic()
    status = run_in_copy(root, step.command, log, LIMIT_S)
    seconds = time.monotonic() - started
    with log.open(errors="replace", encoding="utf-8") as text:
        text.seek(began)
        if not status and step.says not in text.read():
            status = 1
    return measure_sizes(root, status, seconds)


def last_lines(log: Path) -> str:
    """Return the end of the log."""
    return "\n".join(log.read_text(errors="replace", encoding="utf-8").splitlines()[-SHOWN_LINES:])


def try_steps(suite: str, title: str, steps: list[Step]) -> bool:
    """Try the steps in a system of this release, and print a row for each.

    It ends at the first step that fails. Returns True if none does.
    """
    log = FOLDER / f"{suite}.log"
    FOLDER.mkdir(parents=True, exist_ok=True)
    log.unlink(missing_ok=True)
    with bare_system(suite, ROOT, FOLDER / "under-way") as root:
        before = measure_sizes(root)
        print("\n".join([title, *TABLE.format_head()]), flush=True)
        total = 0.0
        for step in steps:
            now = run_step(root, step, log)
            total += now.seconds
            figures = (now.seconds, total, now.apt - before.apt, now.pip - before.pip)
            words = [f"{figure:.0f}" for figure in (*figures, now.kept - before.kept)]
            verdict = "FAILED" if now.status else "well"
            print("\n".join(TABLE.format_row(step.name, *words, verdict)), flush=True)
            if now.status:
                print(f"{last_lines(log)}\nfresh: {step.name} ended with status {now.status}; all")
                print(f"that was said is in {log}")
                return False
            before = now
    return True


def try_systems(full: bool, newest: bool) -> int:
    """Try the commands on each system and return the exit status.

    full: make the book and all tests, too. newest: only build, by the newest compilers on Debian
    sid. The status is 1 if a command failed, and 2 if there can be no bare systems.
    """
    try:
        expect_possible()
        steps = NEWEST if newest else FULL if full else SHORT
        suites = NEWEST_SUITE if newest else SUITES
        failed = [suite for suite, title in suites.items() if not try_steps(suite, title, steps)]
        return 1 if failed else 0
    except NoRoots as error:
        print(f"fresh: {error}", file=sys.stderr)
        return 2
