"""Submissions that are alike: in their text, and in what their kernels decide.

Text is compared by fingerprints of its words, in which names do not count, except those of the
headers. Decisions of kernels (which request next) are compared by the odd ones, which the reference
does not make: two students with the same odd decisions have the same fault. Most tests use numbers
as decisions. LEAST is how many odd decisions a comparison needs; a fault of more than FEW students
counts as common. `class_` is a class's decisions by student.
"""

import re
from pathlib import Path

import pytest
from compiled import figure
from whole import WHOLE

from grade.course import behaviour, pairs
from grade.course.behaviour import FEW, Decisions
from grade.definition.lab import find_lab
from grade.engine import grading, tree
from grade.trust.likeness import (
    LEAST,
    Known,
    Pair,
    collect_known_names,
    find_similar_pairs,
    fingerprints,
)
from sluice.host.paths import ROOT

LAB = find_lab("elevator")
FILE = LAB.files[0]
GUIDE = ROOT / "book/pages/guides/instructors.md"

# ---- text ----

# What students got, the kernel's headers, and two students' solutions (MINE and OTHER)
SKELETON = {"a.c": "int next(int q) { return 0; }\n"}
HEADERS = ["struct queue { int head; }; int queue_at(struct queue *found, int best, int i);"]
BEST = """
static int best(int q, int head) {
    int found = -1;
    for (int i = 0; i < q; i++) {
        if (i >= head && (found < 0 || i < found)) { found = i; }
        while (found > 100) { found -= head * 3; head++; }
    }
    return found < 0 ? q : found;
}
"""
FAR = """
static int far(int q, int head) {
    while (q > head || head < 0) { q = q / 2 + queue_at(0, q, head); head += q & 3; }
    return q ? head : q - 1;
}
"""
NEXT = "int next(int q) { int h = q / 2; return best(q, h) + far(h, q); }\n"
MINE = BEST + FAR + NEXT
# Renamed so that names of the header stand for what the student chose, or no longer do.
RENAMED = {"best": "lowest", "far": "i2", "found": "x", "head": "best", "q": "head", "i": "found"}
OTHER = """
int next(int q) {
    if (!q) return -1;
    switch (q % 4) { case 0: return q; case 1: q += 2; break; default: q = q * q - 1; }
    do { q = (q << 1) ^ (q >> 3); if (q & 8) continue; q--; } while (q > 12 && q != 77);
    return next(q - 1) | 1;
}
"""


def rename_words(text: str) -> str:
    """Return the text with other names, spacing and comments."""
    made = re.sub(r"\w+", lambda match: RENAMED.get(match[0], match[0]), text)
    return "/* all my own work */\n" + made.replace("    ", "\t")


def find_accused(**texts: str) -> list[tuple[str, str, float]]:
    """Return the pairs that are alike, with the share of equal text."""
    handed = {name: {"a.c": text} for name, text in texts.items()}
    return [(p.one, p.other, p.share) for p in find_similar_pairs(handed, SKELETON, HEADERS)]


def test_renaming_and_reordering_hide_nothing_and_own_work_is_not_accused() -> None:
    """a is MINE, b is a copy with other names, or in another order; c is independent."""
    other_order = rename_words(FAR) + "int next(int);" + rename_words(BEST) + rename_words(NEXT)
    assert find_accused(a=MINE, b=rename_words(MINE), c=OTHER) == [("a", "b", 1)]
    assert find_accused(a=MINE, b=other_order, c=OTHER) == [("a", "b", 1)]


def test_the_skeleton_makes_nobody_alike() -> None:
    """Text that all students got does not count."""
    long = {"a.c": MINE + OTHER.replace("next", "after")}
    handed = dict.fromkeys("ab", long)
    assert find_similar_pairs(handed, long, []) == []
    assert len(find_similar_pairs(handed, SKELETON, [])) == 1


def test_names_of_the_headers_count_where_they_have_that_meaning() -> None:
    """A function's, constant's or field's name counts; a local variable of the same name does
    not."""
    text = "int f(int r) { return queue_at(r, BOTH) + r->head + other(1, 2, 3); }"
    known = collect_known_names(
        ["int queue_at(int r, int how); enum { BOTH }; struct s { int head; };"]
    )
    assert fingerprints(text, Known()) != fingerprints(text, known)
    same = text.replace("(r, B", "(head, B").replace("int r", "int head").replace("r->", "head->")
    assert fingerprints(text, known) == fingerprints(same, known)
    assert fingerprints(text, known) != fingerprints(text.replace("queue_at", "mine"), known)
    assert fingerprints(text, known) != fingerprints(text.replace("->head", "->tail"), known)
    tagged = text.replace("(r, B", "(s, B").replace("int r", "int s").replace("r->", "s->")
    assert fingerprints(text, known) == fingerprints(tagged, known), "s names a struct only"
    typed = text.replace("int r", "struct s *r")
    assert fingerprints(typed, known) != fingerprints(typed.replace("struct s", "struct t"), known)


# ---- behaviour ----


def make_submission(first: int, count: int = 4 * LEAST) -> Decisions:
    """Return decisions, which are numbers from the first on."""
    return frozenset(range(first, first + count))


RIGHT, FAULT, OWN_FAULT = make_submission(0), make_submission(1000), make_submission(2000)


def find_pairs(
    reference: Decisions, known: Decisions = frozenset(), **class_: Decisions
) -> list[Pair]:
    """Return the pairs of a class whose decisions are alike. known: decisions of known mistakes."""
    return behaviour.find_similar_pairs(class_, reference, known)


def test_shared_odd_decisions_are_found_and_right_ones_show_nothing() -> None:
    """ada and eve have the same fault, bob and cyd none, fay another."""
    class_ = {"ada": RIGHT | FAULT, "bob": RIGHT, "cyd": RIGHT, "eve": FAULT, "fay": OWN_FAULT}
    assert find_pairs(RIGHT, **class_) == [Pair("ada", "eve", 1.0, behaviour.SAYS)]


def test_known_and_common_mistakes_count_for_nobody() -> None:
    """A mistake of FEW students makes each two of them a pair; with one student more it makes
    none."""
    copies = {"ada": FAULT, "bob": FAULT}
    assert find_pairs(RIGHT, FAULT, **copies) == []
    many = {f"s{i}": FAULT for i in range(FEW + 1)}
    assert len(find_pairs(RIGHT, **dict(list(many.items())[:FEW]))) == FEW * (FEW - 1) / 2
    assert find_pairs(RIGHT, **many) == []


def test_a_few_odd_decisions_tell_nothing() -> None:
    """ada and bob share odd decisions, but one fewer than LEAST."""
    few = make_submission(5000, LEAST - 1)
    assert find_pairs(RIGHT, ada=RIGHT | few, bob=RIGHT | few) == []


def test_decisions_are_kept_as_text() -> None:
    assert behaviour.parse_decisions(behaviour.format_decisions(FAULT)) == FAULT


def grade_by_text(asked: dict[str, tuple[pairs.Files, str]]) -> dict[str, Decisions]:
    """Return decisions as gradings would. A file's text names its decisions (DECIDED); with a nonce
    other than 7 they may be others."""
    return {
        name: DECIDED.get((files[FILE], nonce), DECIDED.get(files[FILE], RIGHT))
        for name, (files, nonce) in asked.items()
    }


DECIDED = {"copied": FAULT, "own": OWN_FAULT, ("chance", "7"): FAULT, "chance": OWN_FAULT}


def test_a_pair_is_looked_at_with_more_nonces_and_mistakes_only_if_two_are_alike() -> None:
    """One student alone needs no comparison. Two that differ need the solution's decisions only. A
    pair is graded with more nonces, beside the skeleton and the known mistakes."""
    asked: list[str] = []

    def noted(more: dict[str, tuple[pairs.Files, str]]) -> dict[str, Decisions]:
        """Note the names of the gradings that are asked for, and return their decisions."""
        asked.extend(more)
        return grade_by_text(more)

    handed = {"ada": {FILE: "copied"}, "bob": {FILE: "copied"}, "cyd": {FILE: "own"}}
    seen = {name: DECIDED[files[FILE]] for name, files in handed.items()}
    assert (
        pairs.find_pairs_by_behaviour(LAB, {"cyd": handed["cyd"]}, {"cyd": OWN_FAULT}, "7", noted)
        == []
    )
    assert not asked
    two = {name: handed[name] for name in ("ada", "cyd")}
    assert pairs.find_pairs_by_behaviour(LAB, two, {n: seen[n] for n in two}, "7", noted) == []
    assert asked == ["solution"]
    alike_ = pairs.find_pairs_by_behaviour(LAB, handed, seen, "7", noted)
    assert alike_ == [Pair("ada", "bob", 1.0, behaviour.SAYS)]
    assert "skeleton" in asked and "wrong-falls" in asked
    assert sum(name.startswith("again-") for name in asked) == 3 * pairs.MORE_NONCES


def test_a_pair_that_decides_alike_with_one_nonce_only_is_not_accused() -> None:
    """dan's decisions equal ada's with the nonce 7 by chance."""
    handed = {"ada": {FILE: "copied"}, "dan": {FILE: "chance"}}
    seen = dict.fromkeys(handed, FAULT)
    assert behaviour.find_similar_pairs(seen, RIGHT)
    assert pairs.find_pairs_by_behaviour(LAB, handed, seen, "7", grade_by_text) == []


def test_answers_by_numbers_have_no_behaviour() -> None:
    """Each student has a machine of their own, so decisions differ by necessity."""
    lab = find_lab("first-block")
    handed = {name: {lab.files[0]: name} for name in ("ada", "bob")}
    assert (
        pairs.find_pairs_by_behaviour(lab, handed, dict.fromkeys(handed, FAULT), "7", pytest.fail)
        == []
    )


# ---- behaviour of real kernels ----

HEAD = """#include "kernel/policy/policy.h"
"""
ROW = """
static const struct policy clook = {
    .kind = POLICY_SCHED, .name = "clook", .about = "mine", .sched = {.next = %s}};
POLICY(clook);
"""
# A right solution, written apart from the reference.
RIGHT_BY_SEARCH = """
static struct request *lowest(struct queue *q, u64 from)
{
    return queue_at_or_after(q, BOTH, from);
}
static struct request *pick(struct queue *queue, u64 now)
{
    (void)now;
    u64 from = queue->head_sector;
    for (int round = 0; round < 2; round++, from = 0) {
        struct request *found = lowest(queue, from);
        if (found != NULL)
            return found;
    }
    return queue_oldest(queue, BOTH);
}
"""
# A fault of one's own: every seventh choice is the oldest request; and the same, rewritten.
FAULTY = """
static u64 served;
static bool turn(void)
{
    served++;
    return served % 7 == 0;
}
static struct request *choose(struct queue *q, u64 now_ns)
{
    (void)now_ns;
    if (turn())
        return queue_oldest(q, BOTH);
    return queue_circular(q, BOTH, q->head_sector);
}
"""
REWRITTEN = """
static bool is_seventh(void);
static struct request *decide(struct queue *waiting, u64 r)
{
    (void)r;
    struct request *found;
    if (!is_seventh())
        found = queue_circular(waiting, BOTH, waiting->head_sector);
    else
        found = queue_oldest(waiting, BOTH);
    return found;
}
static bool is_seventh(void)
{
    static u64 left = 7;
    if (--left)
        return false;
    left = 7;
    return true;
}
"""
# Another fault, another student's: every sixth.
OWN = FAULTY.replace("% 7", "% 6").replace("served", "n")
SOLUTIONS = {
    "search": RIGHT_BY_SEARCH + ROW % "pick",
    "faulty": FAULTY + ROW % "choose",
    "rewritten": REWRITTEN + ROW % "decide",
    "own": OWN + ROW % "choose",
}


NONCE = "7"
# With one nonce, two independent faults make 0 to 2.5 % of their odd decisions alike, by chance. So
# their share is taken over several, with FULL=1.
MORE_NONCES = ("8", "9")


def decisions(text: str, folder: Path, nonce: str = NONCE) -> Decisions:
    """Return what a kernel decides in one test."""
    seen: set[int] = set()
    record = grading.grade_submission(
        LAB,
        lambda: {FILE: text},
        folder,
        nonce,
        "make grade",
        "arrivals.each_reader_is_served_where_the_head_passes",
        watch=lambda bench: seen.update(behaviour.collect_decisions(bench)),
    )
    assert record.status == "graded", record.message
    return frozenset(seen)


def independent_faults(folder: Path, nonce: str) -> dict[str, Decisions]:
    """Return the odd decisions of two faults that have nothing to do with each other."""
    class_ = {
        name: decisions(HEAD + SOLUTIONS[name], folder / name, nonce) for name in ("faulty", "own")
    }
    reference = decisions(tree.pristine_text(FILE), folder / "reference", nonce)
    return behaviour.odd_decisions(class_, reference, frozenset())


def test_a_rewritten_fault_is_found_and_independent_solutions_are_not_accused(
    tmp_path: Path,
) -> None:
    """Real kernels: `rewritten` is a copy of `faulty` in other words, `own` has another fault, and
    `search` is right."""
    class_ = {name: decisions(HEAD + text, tmp_path / name) for name, text in SOLUTIONS.items()}
    reference = decisions(tree.pristine_text(FILE), tmp_path / "reference")
    odd = behaviour.odd_decisions(class_, reference, frozenset())
    assert len(odd["search"]) < LEAST
    assert min(len(odd[name]) for name in ("faulty", "rewritten", "own")) > 5 * LEAST
    assert [(pair.one, pair.other) for pair in behaviour.find_similar_pairs(class_, reference)] == [
        ("faulty", "rewritten")
    ]
    guide_count = int(re.search(r"readers with (\d+) decisions", GUIDE.read_text())[1])
    assert len(reference) == pytest.approx(guide_count, rel=0.02)
    if most := figure({12: 675}):  # of this kernel: it moves with what a call costs
        assert len(odd["faulty"]) == pytest.approx(most, rel=0.02)
    same = len(odd["faulty"] & odd["rewritten"])
    assert same > len(odd["faulty"]) / 2  # most of them, as the guide says
    if WHOLE and (shared := figure({12: 0.02, 14: 0.05})):  # under GCC 14 they share 3 %
        found = [odd, *(independent_faults(tmp_path / nonce, nonce) for nonce in MORE_NONCES)]
        common = sum(len(one["faulty"] & one["own"]) for one in found)
        assert common < shared * sum(len(one["faulty"] | one["own"]) for one in found)
    if figure({12: True}) and odd["faulty"] != odd["rewritten"]:
        # Expected are the same decisions, as on the kernel before order=journal. On this one the
        # other instruction counts of the rewritten source move 6 to 8 % of them.
        pytest.xfail(f"only {same} of {len(odd['faulty'])} odd decisions are the same")
