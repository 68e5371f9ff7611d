"""Attempts to get out of C: assembly, sections, symbols and files by way of the compiler.

Each is a submission that is refused, and named, before any machine is booted. The checks stand
behind one another: the text, the text after its macros are expanded, the object file, the linked
kernel. So each is also tried alone, with those before it switched off. Submissions are compiled in
a sandbox, by Linux's namespaces where there are any and otherwise by another user's rights.
"""

import os
import resource
import socket
import struct
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from random import Random

import pytest

from grade.code import elf
from grade.code.objects import PREFIX
from grade.definition.lab import Lab, find_lab
from grade.engine import evidence, grading, tree
from grade.engine.assertions import Wrong
from grade.engine.formats import people
from grade.trust import compiler, linked_kernel, objectfile, sandbox, sourcefile
from grade.trust.compiler import BuildFailed
from grade.trust.submission import Refused
from sluice.host.limits import HANG_S
from sluice.host.paths import BUILT, KERNEL, ROOT

POLICY, CACHE = find_lab("elevator"), find_lab("delayed-write")
# Assembler that would run in machine mode; that would include a file of the host (PASSWD); and that
# would give the grader another place of the trace (AIM)
BOOT = r".section .boot,\"a\"\ncsrw pmpaddr0, t0\n"
# Text that leaves the quotes of section("...") and comes back to them.
AS = r'"{0},\"aw\"\n{1}.section {0},\"aw\""'
# The same in each section that a header names: one section has no room for rows and files' names.
AS_ASKED = r's ",\"aw\"\n{0}.section " s ",\"aw\""'
PASSWD = r".globl host\nhost:.incbin \"/etc/passwd\"\n"
AIM = r".globl \"A trace_at\"\n.set \"A trace_at\", 0x80300000\n"
# COUNTER and GAUGE name a second object by their first argument, which fits to no other text.
LONG_ROW = (
    "STAT_ROW_(a; static struct { const char *name; const char *unit; const char *about;"
    ' u64 pad[99]; } b) = {"x", "x", "x"};\n'
    "static u64 f(void) { return a.value; }\n"
    'GAUGE(c, "x", "x", "x", f);\n'
)


def add_text(lab: Lab, before: str = "", after: str = "") -> dict[str, str]:
    """Return the lab's solution with text put before and after that of its first file."""
    files = tree.solution_files(lab)
    file = next(iter(files))
    return files | {file: before + files[file] + after}


def macro(inside: str) -> str:
    """Return a macro that puts this text into an object, beside the policies that headers
    register."""
    return f"#define section(s) section({AS.format('policies', inside)})\n"


@dataclass(frozen=True)
class Attempt:
    """A submission's text and what the report says of it.

    compiles: what its object is refused for, or, where it has none, what the compiler says, if
    nobody had looked at the text; empty where the text alone is the matter.
    """

    name: str
    named: str
    before: str = ""
    after: str = ""
    compiles: str = ""
    lab: Lab = POLICY

    def files(self) -> dict[str, str]:
        return add_text(self.lab, self.before, self.after)


ATTEMPTS = [
    Attempt("machine mode by section", "#define section: kernel/policy/sched.h", macro(BOOT),
            compiles="'.boot'"),
    Attempt("a file of the host", "#define section: kernel/policy/sched.h", macro(PASSWD),
            compiles="/etc/passwd"),
    Attempt("where the grader looks", "#define section: kernel/policy/sched.h", macro(AIM),
            compiles="'A trace_at'"),
    Attempt("by the counters' macro", "#define section: kernel/",
            f"#define section(s) section({AS_ASKED.format(BOOT)})\n",
            compiles="'.boot'", lab=CACHE),
    Attempt("by another attribute", "#define aligned: kernel/",
            f"#define aligned(n) aligned(n), section({AS.format('stats', BOOT)})\n", lab=CACHE),
    Attempt("by used", "#define used: kernel/policy/sched.h", "#define used used, constructor\n"),
    Attempt("by the attribute's own name", "#define __attribute__: the word is the language's",
            "#define __attribute__(a) __attribute__((constructor))\n"),
    Attempt("by a keyword", "#define register: the word is the language's",
            '#define register [[gnu::section(".boot")]]\n'),
    Attempt("by a digraph", "#define section: kernel/policy/sched.h",
            "%:" + macro(BOOT)[1:], compiles="'.boot'"),
    Attempt("by a definition in two lines", "#define section: kernel/policy/sched.h",
            macro(BOOT).replace("fine sec", "fine \\\nsec"), compiles="'.boot'"),
    Attempt("POLICY made anew", "#undef POLICY: kernel/policy/sched.h",
            after="#undef POLICY\n#define POLICY(p) int x\n"),
    Attempt("a header left out by its guard", "#define SLUICE_LIB_GHOST_H: policies/lib/ghost.h",
            '#define SLUICE_LIB_GHOST_H\n#include "policies/lib/ghost.h"\n'),
    Attempt("a type of the headers", "#define u64: kernel/policy/sched.h", "#define u64 u32\n"),
    Attempt("the file's name", "#define __FILE__: the word is the language's",
            '#define __FILE__ "/etc/passwd"\n'),
    Attempt("brackets by macros", "line 38: after its macros are expanded it says [",
            after=f"#define O [\nO O gnu::section({AS.format('.data', BOOT)})]] int x = 1;\n",
            compiles="'.boot'"),
    Attempt("brackets by digraphs and macros", "after its macros are expanded it says <:",
            after='#define O <:\nO O gnu::section(".boot")]] int x;\n', compiles="'.boot'"),
    Attempt("a letter by its number", r"\u: not allowed",
            after='int x __attr\\u0069bute__((section(".boot")));\n'),
    Attempt("a word over two lines", "__attribute__: not allowed",
            after='int x __attri\\\nbute__((section(".boot")));\n', compiles="'.boot'"),
    Attempt("a register by its name", "asm: not allowed", after='register long x asm("tp");\n'),
    Attempt("a symbol by another name", "__asm__: not allowed",
            after='int x __asm__("trace_at.a") = 1;\n', compiles="'trace_at.a'"),
    Attempt("a word of the assembler", "$: not allowed", after="int $d = 1;\n", compiles="'$d'"),
    Attempt("a pragma", "#pragma: not allowed", after="#pragma weak queue_at_or_after\n",
            compiles="'queue_at_or_after'"),
    Attempt("a constructor", "__attribute__: not allowed",
            after="static int n;\nstatic __attribute__((constructor)) void f(void) { n++; }\n"
            "int m(void) { return n; }\n", compiles="'.init_array'"),
    Attempt("a function chosen when it is loaded", "__attribute__: not allowed",
            after='void *f(void);\nvoid g(void) __attribute__((ifunc("f")));\n'),
    Attempt("another's symbol, weak", "__attribute__: not allowed",
            after="__attribute__((weak)) int trace_at = 1;\n", compiles="'trace_at' of kind 1"),
    Attempt("scripts for the debugger", "__attribute__: not allowed",
            after='int x __attribute__((section(".debug_gdb_scripts"))) = 1;\n',
            compiles="'.debug_gdb_scripts'"),
    Attempt("a symbol of the linker's", "defines DIRECT_MAP for other files: make it static",
            after="int DIRECT_MAP = 1;\n", compiles="defines DIRECT_MAP"),
    Attempt("the trace's symbol", "defines trace_at for other files: make it static",
            after="int trace_at = 1;\n", compiles="defines trace_at"),
    Attempt("a variable of each thread", "'.tbss'", after="__thread int x;\n", compiles="'.tbss'"),
    Attempt("code on the stack", "move a function that is defined inside another function out",
            after="int f(int n, int (*h)(int (*)(void)));\n"
            "static int f_(int n, int (*h)(int (*)(void)))\n"
            "{\nint g(void) { return n++; }\nreturn h(g);\n}\n"
            "static int (*volatile kept)(int, int (*)(int (*)(void))) = f_;\n"
            "static const struct policy p = {.stop = (void (*)(void))&kept};\nPOLICY(p);\n"),
    Attempt("old code forgotten", "the instruction fence.i",
            after="static void f(void) { __builtin___clear_cache((char *)f, (char *)f + 8); }\n"
            "static const struct policy p = {.stop = f};\nPOLICY(p);\n"),
    Attempt("a giant array", "more than 16777216: use smaller arrays",
            after="static char big[99 << 20];\nchar *a(u64 i) { return &big[i]; }\n",
            compiles="smaller arrays"),
    Attempt("a great alignment", "aligned to 1048576 bytes, more than 64",
            after="_Alignas(1 << 20) static char big[9];\nchar *a(u64 i) { return &big[i]; }\n",
            compiles="aligned"),
    Attempt("a row that covers others", "registers in stats what is no row of 48 bytes",
            after=LONG_ROW, compiles="in stats", lab=CACHE),
    Attempt("a name in other letters", "line 37: the character \xe9 (U+00E9",
            after="int \xe9 = 1;\n", compiles="use letters from a to z"),
    Attempt("a function of the staff's", "uses trace_write, which policy.h does not offer",
            after="void trace_write(int);\nvoid f(void) { trace_write(1); }\n",
            compiles="uses trace_write"),
]  # fmt: skip
each = pytest.mark.parametrize("attempt", ATTEMPTS, ids=lambda attempt: attempt.name)


@each
def test_an_attempt_to_get_out_of_c_scores_nothing_and_is_named(
    attempt: Attempt, tmp_path: Path
) -> None:
    record = grading.grade_submission(attempt.lab, attempt.files, tmp_path, "1", "make grade")
    assert (record.status, record.score) == ("refused", 0), record.message
    assert attempt.named in people.text(record)


DEEP = [attempt for attempt in ATTEMPTS if attempt.compiles]


@pytest.fixture
def nobody_reads_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave the texts unchecked, so that only what is made of the texts is checked."""
    monkeypatch.setattr(sourcefile, "check_texts", lambda _: None)
    monkeypatch.setattr(sourcefile, "check_expanded", lambda *_: None)


@pytest.mark.usefixtures("nobody_reads_texts")
@pytest.mark.parametrize("attempt", DEEP, ids=lambda attempt: attempt.name)
def test_its_object_alone_gives_it_away(
    attempt: Attempt, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the text unchecked, the object file is refused or does not compile."""
    monkeypatch.setattr(compiler, "compile_command", lambda: [*FLAGS, "-w"])
    with pytest.raises((Refused, BuildFailed)) as refused:
        tree.build_kernel(tmp_path, attempt.lab, attempt.files())
    assert attempt.compiles in str(refused.value)


FLAGS = compiler.compile_command()  # before a test changes it


@pytest.mark.usefixtures("nobody_reads_texts")
def test_without_namespaces_too_no_file_of_the_host_comes_into_a_report(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A submission tries to compile the text of the host's /etc/passwd, which has "root:"."""
    monkeypatch.setattr(sandbox, "has_namespaces", lambda: False)
    attempt = next(attempt for attempt in ATTEMPTS if attempt.name == "a file of the host")
    record = grading.grade_submission(POLICY, attempt.files, tmp_path, "1", "make grade")
    assert record.status == "refused" and "defines host" in record.message
    assert "root:" not in people.text(record)


# ---- objects that no compiler of ours would write ----

NAME = "policies/sched/clook.c"
OBJECT = BUILT / "policies/sched/clook.o"


def change_number(data: bytes, at: int, form: str, value: int) -> bytes:
    """Return the data with another number at this place."""
    made = bytearray(data)
    struct.pack_into(form, made, at, value)
    return bytes(made)


def change_section(name: str, field: int, form: str, value: int) -> Callable[[bytes], bytes]:
    """Return a function that changes a field of the header of the section with this name."""

    def change(data: bytes) -> bytes:
        """Return the object with another value in that field."""
        made = elf.parse(data)
        number = [section.name for section in made.sections].index(name)
        table = elf.HEADER.unpack_from(data)[6]
        return change_number(data, table + number * elf.SECTION.size + field, form, value)

    return change


def change_symbol(name: str, field: int, form: str, value: int) -> Callable[[bytes], bytes]:
    """Return a function that changes a field of the symbol with this name."""

    def change(data: bytes) -> bytes:
        made = elf.parse(data)
        number = [symbol.name for symbol in made.symbols].index(name)
        at = made.section(".symtab").offset + number * elf.SYMBOL.size + field
        return change_number(data, at, form, value)

    return change


def rename_part(old: str, new: str) -> Callable[[bytes], bytes]:
    """Return a function that gives a section or a symbol another name of the same length."""
    assert len(old) == len(new)
    return lambda data: data.replace(f"{old}\0".encode(), f"{new}\0".encode())


FLAGS_AT, TYPE_AT, OFFSET_AT, SIZE_AT, ALIGN_AT = 8, 4, 24, 32, 48  # bytes of a section's header
KIND_AT, PLACE_AT, VALUE_AT = 4, 6, 8  # bytes of a symbol's entry
USED = "queue_at_or_after"  # a function of the kernel that the object calls


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda data: b"INPUT(/etc/passwd)\n" + data, "no ELF file of 64 bits"),
        (lambda data: b"!<arch>\n" + data, "no ELF file of 64 bits"),
        (lambda data: data[:50], "no ELF file"),
        (lambda data: data[:-80], "outside the file"),
        (lambda data: change_number(data, 16, "<H", elf.PROGRAM), "a file of kind 2"),
        (lambda data: change_number(data, 48, "<I", 5), "with flags 0x5"),
        (change_section(".rodata", FLAGS_AT, "<Q", 6), "'.rodata' of type 1, flags 0x6"),
        (change_section("policies", FLAGS_AT, "<Q", 7), "'policies' of type 1, flags 0x7"),
        (change_section(".bss", TYPE_AT, "<I", 14), "'.bss' of type 14"),
        (change_section(".text", ALIGN_AT, "<Q", 1 << 40), "more than 64"),
        (change_section(".bss", SIZE_AT, "<Q", 1 << 40), "use smaller arrays"),
        (change_section(".rodata", OFFSET_AT, "<Q", 64), "within one another"),
        (change_section(".rela.text.clook_next", 44, "<I", 3), "clook_next' for section 3"),
        (change_section(".symtab", 56, "<Q", 8), "rows of 8 bytes"),
        (rename_part(".debug_loclists", ".gnu.lto_.inline"[:15]), "'.gnu.lto_.inlin'"),
        (rename_part(".debug_line_str", ".note.gnu.prope"), "'.note.gnu.prope'"),
        (rename_part(".debug_aranges", ".init_array.00"), "'.init_array.00'"),
        (rename_part(".debug_aranges", ".gnu.linkonce."), "'.gnu.linkonce.'"),
        (rename_part(".debug_frame", ".gnu.warning"), "'.gnu.warning'"),
        (rename_part("policies", "__start_"), "'__start_'"),
        (rename_part(USED, "queue at or afte "), "'queue at or afte '"),
        (change_symbol(USED, KIND_AT, "<B", 2 << 4), "binding 2"),
        (change_symbol(USED, KIND_AT, "<B", 10 | 1 << 4), "kind 10"),
        (change_symbol(USED, PLACE_AT, "<H", 0xFFF1), "lies in no section"),
        (change_symbol(USED, PLACE_AT, "<H", 0xFFF2), "lies in no section"),
        (change_symbol("clook_next", VALUE_AT, "<Q", 1 << 63), "outside its section"),
        (change_symbol("clook_next", PLACE_AT, "<H", 0xFFF1), "lies in no section"),
        (change_symbol("clook.c", 0, "<I", 3), "of kind 4"),
    ],
)
def test_an_object_that_was_tampered_with_is_refused(
    change: Callable[[bytes], bytes], why: str
) -> None:
    """Numbers of the ELF format (offsets, kinds, flags) are changed in the object of clook.c.
    change: takes the good object's bytes and returns wrong ones; why: words of the refusal."""
    data = OBJECT.read_bytes()
    objectfile.check_object(NAME, data, POLICY)
    with pytest.raises(Refused) as refused:
        objectfile.check_object(NAME, change(data), POLICY)
    assert why in str(refused.value)
    assert str(refused.value).isprintable()


def test_an_object_with_bytes_at_random_is_refused_or_taken_and_breaks_nothing() -> None:
    """300 objects have one to four bytes changed. Some bytes do not matter, so not all objects are
    refused."""
    data, random = OBJECT.read_bytes(), Random(15)
    refused = 0
    for _ in range(300):
        made = bytearray(data)
        for _ in range(random.randint(1, 4)):
            made[random.randrange(len(made))] = random.randrange(256)
        try:
            objectfile.check_object(NAME, bytes(made), POLICY)
        except Refused as error:
            assert str(error).isprintable()
            refused += 1
    assert 0 < refused < 300


def test_instructions_are_told_by_their_bits() -> None:
    """names: forbidden instructions of RISC-V. `ordinary`: ebreak, fence, add, and two compressed
    ones."""
    names = {
        0x30200073: "mret", 0x10500073: "wfi", 0x12000073: "sfence.vma", 0x0000100F: "fence.i",
        0xC0102573: "rdtime", 0x18051073: "csrrw", 0x00000073: "ecall", 0x00000000: ".half 0",
        0x0000007F: ".word 0x0000007f", 0x02A58053: ".word 0x02a58053",
    }  # fmt: skip
    assert {word: objectfile.forbidden_instruction(word) for word in names} == names
    ordinary = [0x00100073, 0x0FF0000F, 0x00A58533, 0x8082, 0x9002]
    assert not any(map(objectfile.forbidden_instruction, ordinary))


# ---- kernels ----


@pytest.fixture(scope="module")
def kernel() -> bytes:
    """Return the staff's kernel, which is accepted."""
    linked_kernel.check_kernel(KERNEL.read_bytes(), set())
    return KERNEL.read_bytes()


def flip_symbol(data: bytes, symbol: str, local: bool = False) -> bytes:
    """Return the kernel with one bit flipped in the byte at a symbol's address: a global symbol, or
    the first local one of this name."""
    made = elf.parse(data)
    locals_ = (s.value for s in made.names if s.name == symbol and s.binding != elf.GLOBAL)
    at = next(locals_) if local else made.global_symbol(symbol).value
    section = next(
        s for s in made.sections if s.flags & elf.ALLOC and s.address <= at < s.address + s.size
    )
    place = section.offset + at - section.address
    return change_number(data, place, "<B", data[place] ^ 4)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda data: flip_symbol(data, "_start"), "in machine mode's pages"),
        (lambda data: flip_symbol(data, "trace_at"), "in machine mode's pages"),
        (lambda data: flip_symbol(data, "disk_submit"), ".text.disk_submit of kernel/disk/disk.o"),
        (lambda data: flip_symbol(data, "swap", local=True), ".text.swap of "),  # of several files
        (lambda data: change_number(data, 24, "<Q", 0x80001000), "begins at 0x80001000"),
        (lambda data: change_number(data, 48, "<I", 0), "another kind of program"),
        (change_section(".rodata", FLAGS_AT, "<Q", 7), "other segments or sections"),
        (lambda data: change_number(data, 64 + 56 + 24, "<Q", 1 << 62), "segments that overlap"),
        (
            change_symbol("trace_at", VALUE_AT, "<Q", 0x80300000),
            "the words of the trace at other addresses",
        ),
        (
            change_symbol("rodata_end", VALUE_AT, "<Q", 0xFFFFFFC080300000),
            "in machine mode's pages",
        ),
        (rename_part("kernel_trap", "trace_on\0xx"), "'trace_on' twice"),
    ],
)
def test_a_kernel_that_is_not_the_staffs_is_refused(
    kernel: bytes, change: Callable[[bytes], bytes], why: str
) -> None:
    """change: takes the staff's kernel and returns it with a bit of its code flipped, or with
    another field of its ELF headers."""
    with pytest.raises(Refused) as refused:
        linked_kernel.check_kernel(change(kernel), set())
    assert why in str(refused.value)


def test_machine_mode_is_linked_from_entry_and_nothing_else(tmp_path: Path) -> None:
    """An object with code in .boot, had nobody looked at it, stops the linker."""
    source = tmp_path / "x.S"
    source.write_text('.section .boot, "a"\ncsrw pmpaddr0, t0\n')
    line = [*FLAGS, "-c", "-o", str(tmp_path / "x.o"), str(source)]
    subprocess.run(line, check=True, cwd=ROOT)
    objects = {"policies/sched/x.c": (tmp_path / "x.o").read_bytes()}
    with pytest.raises(BuildFailed, match=r"orphan section `\.boot'"):
        tree.link_checked(objects)


def test_the_trace_is_looked_for_where_machine_mode_has_it(tmp_path: Path) -> None:
    """Another symbol whose name ends in the trace's name is not taken for it."""
    memory, odd = tmp_path / "memory", tmp_path / "odd.elf"
    with memory.open("wb") as file:
        file.truncate(1 << 20)
        file.seek(elf.read(KERNEL).global_symbol("trace_at").value - 0x80000000)
        file.write((0x80400000).to_bytes(8, "little"))
    for name, flags in (("A trace_at", "global"), ("trace_at", "local")):
        line = [f"{PREFIX}objcopy", "--add-symbol", f"{name}=0x80000800,{flags}", KERNEL, odd]
        subprocess.run(line, check=True)
        assert evidence.trace_address(odd, memory) == 0x80400000


def test_machine_modes_pages_may_change_in_the_words_that_it_writes(tmp_path: Path) -> None:
    """A byte next to these words, before or after, may not change."""
    memory = tmp_path / "memory"
    first, last = linked_kernel.machine_word_range(elf.read(KERNEL))
    assert last - first == 10 * 8  # ten words of 8 bytes
    for at, believed in ((first - 1, False), (first, True), (last - 1, True), (last, False)):
        with memory.open("wb") as file:
            for phys, data in evidence.constant_parts(KERNEL):
                file.seek(phys - 0x80000000)
                file.write(data)
            file.seek(at - 0x80000000)
            file.write(b"\xa5")
        if believed:
            evidence.expect_constants(KERNEL, memory)
        else:
            with pytest.raises(Wrong, match="code and tables"):
                evidence.expect_constants(KERNEL, memory)


# ---- where it is compiled ----


def run_in_sandbox(script: str, *names: str, limit_s: float = HANG_S) -> sandbox.Made:
    """Return the result of a shell script in a sandbox with a folder that has one file. names: the
    programs that it may use."""
    with sandbox.sandbox_folder() as tree:
        (tree.path / "mine").write_text("x")
        programs, folders = compiler.needed_programs(*names), compiler.compiler_folders()
        made = sandbox.run_command(["sh", "-c", script], tree, programs, folders, limit_s)
        assert [path.name for path in tree.path.iterdir()] == ["mine"]
    return made


@pytest.fixture(params=["namespaces", "none"])
def surrounding(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Run the test in a sandbox of namespaces, and in one without."""
    if request.param == "none":
        monkeypatch.setattr(sandbox, "has_namespaces", lambda: False)
    elif not sandbox.has_namespaces():
        pytest.skip("this machine makes no namespaces")
    return request.param


@pytest.fixture
def namespaces() -> None:
    """Skip the test where no namespaces can be made."""
    if not sandbox.has_namespaces():
        pytest.skip("this machine makes no namespaces")


@pytest.mark.usefixtures("namespaces")
def test_a_compiler_sees_itself_and_the_tree_and_nothing_else() -> None:
    """All files that the sandbox shows are the compiler's, its libraries, and the submission's
    tree."""
    tools = ("find", "ls", "grep")
    script = (
        "find / -type f -not -path '/dev/*'; ls -A /proc /etc /root /home 2> /dev/null | grep -v :"
    )
    shown = set(map(Path, run_in_sandbox(script, *tools).data.decode().split()))
    setpriv = frozenset(map(Path, sandbox.user_command(1)[:1]))
    seen = sandbox.find_libraries(compiler.needed_programs(*tools) | setpriv) | {Path("/tree/mine")}
    assert {p for p in shown if not compiler.compiler_folders() & set(p.parents)} <= seen
    assert Path("/tree/mine") in shown


@pytest.mark.usefixtures("namespaces")
@pytest.mark.parametrize(
    "path",
    ["/etc/passwd", "/proc/self/environ", "/proc/1/cmdline", str(ROOT / "Makefile"), str(KERNEL),
     str(ROOT / "grade/labs/elevator/hidden/cost.py"), str(ROOT / "kernel/cache/bio.c"), "$SECRET"],
)  # fmt: skip
def test_a_file_of_the_host_is_not_there_to_be_compiled_in(path: str, tmp_path: Path) -> None:
    """The assembler's .incbin finds no file of the host, of the staff or of another submission."""
    secret = tmp_path / "other-submission.c"
    secret.write_text("the answer")
    secret.chmod(0o644)
    path = path.replace("$SECRET", str(secret))
    assert Path(path).exists() or path.startswith("/proc")
    with (
        sandbox.sandbox_folder() as tree,
        pytest.raises(BuildFailed, match="file not found") as failed,
    ):
        (tree.path / "x.S").write_text(f'.incbin "{path}"\n')
        compiler.compile_file("x.S", tree)
    assert "root:" not in str(failed.value) and "the answer" not in str(failed.value)


def test_a_compiler_has_five_words_of_environment_and_no_rights(
    surrounding: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The shell adds PWD, and a compiler may need LD_LIBRARY_PATH. If root grades, the sandbox's
    user has no account and no other group."""
    monkeypatch.setenv("SECRET", "a key")
    made = run_in_sandbox("env; id -u; id -G", "env", "id")
    *words, user, groups = made.data.decode().split()
    names = {word.split("=")[0] for word in words}
    assert names <= {"PATH", "LC_ALL", "TREE", "WORK", "TMPDIR", "PWD", "LD_LIBRARY_PATH"}
    if not os.geteuid():
        assert user == groups and not sandbox.has_account(int(user))


def test_a_compiler_changes_nothing_of_the_staffs(surrounding: str) -> None:
    """In the sandbox a shell tries to append to files outside; it names those that it could
    change."""
    before = (BUILT / "kernel/entry.S.o").read_bytes()
    paths = f"{BUILT}/kernel/entry.S.o {ROOT}/Makefile /etc/passwd"
    made = run_in_sandbox(f"for f in {paths}; do echo x >> $f && echo wrote $f; done")
    assert not made.data
    assert (BUILT / "kernel/entry.S.o").read_bytes() == before


@pytest.mark.usefixtures("namespaces")
def test_a_tree_is_not_changed_by_what_is_shut_in_with_it() -> None:
    """The tree is read-only; only the folder $WORK can be written."""
    script = "echo y > $TREE/mine; echo z > $TREE/new; ln -s / $WORK/l; ls $WORK"
    made = run_in_sandbox(script, "ls", "ln")
    assert made.data == b"l\n" and made.text.count("Read-only file system") == 2


def test_a_compiler_has_no_network(surrounding: str) -> None:
    """A compiler cannot reach this machine either. Without namespaces it can."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        script = f"bash -c 'exec 3<> /dev/tcp/127.0.0.1/{port} && echo connected'"
        made = run_in_sandbox(script, "bash")
    assert made.data == (b"connected\n" if surrounding == "none" else b"")


@pytest.mark.usefixtures("namespaces")
def test_a_link_instead_of_an_object_leads_nowhere() -> None:
    """The linked file is not in the sandbox."""
    made = run_in_sandbox("ln -s /etc/passwd $WORK/made.o; cat $WORK/made.o", "ln")
    assert not made.data and "No such file" in made.text


def test_processes_are_limited_and_none_is_left(surrounding: str) -> None:
    """The script starts 500 processes, which is more than its user may have."""
    if os.geteuid():
        pytest.skip("only root has users to spare")
    script = "id -u; i=0; while [ $i -lt 500 ]; do sleep 1000 & i=$((i + 1)); done; echo all"
    made = run_in_sandbox(script, "id", "sleep")
    assert "fork" in made.text and b"all" not in made.data
    user = int(made.data.split()[0])
    assert not [path for path in sandbox.user_processes(user) if sandbox.is_running(path)]


def test_what_takes_too_long_leaves_nothing_behind(surrounding: str, tmp_path: Path) -> None:
    """`mark` is in the command line of the process that must not be left."""
    mark = f"{tmp_path.name}-{os.getpid()}"
    with pytest.raises(sandbox.TooLong):
        run_in_sandbox(f"sh -c 'sleep 1000; : {mark}' & sleep 1000", "sleep", limit_s=0.9)
    left = [
        path for path in Path("/proc").glob("[0-9]*/cmdline") if mark in read_command_line(path)
    ]
    assert not left


def test_what_ends_leaves_nothing_of_its_process_group_behind(
    surrounding: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without root, nothing else ends such processes where there are no namespaces."""
    monkeypatch.setattr(sandbox, "kill_user_processes", lambda _: None)
    mark = f"{tmp_path.name}-{os.getpid()}"
    began_s = time.monotonic()
    made = run_in_sandbox(f"sh -c 'sleep 1000; : {mark}' & echo done", "sleep")
    assert made.data == b"done\n" and not made.status
    assert time.monotonic() - began_s < sandbox.LINGER_S
    left = [
        path for path in Path("/proc").glob("[0-9]*/cmdline") if mark in read_command_line(path)
    ]
    assert not left


def read_command_line(path: Path) -> str:
    """Return a command line; empty if it is gone."""
    try:
        return path.read_text()
    except OSError:
        return ""


def test_the_time_of_a_processor_is_counted(surrounding: str) -> None:
    """A grading reports what it cost the host. The loop takes more than 0.05 s of user time."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    run_in_sandbox("i=0; while [ $i -lt 300000 ]; do i=$((i + 1)); done")
    assert resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime > before + 0.05


def test_a_command_has_limits(surrounding: str) -> None:
    """ulimit shows the limits of memory, processor time and core dumps."""
    made = run_in_sandbox("ulimit -v; ulimit -t; ulimit -c")
    assert made.data.split() == [b"%d" % (sandbox.MEMORY_BYTES >> 10), b"%d" % sandbox.CPU_S, b"0"]


def test_what_is_said_and_handed_out_is_limited(surrounding: str) -> None:
    """Endless output and endless messages are cut at their limits."""
    made = run_in_sandbox("exec cat /dev/zero")
    assert made.status and len(made.data) == sandbox.FILE_BYTES
    made = run_in_sandbox("exec cat /dev/zero >&2")
    assert made.status and len(made.text) == sandbox.MOST_SAID


@pytest.mark.usefixtures("namespaces")
def test_files_fill_no_disk() -> None:
    """Files of 60 MB are written until the sandbox is full, before the tenth."""
    script = "i=0; while head -c 60000000 /dev/zero > $WORK/$i; do i=$((i + 1)); done; echo $i"
    made = run_in_sandbox(script, "head")
    assert int(made.data) < 10 and "No space left" in made.text
