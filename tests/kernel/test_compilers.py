"""That the tree builds with other compilers than Debian 12 has (`make fresh NEWEST=1` tries the
newest ones), and which warnings are errors, for whom."""

import re
import shlex
import subprocess
from pathlib import Path

import pytest

from grade.definition import lab
from grade.engine import tree
from grade.trust import compiler, sandbox
from sluice.host.paths import BUILT, ROOT

SOURCES = [
    path
    for folder in (
        "kernel",
        "policies",
        "drives",
        "user",
        "mkfs",
        "sluice",
        "grade",
        "tests",
        "tools",
    )
    for path in sorted((ROOT / folder).rglob("*.[ch]"))
]
# A string, with its escapes; an array of characters that a string initialises, with its size; and
# one character of a string.
STRING = r'"((?:[^"\\\n]|\\(?:x[0-9a-fA-F]+|[0-7]{1,3}|.))*)"'
ARRAY = re.compile(r"\bchar\s+\w+\[(\d+)\]\s*=\s*" + STRING)
CHARACTER = re.compile(r"\\(?:x[0-9a-fA-F]+|[0-7]{1,3}|.)|.")
# strchr as a macro, as the GNU C library of 2026 has it, from C's standard of 2023 on.
GENERIC = "#define strchr(s, c) _Generic((s), char *: 0, default: 0)\n"


@pytest.mark.native
def test_no_string_lacks_room_for_its_zero() -> None:
    """An array that its string fills completely has no byte for the 0 that ends a string. gcc 15
    warns of that, because most such arrays are mistakes."""
    short = [
        f"{path}: {found[0]}"
        for path in SOURCES
        for found in ARRAY.finditer(path.read_text())
        if len(CHARACTER.findall(found[2])) >= int(found[1])
    ]
    assert not short


def kernel_flags() -> list[str]:
    """Return the words of the command that compiles a file of the kernel."""
    return shlex.split((BUILT / "kernel.command").read_text())


def syntax(*options: object, source: str) -> subprocess.CompletedProcess[str]:
    """Return what the kernel's compiler says of a source of the tree."""
    line = [*kernel_flags(), "-Werror", "-fsyntax-only", *map(str, options), source]
    return subprocess.run(line, cwd=ROOT, capture_output=True, text=True)


@pytest.mark.native
@pytest.mark.parametrize("source", ["kernel/base/string.c", "kernel/cache/bio.c", "user/bin/seq.c"])
def test_a_compiler_without_stdint_will_do(tmp_path: Path, source: str) -> None:
    """gcc 15 of Debian sid for riscv64-unknown-elf has no header stdint.h. Here ours gets a folder
    of its own headers, without that one."""
    for folder in ("include", "include-fixed"):
        asked = [kernel_flags()[0], f"-print-file-name={folder}"]
        own = subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip()
        for path in Path(own).glob("*.h"):
            if not path.name.startswith("stdint"):
                (tmp_path / path.name).symlink_to(path)
    options = ["-nostdinc", "-isystem", tmp_path, "-D_LIBC_LIMITS_H_"]
    done = syntax(*options, source=source)
    assert (done.returncode, done.stderr) == (0, "")
    include = syntax(*options, "-include", "stdint.h", source=source)
    # this compiler does not find the header
    assert "stdint.h: No such file" in include.stderr


@pytest.mark.native
def test_a_library_may_make_strchr_a_macro(tmp_path: Path) -> None:
    """GENERIC is a header in which strchr is a macro, as C23 allows."""
    (tmp_path / "generic.h").write_text(GENERIC)
    options = ["-include", tmp_path / "generic.h"]
    done = syntax(*options, source="kernel/policy/registry.c")
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(("given", "is_error"), [([], False), (["WERROR=1"], True)])
def test_a_warning_is_an_error_only_if_it_is_asked_for(given: list[str], is_error: bool) -> None:
    """A source of the kernel, one of a program and one of a host's program are compiled."""
    goals = ["build/kernel/base/string.o", "build/parts/bin/seq.o", "build/mkfs/mkfs.o"]
    line = ["make", "-n", "-B", "V=1", "SETUP=no", "LOCK=held", *given, *goals]
    said = subprocess.run(line, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    compiled = [text for text in said.splitlines() if " -c -o " in text]
    assert len(compiled) >= len(goals)
    assert {"-Werror" in shlex.split(text) for text in compiled} == {is_error}


WITH_WARNING = {
    "unused-variable": "int f(void) { int x; return 0; }\n",
    "return-type": "int f(void) { }\n",
    "parentheses": "int f(int x) { if (x = 1) return 1; return 0; }\n",
    "sign-compare": "int f(int x, unsigned y) { return x < y; }\n",
}
# An unused parameter and a statement without effect: of these no lab complains.
PASSED_OVER = "int f(int x, int y) { return x; }\nint g(int x) { x; return 0; }\n"


@pytest.mark.parametrize("warning", [*WITH_WARNING, ""])
def test_a_lab_says_which_warnings_count_in_a_student_s_file(warning: str) -> None:
    counted = lab.find_lab("elevator").warnings
    file = "policies/sched/clook.c"
    with sandbox.sandbox_folder() as apart:
        tree.lay_out_sources(apart.path, {file: WITH_WARNING.get(warning, PASSED_OVER)})
        # without a lab's list no warning is an error
        assert compiler.compile_file(file, apart)
        if warning:
            with pytest.raises(compiler.BuildFailed, match=f"-Werror={warning}"):
                compiler.compile_file(file, apart, counted)
        else:
            assert compiler.compile_file(file, apart, counted)


@pytest.mark.parametrize("one", lab.load_labs(), ids=lambda one: one.name)
def test_every_lab_whose_answer_is_code_says_which_warnings_count(one: lab.Lab) -> None:
    code = any(file.endswith(".c") for file in one.files)
    assert bool(one.warnings) == code
