"""The editor, as a user sees it: a model of a terminal shows what the console prints.

A test types keys, waits for a text at the bottom of the screen, and looks at the screen's rows. Row
-1 is for messages; row -2 has the file's name and the cursor's line and column.
"""

import re
from collections.abc import Iterator

import pytest
from conftest import Boot, MakeImage

from sluice.system import image
from sluice.system.qemu import Disk, Machine

ROWS, COLUMNS = 24, 80
UP, DOWN, RIGHT, LEFT = (f"\x1b[{c}" for c in "ABCD")
HOME, END, DELETE, PAGE_DOWN = "\x1b[H", "\x1b[F", "\x1b[3~", "\x1b[6~"
SAVE, QUIT, FIND, GO, CUT, PASTE, CANCEL = (chr(ord(c) & 31) for c in "SQFGKYC")

LINES = "".join(f"line {i}\n" for i in range(1, 301))
WIDE = "begin " + "".join(f"{i:04} " for i in range(100)) + "end\n"
BYTES = b"\ttab\x01\xff\xc3\xa9\n\nno newline at the end"
# A control sequence with its numbers and its letter, or one character of text.
PIECES = re.compile(r"\x1b\[([?0-9;]*)([A-Za-z])|\x1b[78]|([^\x1b])", re.S)


class Screen:
    """A terminal of 24 rows of 80 columns, which shows output as a real one does."""

    def __init__(self) -> None:
        self.rows = [[" "] * COLUMNS for _ in range(ROWS)]
        self.row = self.column = 0

    def take(self, output: str) -> None:
        """Carry out an output's control sequences and show its text."""
        for numbers, code, char in PIECES.findall(output):
            if code == "H":
                row, column = [*map(int, numbers.split(";")), 1][:2] if numbers else (1, 1)
                self.row, self.column = min(row, ROWS) - 1, min(column, COLUMNS) - 1
            elif code == "J":
                self.rows = [[" "] * COLUMNS for _ in range(ROWS)]
            elif code == "K":
                self.rows[self.row][self.column :] = [" "] * (COLUMNS - self.column)
            elif char:
                self.rows[self.row][self.column] = char
                self.column += 1

    def text(self, row: int) -> str:
        """Return a row's text, counted from 0; -1 is the row for messages."""
        return "".join(self.rows[row]).rstrip()


class Editor:
    """The editor of a machine, with a file open."""

    def __init__(self, machine: Machine, path: str) -> None:
        self.machine = machine
        self.begin = machine.seen
        machine.send(f"edit {path}\n")
        machine.expect(r"\^S save|a new file")

    def type(self, keys: str, then: str) -> Screen:
        """Press keys, wait until this is shown, and give the screen as it is then.

        The cursor's own sequence ends each picture; so the picture is whole.
        """
        self.machine.send(keys)
        self.machine.expect(f"(?s:{then}.*?)\x1b\\[\\d+;\\d+H(?!.)(?!\n)")
        screen = Screen()
        screen.take(self.machine.console[self.begin : self.machine.seen])
        return screen

    def quit(self, keys: str = QUIT) -> None:
        """Leave, and wait for the shell."""
        self.machine.send(keys)
        self.machine.expect(r"\x1b\[\?1049lsluice:\S*\$ ")


@pytest.fixture
def machine(boot: Boot, make_image) -> Iterator[Machine]:
    """Return a machine at its prompt, with the files /lines, /wide and /bytes."""
    files = {"/lines": LINES.encode(), "/wide": WIDE.encode(), "/bytes": BYTES}
    return boot(disks=(Disk(make_image(files=files)),))


def test_the_editor(machine: Machine) -> None:
    """The parts are the functions below. All of them use one machine, because a boot takes longer
    than a part. Each part leaves the editor and looks at the file that was saved."""
    for part in [new_file, long_file, wide_line, other_bytes, leaving, refusals]:
        part(machine)
    path = machine.config.disks[0].image
    machine.power_off()
    assert image.read_file(path, "/bytes") == BYTES[:1] + b"x" + BYTES[1:]
    assert image.read_file(path, "/wide").decode() == WIDE.replace("end", "END")


def new_file(machine: Machine) -> None:
    """Type two lines into a new file, insert between them, and save."""
    editor = Editor(machine, "/new")
    screen = editor.type("one\rthree\x1b[A\x1b[Ftwo", "column 7")
    assert [screen.text(row) for row in range(3)] == ["onetwo", "three", "~"]
    assert screen.text(-2).startswith(" /new  (changed)")
    editor.type(LEFT * 3 + "\r" + END + "s\x7f!" + HOME + "x" + DELETE, "column 2")
    editor.type(SAVE, "saved: 3 lines, 15 bytes")
    editor.quit()
    assert machine.check("cat /new") == "one\nxwo!\nthree\n"


def long_file(machine: Machine) -> None:
    """Move through 300 lines by keys, by number and by searching; then cut and paste lines. A typed
    text comes with the words that must then be at the bottom of the screen. The file's last line,
    line 301, is empty."""
    editor = Editor(machine, "/lines")
    screen = editor.type(DOWN * (ROWS - 2), "line 23 of 301")
    assert screen.text(ROWS - 3) == "line 23"
    screen = editor.type(GO + "150\r", "line 150 of 301")
    assert "line 150" in [screen.text(row) for row in range(ROWS - 2)]
    screen = editor.type(PAGE_DOWN + UP, "line 170 of 301")
    assert "line 170" in [screen.text(row) for row in range(ROWS - 2)]
    assert "is not a line from 1 to 301" in editor.type(GO + "302\r", "302 is not").text(-1)
    editor.type(FIND + "line 29\r", "line 290 of 301")
    editor.type(FIND + "\r", "line 291 of 301")
    editor.type(FIND + "line 2\r" + FIND + "\r", "line 293 of 301")
    assert "nothing is not in the text" in editor.type(FIND + "nothing\r", "is not in").text(-1)
    editor.type(GO + "2\r" + CUT + CUT + DOWN + PASTE + PASTE, "line 5 of 301")
    editor.type(SAVE, "saved: 300 lines")
    editor.quit()
    expected = ["line 1", "line 4", "line 3", "line 3", "line 5"]
    assert machine.check("head -n 5 /lines").splitlines() == expected
    assert machine.check("tail -n 1 /lines; wc -l < /lines").split() == ["line", "300", "300"]


def wide_line(machine: Machine) -> None:
    """Edit a line that is wider than the screen, which then shows a part of it."""
    editor = Editor(machine, "/wide")
    screen = editor.type(RIGHT, "column 2")
    assert screen.text(0) == WIDE[:79] + ">"
    screen = editor.type(END, "column 510")
    assert screen.text(0).endswith("0099 end")
    screen = editor.type(LEFT * 3 + DELETE * 3 + "END", r"\(changed\).*column 510")
    assert screen.text(0).endswith("0099 END")
    screen = editor.type(HOME, "column 1 ")
    assert screen.text(0) == WIDE[:79] + ">"
    editor.type(SAVE, "saved: 1 lines")
    editor.quit()


def other_bytes(machine: Machine) -> None:
    """Edit a file with a tab, control characters and letters of two bytes."""
    editor = Editor(machine, "/bytes")
    screen = editor.type(RIGHT + "x", "column 10")
    assert screen.text(0).startswith(" " * 8 + "xtab^A")
    editor.type(END + "\x7f" + "é", "column 17")
    editor.type(SAVE, "saved: 3 lines")
    editor.quit()


def leaving(machine: Machine) -> None:
    """Leave with changes: cancel the question, answer no, and answer yes."""
    editor = Editor(machine, "/new")
    editor.type("lost", "column 5")
    assert "Save the changes?" in editor.type(QUIT, "Save the changes").text(-1)
    editor.type(CANCEL + "more", "column 9")
    editor.type(QUIT, "Save the changes")
    editor.quit("n")
    assert machine.check("head -n 1 /new") == "one\n"
    editor = Editor(machine, "/new")
    editor.type("kept", "column 5")
    editor.type(QUIT, "Save the changes")
    editor.quit("y")
    assert machine.check("head -n 1 /new") == "keptone\n"


def refusals(machine: Machine) -> None:
    """Open what the editor refuses: a directory, too large a file, and not at the console."""
    machine.check("dd if=/dev/zero of=/large bs=1k count=4097 2> /dev/null")
    said = {
        "edit /dir": "edit: /bin: not a regular file",
        "edit /large": "edit: /large: the text has reached 4 MiB, the most that edit holds",
        "echo | edit /new": "edit: edit works at the console only; a script can use echo and >",
    }
    for line, why in said.items():
        output = machine.run(line.replace("/dir", "/bin"))
        assert (output.status, output.text) == (1, why + "\n")
    editor = Editor(machine, "/nowhere/no")
    assert "NOT saved: /nowhere/no: no such file" in editor.type("x" + SAVE, "NOT saved").text(-1)
    editor.type(QUIT, "Save the changes")
    editor.quit("n")


def test_a_save_without_room_loses_nothing(boot: Boot, make_image: MakeImage) -> None:
    """The editor writes the text to a new file and renames it. The disk is full, and the names that
    the editor tries first, t.new and t.new0, are taken. The old text and both files stay."""
    machine = boot(disks=(Disk(make_image()), Disk(make_image(programs=False, size="2M"))))
    machine.check("mkdir /m; mount disk1 /m; seq 20000 | head -c 81920 > /m/t")
    machine.check("echo stale > /m/t.new; echo stale > /m/t.new0")
    before = machine.check("cksum /m/t; ls /m | wc -l")
    machine.run("dd if=/dev/zero of=/m/fill bs=512")
    editor = Editor(machine, "/m/t")
    assert "no space" in editor.type("x" + SAVE, "NOT saved").text(-1)
    editor.type(QUIT, "Save the changes")
    editor.quit("n")
    machine.check("rm /m/fill")
    assert machine.check("cksum /m/t; ls /m | wc -l") == before
