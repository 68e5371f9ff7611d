"""A policy's wrong answer is caught, named and counted; the default or the kernel goes on.

The fixture `kernel` is this tree's kernel with more policies, whose sources are texts below. Each
policy of WRONG answers wrongly, and each of REFUSED lacks a hook that its kind needs.
"""

import re
from dataclasses import dataclass
from pathlib import Path

import pytest
from conftest import Boot, MakeImage
from kernel_with import kernel_with

from sluice.system.qemu import Config, Disk, run_rc


@dataclass(frozen=True)
class Wrong:
    """A policy that answers wrongly: its kind and name, the message of the kernel about its answer,
    its table of hooks, and their code."""

    kind: str
    name: str
    says: str
    hooks: str
    code: str

    def __str__(self) -> str:
        return f"{self.kind}/{self.name}"

    def text(self) -> str:
        """Return the policy's file."""
        return f"""#include "kernel/policy/policy.h"
        {self.code}
        static const struct policy wrong = {{
            .kind = POLICY_{self.kind.upper()},
            .name = "{self.name}",
            .about = "answers wrongly",
            .{self.kind} = {{{self.hooks}}},
        }};
        POLICY(wrong);
        """


def prefetch(name: str, request: str) -> Wrong:
    """Return a prefetch policy whose request has these fields and is not within the file."""
    code = f"""static void ahead(struct stream *s, const struct access *a, struct readahead *w)
    {{
        (void)s, (void)a;
        *w = (struct readahead){{{request}}};
    }}"""
    complaint = "readahead asked for blocks off the file"
    return Wrong("prefetch", name, complaint, ".readahead = ahead", code)


def wrong_scheduler(name: str, says: str, answer: str) -> Wrong:
    """Return a scheduler whose choice is this C expression."""
    code = f"""static struct request *next(struct queue *q, u64 now_ns)
    {{
        static struct request other;
        (void)q, (void)now_ns, (void)other;
        return {answer};
    }}"""
    return Wrong("sched", name, says, ".next = next", code)


def replace(name: str, answer: str) -> Wrong:
    """Return a replace policy whose victim is this C expression."""
    code = f"""static struct block other, *used;
    static void insert(struct block *b, bool reuse) {{ (void)b, (void)reuse; }}
    static void remove(struct block *b) {{ used = b; }}
    static struct block *victim(void) {{ (void)other, (void)used; return {answer}; }}"""
    hooks = ".insert = insert, .remove = remove, .victim = victim"
    return Wrong("replace", name, "victim returned no evictable buffer", hooks, code)


WRONG = [
    prefetch("past_end", ".first = a->file_blocks, .n = 1, .times = 1"),
    prefetch("over_end", ".first = a->file_blocks - 1, .n = 2, .times = 1"),
    prefetch("before_start", ".first = 0, .n = 1, .times = 2, .step = -1"),
    prefetch("strides_off", ".n = 1, .times = 2, .step = a->file_blocks"),
    prefetch("huge", ".n = ~0UL, .times = 1, .first = a->block"),
    prefetch("times_none", ".n = 1, .times = 0, .first = a->block"),
    wrong_scheduler("not_queued", "next returned a request that is not queued", "&other"),
    wrong_scheduler("chooses_none", "next returned none, with nothing in flight", "NULL"),
    replace("no_victim", "NULL"),
    replace("stranger", "&other"),
    replace("in_use", "used"),
    Wrong(
        "write",
        "no_mode",
        "decide: no such mode",
        ".decide = decide",
        "static enum write_mode decide(const struct write_info *w) { (void)w; return 99; }",
    ),
    Wrong(
        "order",
        "no_order",
        "decide: no such mode",
        ".decide = decide",
        "static enum order_mode decide(const struct order_info *i) { (void)i; return 99; }",
    ),
    Wrong(
        "place",
        "off_disk",
        "place returned a sector off the disk",
        ".place = place",
        """static u64 place(const struct queue *q, const struct request *r, u64 now_ns)
        { (void)q, (void)r, (void)now_ns; return ~0UL; }""",
    ),
]
REFUSED = [
    Wrong("prefetch", "hookless", "", "", ""),
    Wrong("update", "aimless", "", "", ""),
    Wrong("order", "orderless", "", "", ""),
]
# This policy has no name, and every line about a policy begins with the name.
NAMELESS = """#include "kernel/policy/policy.h"
static struct tunable rows[] = {{"odd_row", .unit = "ms", .max = 1, .about = "odd"}, {0}};
static const struct policy nameless = {
    .kind = POLICY_PLACE, .about = "has no name", .tunables = rows};
POLICY(nameless);
"""
# LEAVES writes numbers into the words of every stream. FINDS reads these words: if one is not 0,
# FINDS requests blocks past the file's end, which is a policy fault.
LEAVES = Wrong(
    "prefetch",
    "leaves_words",
    "",
    ".readahead = ahead",
    """static void ahead(struct stream *s, const struct access *a, struct readahead *w)
    { (void)a, (void)w; s->word[0] = s->word[3] = 7; }""",
)
FINDS = prefetch("finds_words", ".first = a->file_blocks, .n = s->word[0] | s->word[3], .times = 1")


@pytest.fixture(scope="module")
def kernel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a kernel of this tree with these policies added, a file each."""
    policies = (*WRONG, *REFUSED, LEAVES, FINDS)
    files = {f"policies/{wrong.kind}/{wrong.name}.c": wrong.text() for wrong in policies}
    files["policies/place/nameless.c"] = NAMELESS
    return kernel_with(tmp_path_factory.mktemp("faults"), files)


# Commands that have every kind of policy asked.
LOAD = (
    "cp /bin/sh /copy && sync && cmp /bin/sh /copy && cat /bin/* > /dev/null && cmp /bin/sh /copy"
)


@pytest.mark.drawn(3)
@pytest.mark.parametrize("wrong", WRONG, ids=str)
def test_a_wrong_answer_is_named_and_counted_and_the_default_goes_on(
    boot: Boot, kernel: Path, wrong: Wrong
) -> None:
    """wrong: a policy with one mistake, and what the kernel says of it."""
    machine = boot(kernel=kernel, args="nbuf=60")
    default = re.search(rf"^{wrong.kind}:.*\[(\w+)\]", machine.check("cat /dev/policy"), re.M)[1]
    machine.check(f"policy use {wrong.kind} {wrong.name}")
    machine.check(LOAD)
    assert re.search(rf"^{wrong.kind}:.*\[{default}\]", machine.check("cat /dev/policy"), re.M)
    assert re.search(r"^policy.faults 1 ", machine.check("cat /dev/stat"), re.M)
    said = f"policy fault: {wrong}: {wrong.says}; going on with {default}"
    assert machine.power_off().console.count(said) == 1


@pytest.mark.parametrize("wrong", {wrong.kind: wrong for wrong in WRONG}.values(), ids=str)
def test_with_check_a_wrong_answer_is_a_panic(
    make_image: MakeImage, kernel: Path, wrong: Wrong
) -> None:
    """With check=1 the kernel stops with status 101 at the first wrong answer. One policy of each
    kind is tried."""
    script = f"policy use {wrong.kind} {wrong.name}; {LOAD}"
    disk = Disk(make_image(rc=script, damaged=True))
    result = run_rc(Config((disk,), kernel=kernel, args="nbuf=60 check=1"))
    assert result.status == 101
    assert f"policy fault: {wrong}: {wrong.says}" in result.console


@pytest.mark.parametrize("wrong", {wrong.kind: wrong for wrong in WRONG}.values(), ids=str)
def test_the_kernel_can_answer_instead_and_the_policy_stays_in_use(
    boot: Boot, kernel: Path, wrong: Wrong
) -> None:
    """With faults=answer the kernel counts and traces each fault and prints the first one."""
    machine = boot(kernel=kernel, args="nbuf=60 check=1 faults=answer trace_k=64")
    machine.check(f"policy use {wrong.kind} {wrong.name}")
    machine.check(LOAD)
    assert re.search(rf"^{wrong.kind}:.*\[{wrong.name}\]", machine.check("cat /dev/policy"), re.M)
    faults = int(re.search(r"^policy.faults (\d+) ", machine.check("cat /dev/stat"), re.M)[1])
    traced = machine.check("grep -c ' fault ' /dev/trace")
    assert int(traced) >= faults > 1
    said = f"policy fault: {wrong}: {wrong.says}; the kernel answers instead"
    assert machine.power_off().console.count(said) == 1


def test_the_argument_faults_must_be_one_of_three_words(make_image: MakeImage) -> None:
    result = run_rc(Config((Disk(make_image()),), args="faults=never"))
    assert result.status != 0
    assert "faults=never: want switch, panic or answer" in result.console


@pytest.mark.parametrize("wrong", REFUSED, ids=str)
def test_a_policy_without_a_hook_that_it_needs_is_refused(
    boot: Boot, kernel: Path, wrong: Wrong
) -> None:
    machine = boot(kernel=kernel)
    before = machine.check("policy")
    assert machine.run(f"policy use {wrong.kind} {wrong.name}").status != 0
    assert machine.check("policy") == before
    assert f"policy {wrong.name} refused: " in machine.power_off().console


def test_a_policy_without_a_name_is_refused_and_nowhere_shown(boot: Boot, kernel: Path) -> None:
    """The kernel has a policy whose name is empty; `odd_row` is its tunable."""
    machine = boot(kernel=kernel)
    assert "odd_row" not in machine.check("policy") + machine.check("cat /dev/stat")
    assert machine.run("policy set odd_row 1").status != 0
    assert "policy without a name refused: no such kind, or no name" in machine.console


def test_a_prefetch_policy_put_to_use_finds_nothing_of_the_last_ones_in_an_open_file(
    run_script, kernel: Path
) -> None:
    """A stream of an open file has words in which the policy keeps what it likes. They are 0 again
    when another policy comes into use, while iogen has the file open."""
    script = f"""set -e
    policy use prefetch {LEAVES.name}
    iogen name=r rw=read filename=/data bs=4k nr=40 thinktime_us=20000 &
    sleep 0.4
    policy use prefetch {FINDS.name}
    wait
    grep {FINDS.name} /dev/policy
    """
    result = run_script(
        script, {"/data": bytes(1 << 20)}, kernel=kernel, args="drive=fixed", lab=True
    )
    assert result.status == 0
    assert '"ios":40' in result.console
    assert f"[{FINDS.name}]" in result.console
    assert "policy fault" not in result.console
