"""Changes by editors, Windows and macOS to an honest submission cost no points; a message names
what the student can see or remove.

The lab elevator wants one file (FILE). `pack` makes a submission of files and is tried three times:
as a folder, a zip and a tar.
"""

import io
import subprocess
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from grade.definition.lab import find_lab
from grade.trust import sourcefile, submission
from grade.trust.archive import MOST_BYTES
from grade.trust.submission import Refused
from grade.trust.untrusted_text import make_printable, name_character, write_text

LAB = find_lab("elevator")
FILE = LAB.files[0]
TEXT = b"int x;\n"
LARGE = b"x" * (MOST_BYTES + 1)

Pack = Callable[[dict[str, bytes]], Path]


def pack_files(kind: str, path: Path, files: dict[str, bytes]) -> Path:
    """Return a folder or an archive of these files."""
    if kind == "folder":
        for name, data in files.items():
            (path / name).parent.mkdir(parents=True, exist_ok=True)
            (path / name).write_bytes(data)
    elif kind == "zip":
        with zipfile.ZipFile(path, "w") as archive:
            for name, data in files.items():
                archive.writestr(name, data)
    else:
        with tarfile.open(path, "w:gz") as archive:
            for name, data in files.items():
                item = tarfile.TarInfo(name)
                item.size = len(data)
                archive.addfile(item, io.BytesIO(data))
    return path


@pytest.fixture(params=["folder", "zip", "tar"])
def pack(request: pytest.FixtureRequest, tmp_path: Path) -> Pack:
    """Return a function that packs files as a folder or an archive."""
    return lambda files: pack_files(request.param, tmp_path / "handed", files)


def take(path: Path) -> dict[str, str]:
    """Return the lab's files in a submission, or raise Refused."""
    return submission.take_files(path, LAB.files, lambda _: set())


BACKSLASHES = FILE.replace("/", "\\")


@pytest.mark.parametrize("name", [BACKSLASHES, f"mine\\{BACKSLASHES}", f"mine/{BACKSLASHES}"])
def test_backslashes_between_folders_are_slashes(pack: Pack, name: str) -> None:
    assert take(pack({name: TEXT})) == {FILE: TEXT.decode()}


def test_a_folder_whose_name_ends_in_a_backslash_is_one(tmp_path: Path) -> None:
    """Some programs for Windows write folders into a zip so."""
    path = pack_files(
        "zip", tmp_path / "z", {"policies\\": b"", "policies\\sched\\": b"", FILE: TEXT}
    )
    assert take(path) == {FILE: TEXT.decode()}


def test_a_backslash_leads_out_of_no_folder(pack: Pack) -> None:
    with pytest.raises(Refused, match="a path that leaves its folder"):
        take(pack({"..\\policies\\sched\\clook.c": TEXT}))


@pytest.mark.parametrize(
    "name",
    [
        *("clook.c~", "#clook.c#", "clook.c.bak", "clook.c.orig", "clook.o", "Thumbs.db"),
        *("desktop.ini", "clook.c.rej", "clook.lnk", ".clook.c.swp"),
        *("clook.c.save", "clook.c.1", "clook - Copy.c", "clook (1).c", "clook 2.c", "~$clook.c"),
        *("a.out", "core", "tags", "clook.exe", "Thumbs.db:encryptable", "clook.c:Zone.Identifier"),
        *("compile_commands.json", "notes.txt", "README.md"),
    ],
)
def test_a_by_product_beside_a_source_is_passed_over(pack: Pack, name: str) -> None:
    """Backups, objects and files of systems are ignored."""
    path = str(Path(FILE).with_name(name))
    assert take(pack({FILE: TEXT, path: b"\0other"})) == {FILE: TEXT.decode()}


@pytest.mark.parametrize("name", ["mine.old", "clook.d", "lab~"])
def test_a_folder_is_no_by_product(pack: Pack, name: str) -> None:
    """A submission in a folder whose name looks like a by-product."""
    assert take(pack({f"{name}/{FILE}": TEXT})) == {FILE: TEXT.decode()}


def test_another_source_is_no_by_product(pack: Pack) -> None:
    """A policy that the lab does not ask for may be a mistake, so it is refused."""
    with pytest.raises(Refused, match="not one of the lab's"):
        take(pack({FILE: TEXT, "policies/sched/mine.c": TEXT}))


def test_names_of_files_that_are_not_read_may_differ_in_case_only(pack: Pack) -> None:
    others = {"policies/sched/tags": b"", "policies/sched/TAGS": b"", "readme": b"", "README": b""}
    assert take(pack({FILE: TEXT, **others})) == {FILE: TEXT.decode()}


@pytest.mark.parametrize(
    ("name", "hides"),
    [
        (f"{FILE}.txt", True),
        ("clook.c.txt", True),
        ("CLook.c", False),
        ("mine/clook (1).c", False),
        ("clook-2.C", False),
    ],
)
def test_a_file_whose_name_was_changed_is_named(pack: Pack, name: str, hides: bool) -> None:
    """Windows, a browser or a learning platform has changed the name. hides: Windows hides the
    ending .txt."""
    with pytest.raises(Refused) as refused:
        take(pack({name: TEXT, "clooks.c": TEXT, "elevator.c": TEXT}))
    assert f'There is "{name}": if it is this file, name it clook.c' in str(refused.value)
    assert ("hides the ending .txt" in str(refused.value)) == hides


def test_a_missing_file_of_several_is_named_with_what_may_be_it(pack: Pack) -> None:
    """own.c is missing; own.c.txt may be it."""
    files = (FILE, "policies/sched/own.c")
    path = pack({FILE: TEXT, "policies/sched/own.c.txt": TEXT})
    why = r'own\.c: missing: hand it in, too\. There is "policies/sched/own\.c\.txt": if it'
    with pytest.raises(Refused, match=why):
        submission.take_files(path, files, lambda _: set())


def test_a_damaged_and_an_empty_archive_say_what_to_do(tmp_path: Path) -> None:
    """A zip without its end, and a file of 0 bytes."""
    whole = pack_files("zip", tmp_path / "a.zip", {FILE: TEXT}).read_bytes()
    for data, why in ((whole[:-20], "damaged or cut off.*anew"), (b"", "an empty file: was it")):
        (tmp_path / "a.zip").write_bytes(data)
        with pytest.raises(Refused, match=f"^a.zip: .*{why}"):
            take(tmp_path / "a.zip")


def test_a_missing_file_is_no_file_of_another_name(pack: Pack) -> None:
    """own.c is missing. Neither owner.md nor owner.c.txt is taken for it."""
    files = (FILE, "policies/sched/own.c")
    path = pack({FILE: TEXT, "policies/sched/owner.md": TEXT, "owner.c.txt": TEXT})
    with pytest.raises(Refused, match=r"own\.c: missing: hand it in, too$"):
        submission.take_files(path, files, lambda _: set())


@pytest.mark.parametrize("name", ["report.pdf", "mine/report.pdf", "pictures/photo.jpg"])
def test_a_large_file_beside_the_sources_is_not_read(pack: Pack, name: str) -> None:
    assert take(pack({FILE: TEXT, name: LARGE})) == {FILE: TEXT.decode()}


@pytest.mark.parametrize("name", [FILE, "policies/sched/large.c", "mine/clook.c"])
def test_a_large_source_is_refused(pack: Pack, name: str) -> None:
    with pytest.raises(Refused, match=f"more than {MOST_BYTES}"):
        take(pack({name: LARGE}))


# ---- text ----


@pytest.mark.parametrize("data", [b"", b"\n \n", b"\xef\xbb\xbf"])
def test_an_empty_source_is_one_message(pack: Pack, data: bytes) -> None:
    """Nothing, blank lines, or a byte order mark alone."""
    with pytest.raises(Refused, match=f"{FILE}: empty: hand in the file"):
        take(pack({FILE: data}))


def test_a_byte_order_mark_is_taken_as_compilers_take_it(pack: Pack) -> None:
    assert take(pack({FILE: b"\xef\xbb\xbf" + TEXT})) == {FILE: TEXT.decode()}


@pytest.mark.parametrize("coding", ["utf-16-le", "utf-16-be"])
def test_utf_16_is_named(pack: Pack, coding: str) -> None:
    with pytest.raises(Refused, match="no text in UTF-8, but in UTF-16: save it as UTF-8"):
        take(pack({FILE: f"\ufeff{TEXT.decode()}".encode(coding)}))


def test_a_byte_that_is_not_utf_8_is_named_with_its_line(pack: Pack) -> None:
    with pytest.raises(Refused, match="no text in UTF-8: line 2 has the byte FC: save it"):
        take(pack({FILE: TEXT + b"// f\xfcr\n"}))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "/* \u00a0 */ int y;\nint\u00a0x;\n",
            r"line 2: the character \(U\+00A0, NO-BREAK SP",
        ),
        ("int x;\u200b\n", r"line 1: the character \(U\+200B, ZERO WIDTH SPACE\)"),
        ("int x;\n\ufeffint y;\n", r"line 2: the character \(U\+FEFF, BYTE ORDER MARK\)"),
        ('char *s = "\u201c";\nint x = \u201c;\n', r"line 2: the character \u201c \(U\+201C, LEFT"),
        ("int x;\n\f\n", r"line 2: the control character \(U\+000C, FORM FEED\): remove it"),
        ("int x;\rint y;\n", r"line 1: the control character \(U\+000D, CARRIAGE RETURN\)"),
    ],
)
def test_a_character_that_may_not_be_there_is_named(text: str, said: str) -> None:
    with pytest.raises(Refused, match=said):
        sourcefile.check_text(FILE, text)


def test_line_ends_of_old_macs_are_named_with_what_to_do() -> None:
    with pytest.raises(Refused, match=r"U\+000D, .*save it with line ends of Unix"):
        sourcefile.check_texts({FILE: "int x;\rint y;\r"})


def test_characters_are_named_by_number() -> None:
    """A character that cannot be seen is named by its number only."""
    assert name_character("é") == "é (U+00E9, LATIN SMALL LETTER E WITH ACUTE)"
    assert name_character("\x01") == "(U+0001, a control character)"
    assert make_printable("a\u200bb\udcff") == "a<U+200B>b\\xFF"


def test_any_text_can_be_written(tmp_path: Path) -> None:
    """The byte FF, which is no UTF-8, is written as an escape."""
    write_text(tmp_path / "f", "ä \udcff\n")
    assert (tmp_path / "f").read_bytes() == "ä \\udcff\n".encode()


def test_a_file_is_utf_8_in_every_locale(tmp_path: Path) -> None:
    """Python is started in the locale C."""
    words = (
        "from grade.trust.untrusted_text import *; write_text(Path({!r}), chr(0xe4) + chr(0x2192))"
    )
    line = [".venv/bin/python", "-X", "utf8=0", "-c", words.format(str(tmp_path / "f"))]
    subprocess.run(line, env={"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0"}, check=True)
    assert (tmp_path / "f").read_bytes() == "ä→".encode()
