"""Bounded proofs of policies (tools/prove): a harness proves something only if every claim holds
and its runs get where the claims are; and a planted fault in a policy of each kind is found.

A harness is a program in C that calls a policy's hooks with any values for a few steps. The checker
CBMC decides each of its claims: SUCCESS if it holds in all runs, FAILURE if not. A line marked
REACHED is a claim that must fail, which shows that some run gets there. `judge` turns CBMC's
results into a verdict: proved, refuted, undecided, empty (nothing was claimed or reached) or
broken.

Tests that need CBMC are skipped where nobody has fetched it (tools/fetch_cbmc.sh build/cbmc).
"""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from sluice.host import page_tables
from sluice.host.fault import HostFault
from sluice.host.paths import ROOT
from tools.prove import cbmc as checker
from tools.prove import command
from tools.prove.cbmc import Attempt, Promise, Verdict, judge
from tools.prove.plans import PLANS

LIMIT_S = 30  # of a processor; each takes some seconds


def claim(text: str, status: str, of: str = "try_step.assertion.1") -> dict[str, Any]:
    """Return a result of CBMC: the text of a claim, its status, and the name of its property."""
    return {"property": of, "description": text, "status": status}


REACHED = claim("reached: the end", "FAILURE")


def test_only_the_success_of_every_claim_is_a_proof() -> None:
    """claim(name, status): what CBMC says of a claim; REACHED: that the end of the harness was
    reached."""
    assert judge([claim("holds", "SUCCESS"), REACHED]) == Verdict(checker.PROVED, claims=1)
    refuted = judge([claim("holds", "SUCCESS"), claim("breaks", "FAILURE"), REACHED])
    assert refuted.state == checker.REFUTED
    assert refuted.why.startswith("breaks")
    for status in ("UNKNOWN", "ERROR", "NOT_CHECKED"):
        assert judge([claim("holds", status), REACHED]).state == checker.UNDECIDED


def test_a_limit_of_the_harness_refutes_nothing() -> None:
    """A claim that begins with "harness:" is about the harness. If it fails, no other failure
    counts."""
    small = claim("harness: the region is large enough", "FAILURE")
    verdict = judge([claim("breaks", "FAILURE"), small, REACHED])
    assert verdict.state == checker.UNDECIDED
    assert verdict.why.startswith("harness: the region is large enough")


def test_a_proof_has_a_claim_and_a_line_that_is_reached() -> None:
    """The second argument of judge lists lines that need not be reached."""
    assert judge([]).state == checker.EMPTY
    assert judge([REACHED]).state == checker.EMPTY
    assert judge([claim("holds", "SUCCESS")]).state == checker.EMPTY
    missed = [claim("holds", "SUCCESS"), REACHED, claim("reached: a scan", "SUCCESS")]
    assert judge(missed).state == checker.EMPTY
    assert judge(missed, ["a scan"]).state == checker.PROVED
    assert judge(missed, ["the end"]).state == checker.EMPTY


def test_a_line_that_is_said_to_be_never_reached_and_is_reached_is_a_fault() -> None:
    assert judge([claim("holds", "SUCCESS"), REACHED], ["the end"]).state == checker.BROKEN


def test_a_loop_that_was_cut_proves_nothing() -> None:
    """CBMC runs loops a limited number of times. A failed "unwinding assertion" says that a loop
    needs more. A claim that fails all the same is refuted."""
    cut = claim("unwinding assertion loop 0", "FAILURE", "main.unwind.0")
    assert judge([claim("holds", "SUCCESS"), REACHED, cut]).state == checker.UNDECIDED
    broken = claim("breaks", "FAILURE")
    assert judge([broken, REACHED, cut]).state == checker.REFUTED


def test_a_formula_that_is_too_large_for_memory_refutes_nothing() -> None:
    verdict = checker.explain_nothing("SAT checker ran out of memory", 3.0)
    assert verdict.state == checker.UNDECIDED
    assert verdict.why == "not in 4 GB of memory"
    assert checker.explain_nothing("cannot open file", 0.0).state == checker.BROKEN
    assert checker.explain_nothing("", 0.0).why == "CBMC said nothing"


def test_promises_are_of_policies_that_there_are() -> None:
    """Each update policy promises an age, and each scheduler how often a request is overtaken; or a
    reason says why it does not."""
    known = set(command.list_policies())
    for kind, rows in checker.load_promises().items():
        assert {(kind, name) for name in rows} <= known
    for kind, name in known:
        promise = checker.promise_of(kind, name)
        if kind == "update":
            assert bool(promise.age_ns) != bool(promise.why), name
        if kind == "sched":
            assert bool(promise.overtaken) != bool(promise.why), name


def test_what_makes_a_source_simpler_stands_in_it() -> None:
    """For a proof, a policy's row may replace texts of its source, such as a size. The texts must
    be there, and no line may move."""
    for kind, rows in checker.load_promises().items():
        for name, promise in rows.items():
            text = (ROOT / "policies" / kind / f"{name}.c").read_text(encoding="utf-8")
            simpler = checker.make_simpler(text, promise)
            assert (simpler == text) == (not promise.simpler and not promise.objects), name
            assert simpler.count("\n") == text.count("\n"), name
    with pytest.raises(ValueError, match=r"MORE 8.* does not stand in the source"):
        checker.make_simpler("MORE 7", Promise(simpler=("MORE 8 -> MORE 2",)))


def test_each_structure_of_an_array_becomes_an_object() -> None:
    """CBMC reasons faster about single objects than about an array, so split_array replaces an
    array by objects and a function that chooses one of them."""
    text = "static struct {\n    u64 n;\n} parts[PARTS];\nu64 f(u64 i) { return parts[of[i]].n; }"
    split = checker.split_array(text, "parts", 2)
    assert "parts[" not in split
    assert split.endswith("u64 f(u64 i) { return (*parts_at(of[i])).n; }")
    assert "struct parts_part {\n    u64 n;\n} parts_0, parts_1;" in split
    assert "return i == 0 ? &parts_0 : &parts_1;" in split
    named = checker.split_array(text.replace("struct {", "struct part {"), "parts", 2)
    assert "static struct part *parts_at(u64 i) " in named
    lists = checker.split_array("static struct list heads[N];", "heads", 1)
    assert lists.startswith("static struct list  heads_0; _Static_assert(N == 1, ")
    with pytest.raises(ValueError, match="no array part of structures"):
        checker.split_array(text, "part", 2)


def test_a_part_of_the_library_that_has_a_model_needs_no_source() -> None:
    assert checker.library_of(ROOT / "policies" / "replace" / "arc.c") == []
    assert checker.library_of(ROOT / "policies" / "sched" / "sluice.c") == []
    assert "policies/lib/marks.c" in checker.library_of(ROOT / "policies" / "update" / "ahlw.c")


@pytest.mark.parametrize(
    ("policy", "tried", "proved"),
    [("aipu", [checker.ANY, checker.DEFAULT, checker.FEW], 2), ("none", [checker.ANY], 0)],
)
def test_fewer_values_are_tried_where_there_are_tunables(
    policy: str, tried: list[str], proved: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A proof is tried with any values of the tunables (ANY), then with their defaults, then with
    the few least values (FEW), until one succeeds. Here only the last does."""
    first = PLANS["update"].steps[0]
    seen: list[Attempt] = []
    states = {checker.ANY: checker.UNDECIDED, checker.DEFAULT: checker.EMPTY}

    def check(source: Path, kind: str, name: str, attempt: Attempt, *limits: int) -> Verdict:
        """Note the attempt, and return the verdict that this test has for its tunables."""
        seen.append(attempt)
        more = checker.PROVED if attempt.steps == first else checker.UNDECIDED
        return Verdict(states.get(attempt.tunables, more))

    monkeypatch.setattr(checker, "check", check)
    source = ROOT / "policies" / "update" / f"{policy}.c"
    proof = command.prove(source, "update", policy, 20)
    assert [attempt.tunables for attempt in seen if attempt.steps == first] == tried
    assert proof.steps == proved
    assert proof.tunables == tried[-1]
    assert proof.state == (checker.PROVED if proved else checker.UNDECIDED)
    assert command.make_row(proof)[5] == "20"


def test_only_the_steps_and_values_are_tried_that_the_row_names(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The row of promises names 1 and 5 steps with few values; 1 is proved and 5 is not, so the
    proof is of 1 step."""
    seen: list[Attempt] = []

    def check(source: Path, kind: str, name: str, attempt: Attempt, *limits: int) -> Verdict:
        seen.append(attempt)
        return Verdict(checker.PROVED if attempt.steps == 1 else checker.UNDECIDED, took_s=9)

    monkeypatch.setattr(checker, "check", check)
    row = Promise(values=checker.FEW, steps=(1, 5))
    monkeypatch.setattr(checker, "promise_of", lambda kind, name: row)
    source = ROOT / "policies" / "update" / "aipu.c"
    proof = command.prove(source, "update", "aipu", 20)
    assert seen == [Attempt(1, checker.FEW), Attempt(5, checker.FEW)]
    assert (proof.state, proof.steps) == (checker.PROVED, 1)


def test_the_row_of_a_policy_says_what_is_assumed_of_its_tunables() -> None:
    proof = command.Proof("sched", "x", 2, checker.ANY, 20, 5, 1.0, checker.PROVED, "", [])
    deadline = replace(proof, name="deadline")
    assumed = checker.promise_of("sched", "deadline").assume
    assert f"assumed: `{assumed}`" in command.make_row(deadline)[7]
    assert command.make_row(replace(proof, name="fcfs"))[7] == ""


def test_each_kind_has_a_harness_with_claims_and_a_line_that_must_be_reached() -> None:
    kinds = {path.name for path in (ROOT / "policies").iterdir() if path.is_dir()} - {"lib"}
    assert kinds == set(command.KINDS) == set(PLANS)
    for kind in kinds:
        text = (checker.HARNESSES / f"{kind}.c").read_text(encoding="utf-8")
        assert "CLAIM(" in text
        assert "REACHED(" in text


def test_the_page_has_a_row_for_each_policy_and_says_how_many_are_proved() -> None:
    rows = page_tables.read_rows(command.PAGE, command.PROOFS)
    assert {row[0] for row in rows} == {"/".join(policy) for policy in command.list_policies()}
    states = [row[command.HEAD.index("verdict")] for row in rows]
    assert set(states) <= {checker.PROVED, checker.UNDECIDED}
    said = f"{states.count(checker.PROVED)} of the {len(rows)} policies are proved"
    assert said in command.PAGE.read_text(encoding="utf-8")


def test_a_word_that_names_no_policy_is_refused() -> None:
    assert command.select(["fcfs"]) == [("sched", "fcfs")]
    assert ("order", "sync") in command.select(["order"])
    with pytest.raises(command.NoPolicy, match="fcsf is no policy"):
        command.select(["fcsf"])


def test_without_cbmc_the_command_says_how_to_fetch_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(checker, "PROGRAM", tmp_path / "cbmc")
    with pytest.raises(HostFault, match=r"tools/fetch_cbmc\.sh build/cbmc"):
        checker.find_cbmc()


@pytest.fixture
def cbmc() -> Path:
    """Return CBMC, or skip with words."""
    try:
        return checker.find_cbmc()
    except HostFault as fault:
        pytest.skip(str(fault))


@dataclass(frozen=True)
class Fault:
    """A change of a policy's source, a part of the claim that it must break, and after how many
    steps."""

    old: str
    new: str
    breaks: str
    steps: int = 2


FAULTS = {
    "order/sync": Fault("return ORDER_NOW", "return ORDER_LOGGED", "logged exactly if"),
    "write/throttled": Fault("+ 99) / 100", ") / 100", "one block at least may be dirty"),
    "prefetch/oneblock": Fault("end >= a->file", "end > a->file", "lies in the file"),
    "update/pu": Fault("NS_PER_MS;", "NS_PER_MS * 2;", "older than the policy promises"),
    "update/aipu": Fault(
        "last_ns + tunables[SCAN_MS].value", "last_ns + 3 * tunables[SCAN_MS].value", "older than"
    ),
    "sched/fcfs": Fault("q, BOTH", "q, READS", "overtaken more often"),
    "sched/clook": Fault("q, BOTH, 0", "q, BOTH, 1", "what is queued goes"),
    "sched/freeblock": Fault("return candidate;", "return NULL;", "what is queued goes"),
    "replace/lru": Fault("    list_remove(", "    (void)(", "the victim is evictable", 4),
    "replace/arc": Fault("&b2, next", "&b2, memory.start", "do not share their room"),
    "replace/car": Fault("3 * buffers", "2 * buffers", "the room of ghost entries"),
    "place/eager": Fault("slots_nearest_of_all(&p)", "q->head_sector / SLOT * SLOT", "is free"),
    "prefetch/leap": Fault("first + a->nblocks >", "first >", "lies in the file"),
    "place/inplace": Fault(
        "static const",
        "static u64 behind(const struct queue *q, const struct request *r, u64 now_ns)\n"
        "{\n    return r->sector + q->nsectors / 2;\n}\n\nstatic const",
        "the place lies on the disk",
    ),
}


def plant(name: str, folder: Path) -> Path:
    """Return a copy of a policy with its fault."""
    fault = FAULTS[name]
    text = (ROOT / "policies" / f"{name}.c").read_text(encoding="utf-8")
    assert fault.old in text
    changed = text.replace(fault.old, fault.new)
    if name == "place/inplace":
        changed = changed.replace(".kind =", ".place.place = behind, .kind =")
    path = folder / "planted.c"
    path.write_text(changed, encoding="utf-8")
    return path


@pytest.mark.parametrize("name", FAULTS)
def test_a_planted_fault_is_found_and_told(name: str, cbmc: Path, tmp_path: Path) -> None:
    kind, policy = name.split("/")
    attempt = Attempt(FAULTS[name].steps)
    unwind = PLANS[kind].unwind
    verdict = checker.check(plant(name, tmp_path), kind, policy, attempt, unwind, LIMIT_S)
    assert verdict.state == checker.REFUTED, verdict
    assert FAULTS[name].breaks in verdict.why
    assert FAULTS[name].breaks in verdict.story[-1]


QUICK = ("order/sync", "write/throttled", "prefetch/oneblock", "update/pu", "sched/fcfs",
         "replace/lru", "place/inplace")  # fmt: skip


@pytest.mark.parametrize("name", QUICK)
def test_a_proof_whose_runs_get_nowhere_is_empty(
    name: str, cbmc: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The assumption "false" is added to the policy's row. Then no run is possible, so every claim
    holds. The verdict is still no proof, because no run gets to the line that must be reached."""
    kind, policy = name.split("/")
    source = ROOT / "policies" / f"{name}.c"
    unwind = PLANS[kind].unwind
    attempt = Attempt(PLANS[kind].steps[0])
    proved = checker.check(source, kind, policy, attempt, unwind, LIMIT_S)
    assert proved.state == checker.PROVED, proved
    promised = checker.promise_of(kind, policy)
    nothing = Promise(promised.age_ns, promised.overtaken, promised.why, "false", promised.never)
    monkeypatch.setattr(checker, "promise_of", lambda kind, name: nothing)
    empty = checker.check(source, kind, policy, attempt, unwind, LIMIT_S)
    assert empty.state == checker.EMPTY, empty
