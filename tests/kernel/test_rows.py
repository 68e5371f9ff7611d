"""The rows that files register with the kernel: policies, counters, histograms, devices, drives.

A row is what a macro such as POLICY or COUNTER puts into a table of the kernel. A submission
registers what its lab asks for; a graded kernel has no policy that could do a student's work; and
no kernel boots with two rows of one name.
"""

import shutil
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from conftest import MakeImage
from kernel_with import kernel_with

from grade.code import elf, rowlayout
from grade.definition import lab
from grade.definition.lab import BadLab, Lab, find_lab
from grade.engine import grading, tree, workbench
from grade.engine.formats import people
from grade.engine.scenario import Scenario
from grade.trust import registration
from grade.trust.compiler import compile_command
from grade.trust.sourcefile import object_path
from sluice.host.paths import BUILT, KERNEL, ROOT, TREE
from sluice.system.qemu import Config, Disk, run_rc

ELEVATOR, SMOOTH = find_lab("elevator"), find_lab("smooth")
CACHE, OPEN = find_lab("delayed-write"), find_lab("open")
WRITE = """
static enum write_mode decide(const struct write_info *w) {{ (void)w; return WRITE_DELAYED; }}
static const struct policy {0} = {{
    .kind = POLICY_WRITE, .name = "{1}", .about = "another", .write = {{.decide = decide}},
}};
POLICY({0});
"""


@dataclass(frozen=True)
class Attempt:
    """A change of a file of a lab's solution. The grader refuses it."""

    name: str
    named: str  # what the report must say
    old: str = ""  # a text of the file, which `new` replaces
    new: str = ""
    before: str = ""  # a text to be put before the policy's table
    after: str = ""  # a text to be put at the file's end
    lab: Lab = ELEVATOR

    def files(self) -> dict[str, str]:
        """Return the files of the changed solution, by their paths: `old` is replaced by `new`, and
        `after` is added at the end of the same file. Text in `before` goes before clook's table,
        and clook is not registered then."""
        files = tree.solution_files(self.lab)
        file = next(name for name, text in files.items() if not self.old or self.old in text)
        assert not self.old or files[file].count(self.old) == 1
        text = files[file].replace(self.old, self.new) if self.old else files[file]
        if self.before:
            table = "static const struct policy clook ="
            text = text.replace("POLICY(clook);\n", "").replace(table, self.before + table)
        return files | {file: text + self.after}


ROW = '.name = "clook",'
IPU, CLOOK = (f"static const struct policy {name} = {{" for name in ("ipu", "clook"))
BYTES = "static u64 bytes(u64 buffers) { return buffers; }\n"
ASKS = f"{BYTES}static struct policy_memory mine = {{.bytes = bytes}};\n"


def memory(variable: str, lab: Lab = OPEN, said: str = "&mine") -> dict:
    """Return a policy of the lab whose .memory is as said, with this text before its table."""
    table = IPU if lab is OPEN else CLOOK
    return {"old": table, "new": f"{variable}\n{table}\n    .memory = {said},", "lab": lab}


ATTEMPTS = [
    Attempt("a second policy", "registers sched/clook, write/mine; a file registers one policy",
            after=WRITE.format("mine", "mine")),
    Attempt("another's name", "registers sched/clook, write/delayed; a file registers one policy",
            after=WRITE.format("delayed", "delayed")),
    Attempt("another name", "registers sched/clook2; a file registers one policy",
            ROW, '.name = "clook2",'),
    Attempt("another kind", "registers write/clook; a file registers one policy",
            ".kind = POLICY_SCHED,", ".kind = POLICY_WRITE,"),
    Attempt("a kind that there is not", "registers unknown (99)/clook",
            ".kind = POLICY_SCHED,", ".kind = (enum policy_kind)99,"),
    Attempt("no policy", "registers no policy; a file registers one policy",
            "POLICY(clook);", "const struct policy *f(void);\n"
            "static const struct policy *volatile kept = &clook;\n"
            "static u64 use(void) { return (u64)kept; }\nstatic u64 (*volatile used)(void) = use;\n"
            "u64 mine(void);\nstatic u64 (*volatile more)(void);\n"),
    Attempt("a name that moves the cursor", "registers sched/?; a file registers one policy",
            ROW, '.name = "clook\\033[2J",'),
    Attempt("an about that moves the cursor", ".about of its policy is not a line",
            '.about = "circular', '.about = "\\033[2J100 of 100 points'),
    Attempt("a table that changes", "may change while it runs: make it `static const struct",
            "static const struct policy clook", "static struct policy clook"),
    Attempt("a flag of its kind", "sets .sched.takes_candidates, which this lab does not ask for",
            ".next = clook_next", ".next = clook_next, .takes_candidates = true"),
    Attempt("a hook that is a number", ".sched.queued of its policy is no function",
            ".next = clook_next", ".next = clook_next, .queued = (void *)0xffffffc080002000"),
    Attempt("a hook that is data", ".stop of its policy is no function",
            ROW, f"{ROW} .stop = (void (*)(void))counters,"),
    Attempt("a field of another kind", "a field that the kind update does not have",
            ".update = {.next_ns = aipu_next_ns, .scan = aipu_scan}",
            ".replace = {.insert = (void *)aipu_next_ns, .victim = (void *)aipu_scan, "
            ".takes_dirty = true}", lab=SMOOTH),
    Attempt("another kind's flag in a hook's place", ".sched.check of its policy is no function",
            ".sched = {.next = clook_next}",
            ".write = {.decide = (void *)clook_next, .keeps = true}"),
    Attempt("another kind's flag in a flag's place",
            "sets .sched.takes_candidates, which this lab does not ask for",
            ".sched = {.next = clook_next}",
            ".replace = {.insert = (void *)clook_next, .takes_dirty = true}"),
    Attempt("a look at the table of all", "looks into the table of all policies, from .text",
            ".sched = {.next = clook_next}", ".sched = {.next = clook_next}, .start = look",
            before="static const struct policy clook;\nPOLICY(clook);\nstatic u64 seen;\n"
            "static void look(void)\n"
            "{ const struct policy *const *volatile p = &clook_registered; seen += (u64)p[1]; }\n"),
    Attempt("a counter of another's name", "registers the counter disk.reads, which is in kernel/",
            after='COUNTER(mine, "disk.reads", "reads", "x");\n', lab=CACHE),
    Attempt("a counter that prints lines", "registers a counter whose name is not of 1 to",
            after='COUNTER(mine, "x 1 y\\ndisk.reads", "reads", "x");\n', lab=CACHE),
    Attempt("a device", "registers the device mine, which the lab does not use",
            after='#include "kernel/machine/device.h"\n'
            'static const struct device mine = {.id = 99, .name = "mine"};\nDEVICE(mine);\n',
            lab=CACHE),
    Attempt("a counter without its file's name", "use the header's macro for each",
            after='STAT_ROW_(mine) = {.name = "mine", .unit = "x", .about = "x"};\n', lab=CACHE),
    Attempt("memory", "sets .memory, which this lab does not ask for", **memory(ASKS, ELEVATOR)),
    Attempt("memory asked for elsewhere", ".memory of its policy leads to no variable of this file",
            **memory("", said="(struct policy_memory *)0xffffffc080300000")),
    Attempt("memory asked for by what is no variable",
            ".memory of its policy leads to no variable of this file",
            **memory(BYTES + "static const struct policy_memory mine = {.bytes = bytes};",
                     said="(struct policy_memory *)&mine")),
    Attempt("memory asked for by zeros", ".memory of its policy leads to no variable of this file",
            **memory("static struct policy_memory mine;")),
    Attempt("memory asked for beyond a variable",
            ".memory of its policy leads to no variable of this file",
            **memory(ASKS, said="&mine + 99")),
    Attempt("memory asked for by another variable",
            ".bytes of its policy's .memory is no function of this file",
            **memory("", said="(struct policy_memory *)counters")),
    Attempt("memory of a size told elsewhere",
            ".bytes of its policy's .memory is no function of this file",
            **memory("static struct policy_memory mine = {.bytes = (void *)0xffffffc080002000};")),
    Attempt("memory of a size told by another's function",
            ".bytes of its policy's .memory is no function of this file",
            **memory("static struct policy_memory mine = {.bytes = flush_oldest};")),
    Attempt("memory at a place of its choice", "its policy's .memory sets more than .bytes",
            **memory(ASKS.replace("bytes}", "bytes, .start = counters}"))),
    Attempt("memory for a cache of its choice", "its policy's .memory sets more than .bytes",
            **memory(ASKS.replace("bytes}", "bytes, .buffers = 9}"))),
]  # fmt: skip


@pytest.mark.drawn(3)
@pytest.mark.parametrize("attempt", ATTEMPTS, ids=lambda attempt: attempt.name)
def test_what_a_lab_does_not_ask_for_is_not_registered(attempt: Attempt, tmp_path: Path) -> None:
    """The grader refuses the attempt, gives no points, and prints the reason in one line without
    control characters."""
    record = grading.grade_submission(attempt.lab, attempt.files, tmp_path, "1", "make grade")
    assert (record.status, record.score) == ("refused", 0), record.message
    assert attempt.named in people.text(record)
    assert record.message.isprintable()


def test_what_is_wrong_with_each_file_is_named_at_once(tmp_path: Path) -> None:
    """One file looks into the table of policies, and another one sets a field that the lab does not
    ask for. One message names both, so that a student can mend both at once."""
    looks = "\nstatic const struct policy *const *volatile row = &ipu_registered;\n"
    work = dict(tree.solution_files(OPEN))
    work["policies/update/own.c"] += looks
    table = work["policies/write/own.c"]
    work["policies/write/own.c"] = table.replace(".write = {", ".write = {.keeps = true, ")
    record = grading.grade_submission(OPEN, lambda: work, tmp_path, "1", "make grade")
    assert (record.status, record.score) == ("refused", 0), record.message
    update, write = record.message.splitlines()
    assert update.startswith("policies/update/own.c looks into the table of all policies")
    assert write == (
        "policies/write/own.c: its policy sets .write.keeps, which this lab does not ask for: "
        "remove this line"
    )


def test_each_policy_of_this_tree_registers_what_its_path_says() -> None:
    """The check of a student's objects finds nothing wrong in the tree's own policies."""
    for path in sorted(TREE.glob("policies/*/*.c")):
        file = path.relative_to(TREE).as_posix()
        asked = replace(ELEVATOR, files=(file,))
        registration.check_rows(file, elf.read(object_path(BUILT, file)), asked)


def test_the_fields_of_a_table_are_those_of_the_header() -> None:
    """The compiler's debugging information says where each field of struct policy is. The fields of
    one kind do not overlap. Different kinds share a union."""
    size, fields = rowlayout.table_layout(tuple(compile_command()))
    assert rowlayout.kinds() == (
        "update",
        "write",
        "sched",
        "replace",
        "prefetch",
        "place",
        "order",
    )
    assert fields["kind"].offset == 0 and fields["write.keeps"].size == 1
    assert not fields["write.keeps"].hook and fields["write.decide"].hook
    of_write = [f for name, f in fields.items() if "." not in name or name.startswith("write.")]
    places = [at for f in of_write for at in range(f.offset, f.offset + f.size)]  # of each byte
    assert len(places) == len(set(places)) and max(places) < size


def test_any_hook_of_its_kind_may_be_added(tmp_path: Path) -> None:
    """Functions that lab.toml lists may be used as well."""
    more = """
static void queued(struct queue *q, struct request *r, u64 now_ns)
{
    (void)q, (void)r, (void)now_ns;
}
"""
    text = tree.pristine_text(ELEVATOR.files[0]).replace(
        "static const struct policy clook", more + "static const struct policy clook"
    )
    text = text.replace(".next = clook_next", ".next = clook_next, .queued = queued")
    tree.build_kernel(tmp_path, ELEVATOR, {ELEVATOR.files[0]: text})
    text = text.replace(".queued = queued", ".queued = queued, .takes_candidates = true")
    asks = replace(ELEVATOR, fields=("sched.takes_candidates",))
    tree.build_kernel(tmp_path, asks, {ELEVATOR.files[0]: text})


def test_a_policy_of_the_open_lab_may_ask_for_memory(tmp_path: Path) -> None:
    tree.build_kernel(tmp_path, OPEN, Attempt("", "", **memory(ASKS)).files())


# ---- what a graded kernel is linked from ----


def policies_in(kernel: Path) -> set[str]:
    """Return the sources of policies that a kernel has, by the names that the compiler leaves.

    A file of kernel/ and a policy may have one name. So a name is a policy's if it is there more
    often than kernel/ has files of that name.
    """
    known = {path.name for path in TREE.glob("policies/*/*.c")} | {"own.c"}
    symbols = elf.read(kernel).symbols
    left = Counter(Path(symbol.name).name for symbol in symbols if symbol.kind == elf.OF_FILE)
    left -= Counter(path.name for path in TREE.glob("kernel/**/*.c"))
    return left.keys() & known


def test_a_graded_kernel_has_no_policy_that_does_a_students_work(tmp_path: Path) -> None:
    """The kernel of the lab `open` has the student's policy, own.c, and policies of other kinds,
    but no other policy of the kinds that the student writes. Files are told by their names, and a
    name may occur in several kinds."""
    kernel = tree.build_kernel(tmp_path, OPEN, tree.solution_files(OPEN))
    ready_made = {path.name for kind in OPEN.kinds for path in TREE.glob(f"policies/{kind}/*.c")}
    replace = {path.name for path in TREE.glob("policies/replace/*.c")}
    found = policies_in(kernel)
    assert "own.c" in found and replace <= found
    elsewhere = {
        path.name for path in TREE.glob("policies/*/*.c") if path.parent.name not in OPEN.kinds
    }
    assert found & ready_made <= elsewhere


@pytest.mark.parametrize(
    "of", [one for one in lab.load_labs() if one.kinds], ids=lambda one: one.name
)
def test_a_lab_has_the_policies_of_a_kind_that_its_machines_need(of: Lab) -> None:
    """The policies that a lab's kernel is built without are of the kinds that the student writes.
    They are neither the student's files nor policies that the lab's machines use."""
    left_out = tree.find_unlinked_policies(of)
    assert left_out and not left_out & set(of.files)
    assert {path.split("/")[1] for path in left_out} == of.kinds
    assert not left_out & {f"policies/{name}.c" for name in of.policies}


@pytest.mark.parametrize(
    "scenario",
    [Scenario("s", "", args="nbuf=9 sched=fcfs"), Scenario("s", "policy use sched fcfs\n")],
    ids=["argument", "command"],
)
def test_a_scenario_that_needs_what_a_graded_kernel_has_not_is_the_labs_fault(
    scenario: Scenario, tmp_path: Path
) -> None:
    """The scenario uses the scheduler fcfs, and the lab's kernel is built without it."""
    bench = workbench.Workbench(KERNEL, KERNEL, tmp_path, "1", 1)
    bench.absent = tree.find_unlinked_policies(ELEVATOR)
    with pytest.raises(BadLab, match='no sched policy fcfs: add "sched/fcfs" to `policies`'):
        bench.run(scenario)


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ('policies = ["sched/nosuch"]', "there is no policies/sched/nosuch.c"),
        ('policies = ["write/through"]', "no file of the lab is of this kind: remove it"),
        ('fields = ["sched.next"]', "no field of a policy's table that needs listing"),
        ('fields = ["name"]', "no field of a policy's table that needs listing"),
        ('fields = ["nosuch"]', "no field of a policy's table that needs listing"),
        ("fields = [1]", "fields: 1: must be a text"),
        ("policies = [[]]", r"policies: \[\]: must be a text"),
        ('policies = ["sched/sstf", "sched/sstf"]', "policies: 'sched/sstf' is there twice"),
    ],
)
def test_a_lab_that_lists_what_is_not_there_is_refused(line: str, why: str, tmp_path: Path) -> None:
    folder = tmp_path / "elevator"
    shutil.copytree(ELEVATOR.folder, folder)
    (folder / "lab.toml").write_text(f"{line}\n{(folder / 'lab.toml').read_text()}")
    with pytest.raises(BadLab, match=why):
        lab.load_lab(folder)


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ('"return-type",', "5,", "warnings: 5: must be a text"),
        ('"return-type",', '"sign-compare",', "warnings: 'sign-compare' is there twice"),
        ('needs = ["delayed-write"]', "needs = [{}]", "needs: {}: must be a text"),
        ('files = ["', 'files = ["policies/sched/clook.c", "', "files: .* is there twice: remove"),
        ("cost = 10\n", "rise = 10\n", "rise: is in .points. and in .hidden.; rename one"),
    ],
)
def test_a_lab_whose_lists_are_wrong_is_refused(
    old: str, new: str, why: str, tmp_path: Path
) -> None:
    folder = tmp_path / "elevator"
    shutil.copytree(ELEVATOR.folder, folder)
    text = (folder / "lab.toml").read_text()
    assert text.count(old) == 1
    (folder / "lab.toml").write_text(text.replace(old, new))
    with pytest.raises(BadLab, match=f"{folder / 'lab.toml'}: {why}"):
        lab.load_lab(folder)


def test_a_function_with_two_holes_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "elevator"
    shutil.copytree(ELEVATOR.folder, folder)
    text = (folder / "lab.toml").read_text()
    (folder / "lab.toml").write_text(text + text[text.index("[[holes]]") :])
    with pytest.raises(BadLab, match=r"holes: policies/sched/clook\.c clook_next is there twice"):
        lab.load_lab(folder)


@pytest.mark.parametrize("key", ["order", "title"])
def test_two_labs_with_one_place_or_title_are_refused_with_both_files(
    key: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A lab's folder was copied, and only its title or only its place (order) was changed."""
    for name in ("one", "other"):
        shutil.copytree(ELEVATOR.folder, tmp_path / name)
    path = tmp_path / "one/lab.toml"
    changes = {"order": ('title = "The', 'title = "A'), "title": ("order = 4", "order = 99")}
    path.write_text(path.read_text().replace(*changes[key]))
    monkeypatch.setattr(lab, "LABS", tmp_path)
    with pytest.raises(BadLab, match=f"{path} and .*other/lab.toml: {key}: both have"):
        lab.load_labs()


# ---- two of one name ----

COUNTER = '#include "kernel/base/stat.h"\nCOUNTER(again, "disk.reads", "reads", "x");\n'
HISTOGRAM = '#include "kernel/measure/hist.h"\nHISTOGRAM(again, "{0}", "ns", "x");\n'
DEVICE = """#include "kernel/machine/device.h"
static const struct device again = {.id = 77, .name = "null"};
DEVICE(again);
"""


TWO = {  # files to be added to the kernel, and the message of the boot
    "policies": (
        {"policies/sched/again.c": lambda: (ROOT / "policies/sched/clook.c").read_text()},
        "two sched policies are called clook, in policies/sched/again.c and in"
        " policies/sched/clook.c: rename one of them",
    ),
    "counters": (
        {"kernel/measure/again.c": lambda: COUNTER},
        "two counters are called disk.reads, in kernel/disk/disk.c and in"
        " kernel/measure/again.c: rename one of them",
    ),
    "histograms": (
        {"kernel/measure/again.c": lambda: HISTOGRAM.format("read_response")},
        "two histograms are called read_response, in kernel/disk/disk.c and in"
        " kernel/measure/again.c: rename one of them",
    ),
    "devices": (
        {"kernel/measure/again.c": lambda: DEVICE},
        "two devices are called null, in kernel/file/null.c and in"
        " kernel/measure/again.c: rename one of them",
    ),
    "drives": (
        {"drives/again.c": lambda: (ROOT / "drives/rz58.c").read_text()},
        "two drives are called rz58, in drives/again.c and in drives/rz58.c: rename one of them",
    ),
}


@pytest.mark.parametrize(("files", "why"), TWO.values(), ids=TWO)
def test_two_rows_of_one_name_end_the_boot(
    files: dict, why: str, tmp_path: Path, make_image: MakeImage
) -> None:
    """files: sources that register the same name twice; why: what the kernel says then."""
    kernel = kernel_with(tmp_path, {path: text() for path, text in files.items()})
    result = run_rc(Config((Disk(make_image(rc="true")),), kernel=kernel))
    assert f"boot: {why}" in result.console
