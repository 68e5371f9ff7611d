"""`sluice dev prove`: bounded proofs of policies by CBMC 6.6.

A proof is bounded: so many steps of the harness, two blocks or requests. It begins with few steps
and goes on to more, until a kind's number is reached or the time is over; the table says how far it
came. What is not proved with any values of the tunables is tried with their defaults, and then with
the few least values of each range, unless bounds.toml says which to try. A verdict is kept in
build/prove until a source that it depends on changes, so that the same command goes on after ^C.

The status is 0 if no claim is refuted, 1 if one is, and 2 without CBMC or for a word that names no
policy.
"""

import hashlib
import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import asdict, dataclass
from pathlib import Path

from sluice.experiment.aligned import format_table
from sluice.host import interrupt, page_tables
from sluice.host.nearest import suggest
from sluice.host.paths import BUILD, ROOT
from tools.prove import cbmc as checker
from tools.prove import proof_mutants
from tools.prove.cbmc import Attempt, Verdict
from tools.prove.plans import PLANS

FOLDER = BUILD / "prove"
KINDS = ("update", "write", "sched", "replace", "prefetch", "place", "order")
PAGE = ROOT / "book" / "pages" / "inside" / "proofs.md"  # of the book: --page
PROOFS, MUTANTS = "<!-- table: proofs -->", "<!-- table: mutated -->"

SOURCES = ("kernel/policy/*.h", "kernel/base/*.h", "policies/lib/*", "tools/prove/*/**/*.h")


@dataclass
class Proof:
    """The result for a policy.

    steps: how many are proved, 0 if none. more: the verdict on more steps, which stopped the proof.
    """

    kind: str
    name: str
    steps: int
    tunables: str  # the values that they have, as in an Attempt
    limit_s: int  # of a processor, that were allowed
    claims: int
    took_s: float  # of a processor, in all
    state: str
    why: str
    story: list[str]


class NoPolicy(Exception):
    """A word names no policy; the text says which, and what there is."""


def list_policies() -> list[tuple[str, str]]:
    """Return kind and name of every policy under policies/."""
    paths = [path for kind in KINDS for path in sorted((ROOT / "policies" / kind).glob("*.c"))]
    return [(path.parent.name, path.stem) for path in paths]


def select(words: list[str]) -> list[tuple[str, str]]:
    """Return the policies that the words name: KIND/NAME, KIND, or NAME. Raises NoPolicy."""
    known = list_policies()
    chosen: list[tuple[str, str]] = []
    for word in words:
        found = [p for p in known if word in (p[0], p[1], "/".join(p))]
        if not found:
            names = ["/".join(policy) for policy in known]
            raise NoPolicy(f"{word} is no policy, nor a kind of them: {suggest(word, names)}")
        chosen += [policy for policy in found if policy not in chosen]
    return chosen if words else known


def key_of(kind: str, name: str, limit_s: int) -> str:
    """Return a digest of all that a verdict depends on."""
    paths = [ROOT / "policies" / kind / f"{name}.c", checker.HARNESSES / f"{kind}.c"]
    paths += [path for pattern in SOURCES for path in ROOT.glob(pattern)]
    told = (limit_s, checker.VERSION, PLANS[kind], checker.promise_of(kind, name), checker.OPTIONS)
    digest = hashlib.sha256(repr(told).encode())
    for path in sorted(paths):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def prove(source: Path, kind: str, name: str, limit_s: int) -> Proof:
    """Prove a policy, whose file is `source`, for more and more steps, in some seconds in all."""
    plan, left_s = PLANS[kind], float(limit_s)
    promise = checker.promise_of(kind, name)
    waiting, only = list(promise.steps or plan.steps), promise.values
    tunable = ".tunables =" in source.read_text(encoding="utf-8")
    weaker = [checker.DEFAULT, checker.FEW] if tunable and not only else []
    attempt = Attempt(waiting[0], only or checker.ANY)
    proof = Proof(kind, name, 0, attempt.tunables, limit_s, 0, 0.0, checker.UNDECIDED, "", [])
    while waiting and left_s >= 1:
        attempt = Attempt(waiting[0], attempt.tunables)
        # Half of the time for one set of values, if not even the fewest steps are proved by then.
        share = left_s / 2 if weaker and not proof.steps else left_s
        verdict = checker.check(source, kind, name, attempt, plan.unwind, int(share))
        left_s -= verdict.took_s
        proof.took_s += verdict.took_s
        proof.tunables = attempt.tunables
        proof.state, proof.why, proof.story = verdict.state, verdict.why, verdict.story
        if verdict.state == checker.PROVED:
            proof.steps, proof.claims = attempt.steps, verdict.claims
            waiting.pop(0)
        elif weaker and not proof.steps and is_open(verdict, attempt):
            attempt = Attempt(attempt.steps, weaker.pop(0))
        else:
            break
    if proof.state == checker.EMPTY and attempt.tunables != checker.ANY:
        proof.state = checker.UNDECIDED
    if proof.steps and proof.state == checker.UNDECIDED:
        proof.state, proof.why = checker.PROVED, f"{attempt.steps} steps: {proof.why}"
    return proof


def is_open(verdict: Verdict, attempt: Attempt) -> bool:
    """Return True if other values of the tunables may yet be proved.

    It is no fault if the few steps of an attempt are too short to reach the claims with the
    defaults, for instance with a default of 30 s.
    """
    too_short = verdict.state == checker.EMPTY and attempt.tunables == checker.DEFAULT
    return too_short or verdict.state == checker.UNDECIDED


def prove_once(kind: str, name: str, limit_s: int) -> Proof:
    """Return the kept verdict if nothing has changed since, or else prove the policy."""
    kept = FOLDER / f"{kind}-{name}.json"
    key = key_of(kind, name, limit_s)
    if kept.exists():
        fields = json.loads(kept.read_text(encoding="utf-8"))
        if fields.pop("key") == key:
            return Proof(**fields)
    proof = prove(ROOT / "policies" / kind / f"{name}.c", kind, name, limit_s)
    if interrupt.stopped.is_set():
        return proof
    FOLDER.mkdir(parents=True, exist_ok=True)
    partial = kept.with_suffix(".partial")
    partial.write_text(json.dumps({**asdict(proof), "key": key}, indent=1), encoding="utf-8")
    partial.replace(kept)
    return proof


def prove_all(chosen: list[tuple[str, str]], limit_s: int, jobs: int) -> Iterator[Proof]:
    """Yield the proof of each policy as soon as it is done. After ^C no other begins."""
    with ThreadPoolExecutor(jobs) as pool:
        try:
            proofs = [pool.submit(prove_once, *policy, limit_s) for policy in chosen]
            for done in as_completed(proofs):
                yield done.result()
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def make_row(proof: Proof) -> list[str]:
    """Return a policy's row of the table."""
    reached = [str(proof.steps), proof.tunables, str(proof.claims)] if proof.steps else ["", "", ""]
    name = f"{proof.kind}/{proof.name}"
    promise = checker.promise_of(proof.kind, proof.name)
    objects = ", ".join(f"objects for `{one}[]`" for one in promise.objects)
    simpler = ", ".join(filter(None, [objects, *(f"`{one}`" for one in promise.simpler)]))
    assumed = promise.assume and f"assumed: `{promise.assume}`"
    parts = (proof.why, assumed, simpler and f"simpler: {simpler}")
    why = "; ".join(part for part in parts if part)
    return [name, *reached, f"{proof.took_s:.1f}", str(proof.limit_s), proof.state, why]


HEAD = ["policy", "steps", "tunables", "claims", "s", "of s", "verdict", "why not more"]


def print_story(proof: Proof) -> None:
    """Print the calls and answers that lead to a claim that fails."""
    if proof.story:
        print(f"{proof.kind}/{proof.name}: {proof.why}")
        print("\n".join(f"  {line}" for line in proof.story))


@dataclass(frozen=True)
class Request:
    """The command's options. mutants: try this many of each policy instead, drawn by the seed."""

    words: list[str]
    limit_s: int  # of a processor, for each policy
    jobs: int
    mutants: int = 0
    seed: int = 1
    page: bool = False  # put the figures into the book's page


def run_request(request: Request) -> int:
    """Plant mutants in the policies that the words name, or prove them. Returns the exit status.

    Raises HostFault without CBMC, NoPolicy for a word that names no policy.
    """
    chosen = select(request.words)
    if not request.mutants:
        return run_proofs(chosen, request)
    rows = proof_mutants.run_mutants(chosen, request.mutants, request.seed, request.jobs)
    if request.page:
        page_tables.put_table(PAGE, MUTANTS, rows)
    return 0


def run_proofs(chosen: list[tuple[str, str]], request: Request) -> int:
    """Prove policies, and print a table. Returns the exit status."""
    checker.find_cbmc()
    proofs = []
    for proof in prove_all(chosen, request.limit_s, request.jobs):
        proofs.append(proof)
        said = f"{proof.kind}/{proof.name}: {proof.state}"
        print(f"[{len(proofs)}/{len(chosen)}] {said}, {proof.took_s:.1f} s", flush=True)
        print_story(proof)
    proofs.sort(key=lambda proof: chosen.index((proof.kind, proof.name)))
    rows = [make_row(proof) for proof in proofs]
    print("\n".join(format_table([HEAD, *rows], words=(7,))))
    if request.page:
        page_tables.put_rows(PAGE, PROOFS, rows)
    states = [proof.state for proof in proofs]
    print(", ".join(f"{states.count(state)} {state}" for state in dict.fromkeys(states)))
    bad = (checker.REFUTED, checker.EMPTY, checker.BROKEN)
    return int(any(state in bad for state in states))
