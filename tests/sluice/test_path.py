"""Reading paths: each answers its question within its limit of lines, and names what exists.

A path has steps; a step is a file, with the parts of it (functions, structures) to read.
book/paths.toml has the paths. SOURCE is a file of C for the tests.
"""

import re

import pytest
from typed import enter

from sluice.host import reading
from sluice.host.paths import ROOT
from sluice.host.reading import (
    BadPath,
    ReadingPath,
    Step,
    count_lines,
    describe_path,
    find_lines,
    find_part,
    read_paths,
)

# Each question's path, and the kind of policy that it is about
QUESTIONS = {"write": "write", "when": "update", "order": "sched", "victim": "replace"}
QUESTIONS |= {"ahead": "prefetch", "where": "place"}
SOURCE = """/* The head
 * of the file. */
enum kind { ONE, TWO };

/* Return
 * one. */
static int one(int a,
               int b)
{
    return a;
}

int two(void);
struct pair {
    int a;
};

int two(void)
{
    return 2;
}
""".splitlines()


@pytest.mark.parametrize("path", read_paths().values(), ids=lambda path: path.name)
def test_a_path_is_short_enough_to_be_read(path: ReadingPath) -> None:
    """More than 100 lines, and at most the path's limit."""
    assert 100 < count_lines(path) <= path.most


def test_only_the_path_of_a_read_has_a_limit_of_its_own() -> None:
    """All others have at most 2000 lines."""
    own = {path.name for path in read_paths().values() if path.most != reading.MOST}
    assert own == {"miss"}
    assert reading.MOST == 2000


@pytest.mark.parametrize(("name", "kind"), QUESTIONS.items())
def test_a_question_has_a_path_that_begins_with_the_kind_and_reads_several_policies(
    name: str, kind: str
) -> None:
    """It begins with the kind's header, and has two policies and three files of the kernel at
    least."""
    files = [step.file for step in read_paths()[name].steps]
    assert files[0].startswith("kernel/policy/")
    assert sum(file.startswith(f"policies/{kind}/") for file in files) >= 2
    assert sum(file.startswith("kernel/") for file in files) >= 3


@pytest.mark.parametrize(
    ("part", "lines"),
    [("one", (5, 11)), ("two", (18, 21)), ("struct pair", (14, 16)), ("enum kind", (1, 3))],
)
def test_a_part_is_found_with_its_comment(part: str, lines: tuple[int, int]) -> None:
    """lines: the first and the last line of the part, from 1 on."""
    assert find_part(SOURCE, part) == lines


def test_a_declaration_is_found_where_nothing_is_defined() -> None:
    """The definition of `two` is cut off here."""
    assert find_part(SOURCE[:13], "two") == (13, 13)
    assert find_part(SOURCE, "three") is None


def test_each_function_of_the_path_of_a_read_is_called_by_one_before_it() -> None:
    """So the path follows the calls."""
    read = ""
    for step in read_paths()["miss"].steps:
        for part in step.parts:
            # A policy's function is called by its hook, a system call's from the table.
            called = part.split("_", 1)[1] if step.file.startswith("policies/") else part
            called = re.sub(r"^sys_\w+", "calls", called)
            assert not read or re.search(rf"\b{called}\b", read), f"nothing calls {part}"
            [(first, last)] = find_lines(Step(step.file, (part,), ""), heads=False)
            lines = (ROOT / step.file).read_text().splitlines()[first - 1 : last]
            read += re.sub(r"/\*.*?\*/", "", "\n".join(lines), flags=re.S)


def test_a_line_counts_once_in_a_path(tmp_path, monkeypatch) -> None:
    """The function `one` is in two steps. heads: the file's first comment counts, too."""
    monkeypatch.setattr(reading, "ROOT", tmp_path)
    (tmp_path / "a.c").write_text("\n".join(SOURCE) + "\n")
    steps = (Step("a.c", ("one",), ""), Step("a.c", ("two",), ""), Step("a.c", ("one",), ""))
    assert count_lines(ReadingPath("p", "Why?", steps, 20, heads=True)) == 2 + 7 + 4
    assert count_lines(ReadingPath("p", "Why?", steps, 20, heads=False)) == 7 + 4
    assert find_lines(Step("a.c", (), "")) == [(1, 21)]


def test_what_does_not_exist_is_an_error_that_says_where_it_is_now() -> None:
    """A file, or a function in it, may have moved."""
    with pytest.raises(BadPath, match=r"the tree has no kernel/cache/no\.c"):
        find_lines(Step("kernel/cache/no.c", (), ""))
    with pytest.raises(BadPath, match=r"no kernel/cache/disk\.c; it has kernel/disk/disk\.c"):
        find_lines(Step("kernel/cache/disk.c", (), ""))
    with pytest.raises(BadPath, match=r"queue\.h has no queue_init_not$"):
        find_lines(Step("kernel/disk/queue.h", ("queue_init_not",), ""))
    with pytest.raises(BadPath, match=r"bio\.h has no queue_add; kernel/disk/queue\.\w has it"):
        find_lines(Step("kernel/cache/bio.h", ("queue_add",), ""))


@pytest.mark.parametrize("width", [40, 80])
def test_a_path_fits_the_terminal(width: int) -> None:
    """width: characters in a line."""
    text = describe_path(read_paths()["when"], width)
    steps = [line for line in text.splitlines() if line.startswith("    ")]
    assert steps
    assert all(len(line) <= width for line in steps)


def test_the_command_prints_a_path_and_names_the_nearest(capsys) -> None:
    """A path is asked for by its name; without a name all are listed; "victm" is misspelt."""
    assert enter("path", "order") == 0
    assert "policies/sched/clook.c" in capsys.readouterr().out
    assert enter("path") == 0
    listed = capsys.readouterr().out
    assert all(f"{name} " in listed for name in QUESTIONS)
    assert enter("path", "victm") == 2
    assert 'victm: there is no such question; did you mean "victim"?' in capsys.readouterr().err


def test_every_path_reads_files_of_the_tree_only() -> None:
    for path in read_paths().values():
        assert all((ROOT / step.file).is_file() for step in path.steps)
