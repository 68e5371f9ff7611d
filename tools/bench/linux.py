"""Run a Linux guest with Sluice's own measuring program, for `sluice bench --linux`.

- Its kernel is Debian's (debian.py). It starts from an archive in memory, with the modules that it
  needs and an init of ours (guest/init.c), which makes the disk the root and runs what is typed.
- Its programs are Sluice's object files, linked with the system calls of Linux (guest/calls.c).
- Its machine is Sluice's, with QEMU's firmware, which Linux needs.
"""

import lzma
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from sluice.host.paths import BUILT
from sluice.system.qemu import Config, Machine
from tools.bench import cpio
from tools.bench.debian import Kernel, Missing

PROGRAMS = BUILT / "guest"
MODULES = ("virtio_mmio", "virtio_blk", "crc32c_generic", "ext4")  # ext4 reads ext2 too
ARGS = "console=ttyS0 quiet panic=-1"
PROMPT = r"^linux\$ "


def module_name(path: Path) -> str:
    """Return a module's name, by its file's."""
    return path.name.partition(".")[0].replace("-", "_")


def load_modules(folder: Path, names: tuple[str, ...] = MODULES) -> dict[str, bytes]:
    """Return the modules and all that they need, by name, each after what it needs.

    Modules that are built into the kernel are left out. Raises Missing.
    """
    files = {module_name(path): path for path in folder.rglob("*.ko.xz")}
    built_in = (folder / "modules.builtin").read_text(encoding="utf-8").splitlines()
    there = {module_name(Path(line)) for line in built_in}
    found: dict[str, bytes] = {}

    def add_module(name: str) -> None:
        """Add a module to `found`, after those that it depends on."""
        if name in found or name in there:
            return
        if name not in files:
            raise Missing(f"{folder.name} has no module {name}")
        data = lzma.decompress(files[name].read_bytes())
        needs = re.search(rb"\0depends=([\w,-]*)\0", data)
        for other in needs[1].decode().split(",") if needs and needs[1] else ():
            add_module(other.replace("-", "_"))
        found[name] = data

    for name in names:
        add_module(name)
    return found


def archive_entries(
    loaded: dict[str, bytes], init: bytes, file_system: str = "ext2"
) -> Iterator[cpio.Entry]:
    """Yield the files with which the guest starts (guest/init.c says what each is for)."""
    yield from map(cpio.folder, ("dev", "disk", "lib"))
    yield cpio.console()
    yield cpio.file("init", init, 0o755)
    yield cpio.file("type", f"{file_system}\n".encode())
    yield cpio.file("modules", "".join(f"/lib/{name}.ko\n" for name in loaded).encode())
    for name, data in loaded.items():
        yield cpio.file(f"lib/{name}.ko", data)


def make_initrd(
    path: Path, kernel: Kernel, programs: Path = PROGRAMS, file_system: str = "ext2"
) -> Path:
    """Write the archive that the kernel starts from. Returns its path.

    file_system: the type with which the guest mounts its disk.
    """
    init = (programs / "init").read_bytes()
    inside = archive_entries(load_modules(kernel.modules), init, file_system)
    path.write_bytes(cpio.archive(inside))
    return path


@dataclass(frozen=True)
class LinuxConfig(Config):
    """A machine that boots Linux.

    kernel: its image. initrd: the archive with which it starts.
    """

    args: str = ARGS
    options: tuple[str, ...] = ("-no-reboot",)
    initrd: Path = field(default_factory=Path)

    def command(self, guest: None = None) -> list[str]:
        """Return the command line that starts it."""
        line = super().command(guest)
        line[line.index("-bios") + 1] = "default"
        return [*line, "-initrd", str(self.initrd)]


class LinuxMachine(Machine):
    """A running Linux guest, with guest/init.c at its console."""

    def wait_prompt(self) -> None:
        """Wait until a command can be typed."""
        self.expect(PROMPT)

    def check(self, command: str, limit_s: float | None = None) -> str:
        """Run a command that must succeed. Returns its output, with its echo."""
        start = self.seen
        self.send(f"{command}\n")
        ended = self.expect(r"^status (\d+)\n", limit_s)
        if ended[1] != "0":
            raise self.build_error(f"{command!r} to succeed; its status was {ended[1]}")
        text = self.console[start : ended.start()]
        self.wait_prompt()
        return text
