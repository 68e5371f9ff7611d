"""Draw a machine and its work by a seed.

The work is that of two programs, which compare files with a model of them: user/load/scribble.c
changes one file, user/load/churn.c the names in a directory. Several run at once, on one disk or on
two, while a script swaps policies and sets tunables. Under check=1 policies check what they keep,
and a wrong answer is a panic. Some disks are nearly full or have few inodes, and some second disks
refuse all writes for a while.

Everything is drawn from the kernel's own tables (catalogue.py), so a new policy, tunable or drive
takes part.
"""

from dataclasses import dataclass, replace
from random import Random

from sluice.experiment.catalogue import Known
from sluice.system.virtual_log import ENTRIES, PLACE, SPARE

END = "@ all is done"
SUMS = "@ sums"
OVER = "over the limit"
TOLD = "@ sync told of a loss"  # so do the programs
WORK, DATA = "/work", "/data"
LIMIT_S = 4 * 3600  # of virtual time, for a boot: the longest of 54 seeds took 26 minutes
LIVE_LIMIT_S = 500  # of a machine in real time
AGAIN = "/again"  # is there when the disk is booted for the second time
SCRIBBLE_MOST = (64 << 10, 256 << 10, 1 << 20)  # bytes of a file
ROOT_MB, DATA_MB = 32, 16
FEW_INODES_BYTES = 256 << 10  # of the disk, for each
# In these units, what makes a policy act often within a run.
SOON = {"ms": 50, "s": 2, "blocks": 50, "requests": 20}
# Of a drive with moving parts, a machine in real time would be as slow.
QUICK = ("none", "flash", "flash_cb", "flash_nv", "flash_planes")


@dataclass(frozen=True)
class DrawnDisk:
    """A disk: its size, and how it is laid out.

    places, summaries, scattered: of a virtual log, the seed by which its blocks lie there (0: in
    their order, and free places were never written). inode_bytes: bytes of the disk for each inode.
    """

    size_mb: int
    places: int = 0
    summaries: int = 0
    scattered: int = 0
    inode_bytes: int = 8192


@dataclass(frozen=True)
class Setting:
    """A machine and its work.

    files: the contents of files on the root disk, by path. failing: boot arguments of the first
    boot, by which the second disk refuses writes for a while.
    """

    seed: int
    args: str
    block: str
    disks: tuple[DrawnDisk, ...]
    files: dict[str, bytes]
    operations: int
    failing: str = ""


@dataclass(frozen=True)
class Faults:
    """The faults of a run.

    full_kb: the free space of a folder's disk, by folder.
    """

    full_kb: dict[str, int]
    few_inodes: bool
    failing: str

    def options(self, folder: str) -> str:
        """Return the options that tell scribble and churn about the faults."""
        full = folder in self.full_kb or (folder == DATA and self.few_inodes)
        lost = ("-l " if folder == DATA else "-o ") if self.failing else ""
        return ("-f " if full else "") + lost


def draw_faults(seed: int, folders: list[str], live: bool) -> Faults:
    """Return the faults of a seed.

    They are drawn with separate dice, so that they change nothing else of a seed.
    """
    dice = Random(f"{seed} faults")
    full = {folder: dice.choice((0, 40, 500, 3000)) for folder in folders if dice.random() < 0.25}
    two = DATA in folders
    few_inodes = two and dice.random() < 0.2
    # Those disks are RAM disks. What is full is filled first, so writes do not fail meanwhile.
    fails = two and not live and DATA not in full and dice.random() < 0.5
    window = f"full_from_s={dice.choice((5, 15, 60))} full_for_s={dice.choice((1, 5, 20, 100))}"
    return Faults(full, few_inodes, window if fails else "")


def count_places(size_mb: int, spare: float, summaries: int) -> int:
    """Return the number of places that a virtual log needs for a disk.

    spare: the share of blocks for which it has more places.
    """
    blocks = (size_mb << 20) // PLACE
    least = 1 + SPARE + summaries + blocks + -(-blocks // ENTRIES)
    return least + int(spare * blocks) + ENTRIES


def draw_disk(dice: Random, size_mb: int, logged: bool) -> DrawnDisk:
    """Return a disk of this size, with or without a virtual log."""
    if not logged:
        return DrawnDisk(size_mb)
    summaries = dice.choice((0, 12, 48))
    places = count_places(size_mb, dice.choice((0.02, 0.1, 0.5)), summaries)
    return DrawnDisk(size_mb, places, summaries, dice.choice((0, dice.randrange(1, 1 << 16))))


def draw_tunable(dice: Random, known: Known) -> str:
    """Return a command that sets a tunable."""
    name = dice.choice(list(known.tunables))
    of = known.tunables[name]
    most = min(of.high, max(of.low, SOON.get(of.unit, of.high)))
    return f"policy set {name} {dice.randint(of.low, most)}"


def draw_use(dice: Random, known: Known) -> str:
    """Return a command that puts a policy to use."""
    kind = dice.choice(list(known.policies))
    return f"policy use {kind} {dice.choice(known.policies[kind])}"


def draw_swaps(dice: Random, known: Known, swaps: int) -> bytes:
    """Return a script that swaps policies until the work is done, and pauses in between."""
    lines = []
    for _ in range(swaps):
        change = draw_use if dice.random() < 0.7 else draw_tunable
        lines += [change(dice, known), f"sleep {dice.choice((0.002, 0.02, 0.2, 1))}"]
        lines.append("test -e /done && exit 0")
    return "\n".join([*lines, "true\n"]).encode()


def draw_args(dice: Random, known: Known, ndisks: int, logged: bool, drives: list[str]) -> str:
    """Return boot arguments: the cache, the disks' drives, and where blocks go."""
    placing = [name for name in known.policies["place"] if not logged or name != "inplace"]
    words = ["check=1", f"nbuf={dice.choice((48, 64, 100, 300, 1000))}"]
    drives = [name for name in drives if not logged or name != "none"]
    chosen = [dice.choice(drives) for _ in range(ndisks)]
    words += [f"disk{n}.drive={name}" for n, name in enumerate(chosen)]
    words.append(f"place={dice.choice(placing)}")
    words.append(f"cluster_kb={dice.choice((0, 8, 64, 404))}")
    words.append(f"drive_seed={dice.randrange(1000)}")
    if set(chosen) != {"none"}:  # a model's own argument
        words += dice.choice(([], ["drive_misjudged_percent=20"]))
    # A virtual log needs a drive that keeps what it has acknowledged.
    words += ["drive_volatile=0"] if logged else dice.choice(([], ["drive_volatile=1"]))
    words += dice.choice(([], ["indirect=far"]))
    words += dice.choice(([], ["prefetch_percent=60"]))
    return " ".join(words)


def draw_work(
    dice: Random, folders: list[str], most: int, faults: Faults
) -> tuple[list[str], list[str], int]:
    """Return commands of programs, patterns for all their files, and the number of operations."""
    commands, patterns, total = [], [], 0
    for n in range(dice.randint(1, 4)):
        folder = dice.choice(folders)
        path, options = f"{folder}/w{n}", faults.options(folder)
        seed, count = dice.randrange(1 << 32), dice.randint(most // 4, most)
        if dice.random() < 0.6:
            most_bytes = dice.choice(SCRIBBLE_MOST)
            commands.append(f"scribble {options}-s {seed} -n {count} -m {most_bytes} {path}")
            patterns.append(path)
        else:
            count //= 2
            commands.append(f"churn {options}-s {seed} -n {count} {path}")
            patterns += [f"{path}/*", f"{path}/*/*", f"{path}/*/*/*"]
        total += count
    return commands, patterns, total


def fill_commands(folder: str, free_kb: int) -> list[str]:
    """Return commands that fill the folder's disk except for `free_kb` KB."""
    return [
        f"dd if=/dev/zero of={folder}/free bs=1k count={free_kb} 2>/dev/null",
        f"dd if=/dev/zero of={folder}/fill bs=64k 2>/dev/null",
        f"rm {folder}/free",
    ]


def write_scripts(
    commands: list[str],
    patterns: list[str],
    first: list[str],
    faults: Faults,
    two: bool,
    limit_s: int,
) -> dict[str, bytes]:
    """Return the scripts of the machine's two boots, by path.

    Init runs /rc, and the end of /rc is the machine's. After limit_s the machine prints which
    policies are in use, and ends.
    """
    mount = ["mount disk1 /data"] if two else []
    churned = {c: c.split()[-1] for c in commands if c.startswith("churn")}
    folders = [f"mkdir {path}" for path in churned.values()]
    if faults.failing:  # a slow disk may refuse writes already, and then there is nothing to do
        folders = [f"{line} 2>/dev/null" for line in folders]
        commands = [f"test ! -d {churned[c]} || {c}" if c in churned else c for c in commands]
    filling = [line for folder, kb in faults.full_kb.items() for line in fill_commands(folder, kb)]
    emptying = [f"rm {folder}/fill" for folder in faults.full_kb]
    sums = [
        f"echo {SUMS}",
        f'for f in {" ".join(patterns)}; do test -f "$f" && cksum "$f"; done',
        f"echo {END}",
    ]
    work = [f"({command} || echo FAILED) &" for command in commands]
    # The loads have children of their own, so a file says that they are done.
    loads = ["sh /loads; touch /done"]
    begin = [*mount, *folders, *filling, *first, "sh /swaps &"]
    sync = f"sync 2>/dev/null || echo {TOLD}" if faults.failing else "sync"
    first_boot = [*begin, *loads, "wait", *emptying, sync, *sums, f"touch {AGAIN}"]
    texts = {
        "/limit": [f"sleep {limit_s}; echo {OVER}; grep '\\[' /dev/policy; poweroff -n 1"],
        "/rc": ["sh /limit &", f"if test -e {AGAIN}; then sh /second; else sh /first; fi"],
        "/first": first_boot,
        "/loads": [*work, "wait"],
        "/second": [*mount, *sums],
    }
    return {path: ("\n".join(lines) + "\n").encode() for path, lines in texts.items()}


def draw_setting(seed: int, known: Known, most: int, live: bool = False) -> Setting:
    """Return the setting of this seed.

    most: operations of a program. live: in real time.
    """
    dice = Random(seed)
    two = dice.random() < 0.5
    logged = [dice.random() < 0.5 for _ in range(1 + two)]
    sizes = [ROOT_MB, DATA_MB][: 1 + two]
    disks = tuple(draw_disk(dice, *of) for of in zip(sizes, logged, strict=True))
    block = "4K" if any(logged) else dice.choice(("1K", "2K", "4K"))
    drives = [name for name in known.drives if not live or name in QUICK]
    args = draw_args(dice, known, len(disks), any(logged), drives)
    folders = [WORK, DATA][: len(disks)]
    faults = draw_faults(seed, folders, live)
    if faults.few_inodes:
        disks = (disks[0], replace(disks[1], inode_bytes=FEW_INODES_BYTES))
    commands, patterns, operations = draw_work(dice, folders, most, faults)
    first = [
        f"policy use {kind} {dice.choice(names)}"
        for kind, names in known.policies.items()
        if kind != "place"
    ]
    first += [draw_tunable(dice, known) for _ in range(dice.randint(0, 40))]
    limit_s = LIVE_LIMIT_S if live else LIMIT_S
    files = write_scripts(commands, patterns, first, faults, two, limit_s)
    files["/swaps"] = draw_swaps(dice, known, dice.choice((0, 20, 200)))
    files |= {f"{folder}/.keep": b"" for folder in (WORK, DATA)}
    return Setting(seed, args, block, disks, files, operations, faults.failing)
