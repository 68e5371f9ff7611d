"""The targets of `sluice dev fuzz`. A target makes input number N of a seed and tries it.

- An input depends on the target, the seed and the number alone, so a failure can be repeated.
- Readers of the host run in a process of their own (reader_process.py), for some processor seconds.
  They may refuse an input with the error that they document. All else is a
  failure: another exception, a signal, too much time or memory.
- Calls with any arguments are made in QEMU, because the page tables are there what decides.
- The kernel's ext2 runs in build/native/ext2_tool, which has sanitizers.
"""

import subprocess
import sys
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

from sluice.host.fault import HostFault
from sluice.host.paths import BUILT, ROOT
from sluice.system.damage import KINDS, damage_image
from tools.fuzz import fuzz_samples as samples
from tools.fuzz.random_change import change_data
from tools.fuzz.reader_process import DONE

CPU_S = 60  # of one input to a program; a hundred times what most take
MEMORY = 2 << 30  # of a reader
BOOT_S = 300  # of a machine that makes calls; it takes less than one
ANY = "calls_with_any_arguments_end_or_fail"
SHARED = 50  # inputs that damage one image
PLAIN = ("-O", "^resize_inode,^dir_index,^ext_attr")  # as our mkfs makes images
SHADOW = "unlimited"  # sanitizers reserve terabytes of addresses
EXT2_TOOL = BUILT / "native" / "ext2_tool"
MOST_SAID = 8000  # characters of a failure's output


@dataclass(frozen=True)
class Target:
    """Something that is tried.

    make: writes input number N of a seed into a folder, and returns its path; run: returns what is
    wrong, or ""; prepare: makes, before the first input, what must not be made under the limits of
    one.
    """

    about: str
    make: Callable[[int, int, Path], Path]
    run: Callable[[Path], str]
    prepare: Callable[[], object] = lambda: None


def chance_of(target: str, seed: int, number: int) -> Random:
    """Return the random numbers of an input."""
    return Random(f"{target} {seed} {number}")


def run_limited(words: list[str], script: str, memory: str) -> str:
    """Run a program with limits. Returns what is wrong, or "" if its status is 0."""
    limits = ["prlimit", f"--cpu={CPU_S}", f"--as={memory}", "--core=0"]
    done = subprocess.run(
        [*limits, *words],
        cwd=ROOT,
        input=script,
        capture_output=True,
        text=True,
        encoding="utf-8",
        errors="replace",
        check=False,
    )
    if not done.returncode:
        return ""
    return f"status {done.returncode}\n{(done.stdout + done.stderr)[-MOST_SAID:]}"


# ---- readers of the host ----


class Reader:
    """A process that gives inputs to a reader (reader_process.py).

    If the process dies, start() begins a new process.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.child: subprocess.Popen[str] | None = None

    def start(self) -> subprocess.Popen[str]:
        """Return the process, which runs."""
        if self.child is None or self.child.poll() is not None:
            line = ["prlimit", f"--as={MEMORY}", "--core=0", sys.executable]
            line += ["-m", "tools.fuzz.reader_process", self.name]
            pipes: dict[str, Any] = dict.fromkeys(("stdin", "stdout"), subprocess.PIPE)
            self.child = subprocess.Popen(
                line, cwd=ROOT, text=True, encoding="utf-8", stderr=subprocess.STDOUT, **pipes
            )
        return self.child

    def __call__(self, path: Path) -> str:
        """Give it an input. Returns what is wrong, or ""."""
        child = self.start()
        lines: list[str] = []
        assert child.stdin and child.stdout
        child.stdin.write(f"{path}\n")
        child.stdin.flush()
        for line in iter(child.stdout.readline, ""):
            if line == f"{DONE}\n":
                return "".join(lines)[-MOST_SAID:]
            lines.append(line)
        return f"status {child.wait()}\n{''.join(lines)[-MOST_SAID:]}"


def make_trace(seed: int, number: int, folder: Path) -> Path:
    """Write a changed trace of one of the formats."""
    chance = chance_of("traces", seed, number)
    name = chance.choice(sorted(samples.TRACES))
    path = folder / name
    path.write_bytes(change_data(samples.TRACES[name], chance))
    return path


def make_archive(seed: int, number: int, folder: Path) -> Path:
    """Write a changed archive, as a student might hand one in."""
    chance = chance_of("archives", seed, number)
    data = change_data(samples.build_archive(chance), chance)
    path = folder / "handed-in"
    path.write_bytes(samples.pack(data, chance))
    return path


def read_names() -> None:
    """Have the machine say what its kernel has, which is kept: no reader has the memory for it."""
    from sluice.experiment.catalogue import load_catalogue

    load_catalogue()


def make_toml(seed: int, number: int, folder: Path) -> Path:
    """Write a changed experiment."""
    chance = chance_of("toml", seed, number)
    sources = sorted((ROOT / "experiments").glob("*/*.toml"))
    source = chance.choice([path for path in sources if path.parent.name not in ("sets", "tune")])
    path = folder / source.name
    path.write_bytes(change_data(source.read_bytes(), chance))
    return path


# ---- the kernel ----


def build_sound(variant: int, block: int, folder: Path) -> Path:
    """Return a sound image, which many inputs share."""
    path = folder / f"sound-{variant}"
    if path.exists():
        return path
    for other in folder.glob("sound-*"):
        other.unlink()
    groups = ["-g", "1024"] if block == 1024 else []
    line = ["mke2fs", "-q", "-F", "-t", "ext2", "-b", str(block), *PLAIN, *groups, str(path), "4M"]
    subprocess.run(line, check=True, capture_output=True)
    script = "random 300 300000\nmkdir /z\nwrite /z/big 900000 1\nmany /z 60 file\n"
    script += f"mkdir /z/sub\nwrite /z/sub/f 3000 1\nsymlink {'z/../' * 30} /z/s\n"
    wrong = run_limited([str(EXT2_TOOL), f"seed={variant % (1 << 31)}", str(path)], script, SHADOW)
    if wrong:
        raise HostFault(f"no sound image could be made: {wrong}")
    return path


def make_image(seed: int, number: int, folder: Path) -> Path:
    """Write a damaged ext2 image of some of everything."""
    variant = seed * 1_000_000 + number // SHARED
    block = (1024, 2048, 4096)[variant % 3]
    sound = build_sound(variant, block, folder)
    chance = chance_of("images", seed, number)
    path = folder / f"image-{block}"
    data = damage_image(sound.read_bytes(), chance.choice(KINDS), chance.randrange(1 << 30))
    path.write_bytes(data)
    return path


def run_image(path: Path) -> str:
    """Do what can be done with a damaged image. The image's checksum is the seed of the calls."""
    block = path.name.split("-")[1]
    words = [f"seed={zlib.crc32(path.read_bytes()) >> 1}", "save=0", f"block={block}", str(path)]
    script = "abuse 200\nprocesses 3 60\nabuse 100\n"
    return run_limited([str(EXT2_TOOL), *words], script, SHADOW)


def make_seed(seed: int, number: int, folder: Path) -> Path:
    """Write the seed of a machine whose programs make system calls."""
    path = folder / "seed"
    path.write_text(str(seed * 1_000_000 + number), encoding="utf-8")
    return path


def run_calls(path: Path) -> str:
    """Make the run of a seed in the twin, and compare files with a model."""
    from tools.exercise import command

    _, wrong = command.run_seed(int(path.read_text(encoding="utf-8")), live=False)
    return wrong.what if wrong else ""


def run_arguments(path: Path) -> str:
    """Have a program make calls with any arguments (user/usertests/any.c), and check the disk."""
    from sluice.system import image
    from sluice.system.qemu import Config, ConsoleError, Disk, run_rc

    content = image.Content(rc=f"usertests {ANY}\n", files={"/seed": path.read_bytes()}, size="16M")
    disk = image.make_image(path.with_name("root.img"), content)
    try:
        result = run_rc(Config((Disk(disk),), harts=2), BOOT_S)
    except ConsoleError as error:
        return str(error)[-MOST_SAID:]
    done = image.run_command("e2fsck", "-fn", disk, check=False)
    said = result.console if result.status else ""
    return said + (done.stdout.decode() if done.returncode else "")


TARGETS = {
    "arguments": Target("system calls with any arguments", make_seed, run_arguments),
    "calls": Target("system calls of programs, against a model", make_seed, run_calls),
    "images": Target("damaged ext2 images", make_image, run_image),
    "traces": Target("changed traces", make_trace, Reader("traces")),
    "archives": Target("changed archives that are handed in", make_archive, Reader("archives")),
    "toml": Target("changed experiments", make_toml, Reader("toml"), read_names),
}
