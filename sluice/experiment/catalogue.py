"""Lists what the kernel has: policies, tunables, counters, histograms, drives.

None of it is written down here. For each kernel a machine is booted once and asked, which takes a
second, and the answer is kept. Where there is no QEMU, the twin answers, with the same words. The
host program that replays traces on drives lists the drives.
"""

import json
import re
import shutil
import struct
import subprocess
import tempfile
from dataclasses import asdict, dataclass, replace
from functools import cache
from hashlib import sha256
from pathlib import Path

from sluice.experiment.files import write_atomically
from sluice.host.hashes import hash_file
from sluice.host.limits import HANG_S
from sluice.host.matching import search_text
from sluice.host.paths import KEPT, KERNEL, NATIVE
from sluice.system import devtext, image
from sluice.system.image import Content
from sluice.system.qemu import Config, Disk, die_with_parent, program, run_rc
from sluice.twin import engine

ASK = "cat /dev/policy; echo @stat; cat /dev/stat; echo @hist; cat /dev/hist; echo @end\n"
TUNABLE = re.compile(r"^(\S+)\.(\w+) = (\d+) (.+?) \((\d+) to (\d+)\): (.*)$")
# Shown by a machine only while it has a network or NVRAM.
NETWORK_COUNTERS = {
    "net.damaged": "packets",
    "net.dropped": "packets",
    "net.expired": "datagrams",
    "net.received": "frames",
    "net.sent": "frames",
    "nfs.calls": "calls",
    "nfs.damaged": "calls",
    "nfs.evictions": "notices",
    "nfs.expired": "leases",
    "nfs.repeated": "calls",
    "nvram.absorbed": "requests",
    "nvram.failed": "requests",
    "nvram.reads": "requests",
    "nvram.waits": "requests",
    "nvram.writes": "requests",
    "remote.calls": "calls",
    "remote.evictions": "notices",
    "remote.leases": "calls",
    "remote.recalls": "calls",
    "remote.repeated": "calls",
    "remote.written_again": "calls",
}
KIND = re.compile(r"^(\w+):((?: \[?\w+\]?)+)$")
DEFAULT = re.compile(r"\[(\w+)\]")
ABOUT = re.compile(r"^(\w+)/(\w+): (.*)$", re.M)
COMPILER = re.compile(rb"(GCC): \([^)]*\) ([0-9.]+)\0|(?:\w+ )?(clang) version ([0-9.]+)[^\0]*\0")


@dataclass(frozen=True)
class Tunable:
    """A tunable of a policy: its unit, its default, and its range with both ends included."""

    unit: str
    default: int
    low: int
    high: int
    about: str


@dataclass(frozen=True)
class Known:
    """The names that the kernel has."""

    policies: dict[str, list[str]]  # by kind
    abouts: dict[str, str]  # by KIND/NAME: what the policy does
    defaults: dict[str, str]  # by kind: the policy
    tunables: dict[str, Tunable]
    counters: dict[str, str]  # by name: the unit
    histograms: dict[str, str]  # by name: the unit
    drives: list[str]


@cache
def kernel_hash(kernel: Path = KERNEL) -> str:
    """Return the hash of the kernel's loaded part, which does not depend on the names of
    sources."""
    elf = kernel.read_bytes()
    digest = sha256()
    (table,) = struct.unpack_from("<Q", elf, 32)  # where the program headers begin
    size, count = struct.unpack_from("<HH", elf, 54)
    for i in range(count):
        header = elf[table + i * size : table + (i + 1) * size]
        kind, offset = struct.unpack_from("<I4xQ", header)
        (file_bytes,) = struct.unpack_from("<Q", header, 32)
        if kind == 1:  # PT_LOAD
            digest.update(header)
            digest.update(elf[offset : offset + file_bytes])
    return digest.hexdigest()


@cache
def kernel_compiler(kernel: Path = KERNEL) -> str:
    """Return the compiler that the kernel's ELF file names, as "GCC 12.2.0"."""
    found = COMPILER.search(kernel.read_bytes())
    words = [word.decode() for word in found.groups() if word] if found else []
    return " ".join(words) or "an unknown compiler"


@cache
def drives_text() -> str:
    """Return the description of all drive models, a paragraph each."""
    return image.run_command(NATIVE / "drive_replay_tool", "-l").stdout.decode()


def drives() -> list[str]:
    """Return the names of the drive models."""
    return re.findall(r"^(\w+):", drives_text(), re.M)


def drive_bytes(name: str) -> int | None:
    """Return a drive's size in bytes; None if it has no size, or if there is no drive of this
    name."""
    found = re.search(rf"^{re.escape(name)}:.*\n +sectors=(\d+)", drives_text(), re.M)
    return int(found[1]) * 512 if found else None


def has_volatile_cache(name: str) -> bool:
    """Return whether a power cut may lose writes that the drive has completed."""
    rows = re.findall(r"^(\w+):.*((?:\n +.*)*)", drives_text(), re.M)
    return any(row == name and "volatile_cache=1" in figures for row, figures in rows)


def boot(config: Config) -> str:
    """Boot a machine that ends by itself, or its twin where there is no QEMU. Returns what its
    console showed."""
    if shutil.which(program()) or engine.refusal_reason(config, ""):
        return run_rc(config).console
    with config.guest() as guest:
        done = subprocess.run(
            engine.twin_command(config, guest),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=HANG_S,
            check=True,
            preexec_fn=die_with_parent,
        )
    return done.stdout.decode(errors="replace").replace("\r", "")


def boot_and_read() -> dict[str, object]:
    """Boot a machine and read its /dev."""
    with tempfile.TemporaryDirectory(dir=KEPT) as folder:
        root = image.make_image(Path(folder) / "root.img", Content(rc=ASK, size="16M"))
        data = image.make_image(Path(folder) / "data.img", Content(programs=False, size="16M"))
        disks = (Disk(root), Disk(data))
        console = boot(Config(disks, args="drive=fixed", lab=True))
    policy, rest = console.split("@stat\n")
    stat, rest = rest.split("@hist\n")
    hist, _ = rest.split("@end\n")
    kinds = [m for m in map(KIND.match, policy.splitlines()) if m]
    tunables = [m for m in map(TUNABLE.match, policy.splitlines()) if m]
    return {
        "policies": {m[1]: m[2].replace("[", "").replace("]", "").split() for m in kinds},
        "abouts": {f"{kind}/{name}": about for kind, name, about in ABOUT.findall(policy)},
        "defaults": {m[1]: search_text(DEFAULT, m[2])[1] for m in kinds},
        "tunables": {
            f"{m[1]}.{m[2]}": asdict(Tunable(m[4], int(m[3]), int(m[5]), int(m[6]), m[7]))
            for m in tunables
        },
        "counters": {name: unit for name, (_, unit) in devtext.parse_stat(stat).items()},
        "histograms": {name: h["unit"] for name, h in devtext.parse_histograms(hist).items()},
    }


def add_server_names(known: Known) -> Known:
    """Return the names of a run with a server, whose figures are called server.NAME."""
    counters, histograms = (
        names | {f"server.{name}": unit for name, unit in names.items()}
        for names in (known.counters | NETWORK_COUNTERS, known.histograms)
    )
    return replace(known, counters=counters, histograms=histograms)


@cache
def load_catalogue() -> Known:
    """Return what the kernel has, as it is built now."""
    KEPT.mkdir(parents=True, exist_ok=True)
    asked = kernel_hash()[:16] + hash_file(Path(__file__))[:8]
    path = KEPT / f"known-{asked}.json"
    if not path.exists():
        write_atomically(path, json.dumps(boot_and_read(), indent=1))
    fields = json.loads(path.read_text(encoding="utf-8"))
    fields["tunables"] = {name: Tunable(**row) for name, row in fields["tunables"].items()}
    return Known(**fields, drives=drives())
