"""Debian's Linux 6.12 for RISC-V, fetched and unpacked in build/linux/kernel.

- Packages come from where this system's own come from, and apt verifies their signatures with
  Debian's keys. apt works in a folder of its own: nothing is installed, and no list of the system
  is changed.
- What has been fetched stays, and no network is asked again. A download that was interrupted goes
  on where it ended. To have a newer kernel, remove the folder.
- `Missing` says what is not to be had. What was not there before is then removed.
"""

import os
import re
import shutil
import subprocess
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from sluice.host.limits import HANG_S
from sluice.host.paths import BUILD
from sluice.system.qemu import die_with_parent

SUITE = "trixie"
META = "linux-image-riscv64"  # depends on the suite's current kernel
WANTED = "linux-image-6.12."
ARCHITECTURE = "riscv64"
KEYS = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
SYSTEM = Path("/etc/os-release")
FOLDER = BUILD / "linux" / "kernel"
# Installed, apt is told: a package that is all that a kernel depends on. Else apt would fetch more.
STAND_IN = """\
Package: stand-in
Status: install ok installed
Architecture: all
Version: 1
Maintainer: nobody
Description: what a kernel depends on
Provides: kmod (= 99), linux-base (= 99), initramfs-tools (= 99), linux-initramfs-tool
"""
TOOLS = ("apt-get", "apt-cache", "dpkg-deb")


class Missing(Exception):
    """The kernel is not available; the text says what is missing, and what to do."""


@dataclass(frozen=True)
class Kernel:
    """An unpacked package of Linux. root: its folder."""

    root: Path

    @property
    def image(self) -> Path:
        """The file that a machine boots."""
        return next(self.root.glob("boot/vmlinu[xz]-*"))

    @property
    def release(self) -> str:
        """Its full version, as uname prints it."""
        return self.image.name.partition("-")[2]

    @property
    def modules(self) -> Path:
        """The folder of its modules."""
        return next(self.root.glob("usr/lib/modules/*"))


def run_program(*words: str | Path, quiet: bool = False) -> str:
    """Run a program; its children end with this process.

    quiet: return what it printed; otherwise the reader sees it. Raises CalledProcessError.
    """
    done = subprocess.run(
        words,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE if quiet else None,
        text=True,
        check=True,
        timeout=HANG_S,
        preexec_fn=die_with_parent,
        env={**os.environ, "LC_ALL": "C"},
        encoding="utf-8",
    )
    return done.stdout or ""


def codename() -> str:
    """Return the name of this system's suite; empty if it has none."""
    named = re.search(r"^VERSION_CODENAME=(\S+)$", SYSTEM.read_text(encoding="utf-8"), re.M)
    return named[1] if named else ""


def find_mirror() -> str:
    """Return the address of the archive that this system's packages come from. Raises Missing."""
    for tool in TOOLS:
        if not shutil.which(tool):
            raise Missing(f"there is no program {tool}: the kernel is a package of Debian's")
    if not KEYS.exists():
        raise Missing(f"there is no {KEYS}: install the package debian-archive-keyring")
    system = codename()
    wanted = ("--format", "$(REPO_URI)", f"Codename: {system}")
    found = run_program("apt-get", "indextargets", *wanted, quiet=True).split()
    if not found:
        raise Missing(f"apt knows no archive of {system or 'this system'}: see its sources.list")
    return found[0]


@dataclass(frozen=True)
class Apt:
    """A copy of apt with a folder of its own, for packages of another architecture."""

    folder: Path

    def prepare(self, address: str) -> None:
        """Make its files. Lists and packages that are there stay."""
        for name in ("lists/partial", "cache/archives/partial", "log"):
            (self.folder / name).mkdir(parents=True, exist_ok=True)
        (self.folder / "status").write_text(STAND_IN, encoding="utf-8")
        line = f"deb [arch={ARCHITECTURE} signed-by={KEYS}] {address} {SUITE} main\n"
        (self.folder / "sources.list").write_text(line, encoding="utf-8")

    def options(self) -> list[str]:
        """Return the options that make apt use the folder.

        Of the system's settings it then uses only those by which it reaches its archive.
        """
        nothing = ("SourceParts", "Preferences", "PreferencesParts")
        places = {
            "Dir::Etc::SourceList": self.folder / "sources.list",
            **{f"Dir::Etc::{name}": Path("/dev/null") for name in nothing},
            "Dir::State::Lists": self.folder / "lists",
            "Dir::State::status": self.folder / "status",
            "Dir::Cache": self.folder / "cache",
            "Dir::Log": self.folder / "log",
        }
        values = [f"{name}={place}" for name, place in places.items()]
        values += [f"APT::Architecture={ARCHITECTURE}", f"APT::Architectures={ARCHITECTURE}"]
        values += ["APT::Sandbox::User=root", "Acquire::Languages=none"]
        values += ["Acquire::IndexTargets::deb::DEP-11::DefaultEnabled=false"]
        return [word for value in values for word in ("-o", value)]

    def update(self) -> None:
        """Fetch the lists of packages. apt checks their signature."""
        run_program("apt-get", "-q", *self.options(), "--error-on=any", "update")

    def find_newest(self) -> str:
        """Return the name of the suite's current kernel. Raises Missing."""
        told = run_program("apt-cache", *self.options(), "depends", META, quiet=True)
        found = re.findall(r"^ +Depends: (linux-image-\S+)$", told, re.M)
        if not found:
            raise Missing(f"Debian's {SUITE} has no package {META} there")
        if not found[0].startswith(WANTED):
            raise Missing(f"Debian's {SUITE} has {found[0]}, and no {WANTED}*")
        return found[0]

    def download(self, package: str) -> Path:
        """Fetch a package, or the rest of it, and return its file.

        Apt checks the package against the lists.
        """
        how = ("--yes", "--no-install-recommends", "--download-only")
        run_program("apt-get", "-q", *self.options(), *how, "install", package)
        return next((self.folder / "cache" / "archives").glob("*.deb"))


def fetch(folder: Path) -> None:
    """Fetch the kernel and unpack it. Raises Missing or CalledProcessError."""
    address = find_mirror()
    apt = Apt(folder.parent / "apt")
    new = not apt.folder.exists()
    try:
        apt.prepare(address)
        apt.update()
        package = apt.find_newest()
    except BaseException:
        if new:
            shutil.rmtree(apt.folder)
            with suppress(OSError):  # there is something else in it
                folder.parent.rmdir()
        raise
    deb = apt.download(package)
    half = folder.with_suffix(".part")
    shutil.rmtree(half, ignore_errors=True)
    run_program("dpkg-deb", "-x", deb, half)
    half.rename(folder)
    shutil.rmtree(apt.folder)


def get_kernel(folder: Path = FOLDER) -> Kernel:
    """Return the kernel, which is fetched if it is not there. Raises Missing."""
    if not folder.exists():
        try:
            fetch(folder)
        except subprocess.CalledProcessError as error:
            command = " ".join(map(str, error.cmd[:1] + error.cmd[-1:]))
            raise Missing(
                f"`{command}` failed with status {error.returncode}; what it said is above"
            ) from None
    return Kernel(folder)
