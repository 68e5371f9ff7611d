"""A machine whose console's text is in its memory shows what it would show on the serial line."""

import subprocess
from pathlib import Path

import pytest

from sluice.host.limits import HANG_S
from sluice.system import image
from sluice.system.guest import PAGE
from sluice.system.image import Content
from sluice.system.qemu import Config, Disk, start

SHORT = "seq 1 3\n"
LONG = "seq 1 300000\n"  # 2.3 MB with the \r: more than the memory takes


def shown(folder: Path, commands: str, in_memory: bool) -> tuple[bytes, bytes]:
    """Return what the memory and the serial line have of the console of a machine that runs the
    commands."""
    root = image.make_image(folder / "root.img", Content(rc=commands, size="16M"))
    config = Config((Disk(root),), args="drive=fixed", lab=True, charged=True)
    with config.guest(console=in_memory) as guest:
        qemu = start(config, guest, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
        line, _ = qemu.communicate(timeout=HANG_S)
        assert qemu.returncode == 0
        guest.verify()
        return guest.console_text(), line


@pytest.mark.parametrize("commands", [SHORT, LONG])
def test_memory_takes_the_first_bytes_and_the_line_the_others(
    tmp_path: Path, commands: str
) -> None:
    """The commands count to a number. The memory for the console has one page."""
    last = int(commands.split()[-1])
    whole = b"".join(b"%d\r\n" % n for n in range(1, last + 1))
    memory, line = shown(tmp_path, commands, in_memory=True)
    assert memory + line == whole
    assert len(memory) == min(len(whole), PAGE)


def test_without_such_memory_all_is_on_the_line(tmp_path: Path) -> None:
    assert shown(tmp_path, SHORT, in_memory=False) == (b"", b"1\r\n2\r\n3\r\n")
