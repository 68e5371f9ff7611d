"""`sluice dev prove`: bounded proofs of policies by CBMC 6.6.

Each kind has a harness (harness/KIND.c), which calls a policy's hooks in any order that the kind's
header allows. What is proved is bounded: so many steps, a few blocks or requests, loops so often.
A policy whose proof takes too long with any values of its tunables is proved with their defaults,
then with fewer steps; the table says how far it came. A verdict is kept in build/prove until a
source that it depends on changes, so that the same command goes on after ^C.
"""

import hashlib
import json
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import asdict, dataclass
from pathlib import Path

from sluice.host.nearest import suggest
from sluice.host.paths import BUILD, ROOT
from tools.prove import checker
from tools.prove.checker import Attempt, Verdict

FOLDER = BUILD / "prove"
KINDS = ("update", "write", "sched", "replace", "prefetch", "place", "order")
# What is tried in turn, until an attempt is decided.
ATTEMPTS = (Attempt(3, True), Attempt(3, False), Attempt(2, False))
UNWIND = {"replace": 5, "update": 7}  # loops of a kind; the others:
UNWIND_ELSE = 10
LIMIT_S = 60
SOURCES = ("tools/prove/model/*/*/*.h", "kernel/policy/*.h", "kernel/base/*.h", "policies/lib/*", "tools/prove/*.py")


@dataclass
class Proof:
    """A policy's verdict, the attempt that came to it, and how long all attempts took."""

    kind: str
    name: str
    attempt: Attempt
    verdict: Verdict
    took_s: float
    bound: bool


class NoPolicy(Exception):
    """A word names no policy; the text says which, and what there is."""


def list_policies() -> list[tuple[str, str]]:
    """Return kind and name of every policy under policies/."""
    paths = sorted(path for kind in KINDS for path in (ROOT / "policies" / kind).glob("*.c"))
    return [(path.parent.name, path.stem) for path in paths]


def select(words: list[str]) -> list[tuple[str, str]]:
    """Return the policies that the words name: KIND/NAME, KIND, or NAME. Raises NoPolicy."""
    known = list_policies()
    chosen = []
    for word in words:
        found = [p for p in known if word in (p[0], p[1], "/".join(p))]
        if not found:
            names = ["/".join(policy) for policy in known]
            raise NoPolicy(f"{word} is no policy, nor a kind of them: {suggest(word, names)}")
        chosen += [policy for policy in found if policy not in chosen]
    return chosen if words else known


def key_of(kind: str, name: str, unwind: int | None, limit_s: int) -> str:
    """Return a digest of all that a verdict depends on."""
    paths = [ROOT / "policies" / kind / f"{name}.c", *(ROOT / checker.HARNESSES).iterdir()]
    paths += [path for pattern in SOURCES for path in ROOT.glob(pattern)]
    bound = checker.bound_of(kind, name)
    paths += [ROOT / bound] if bound else []
    digest = hashlib.sha256(f"{unwind} {limit_s} {ATTEMPTS} {checker.VERSION}".encode())
    for path in sorted(path for path in paths if path.is_file()):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def prove(kind: str, name: str, unwind: int | None, limit_s: int) -> Proof:
    """Try to prove a policy, by each attempt in turn."""
    began = time.monotonic()
    path = Path("policies") / kind / f"{name}.c"
    turns = unwind or UNWIND.get(kind, UNWIND_ELSE)
    for attempt in ATTEMPTS:
        verdict = checker.check(path, kind, attempt, turns, limit_s)
        if verdict.state != checker.UNDECIDED:
            break
    bound = checker.bound_of(kind, name) is not None
    return Proof(kind, name, attempt, verdict, time.monotonic() - began, bound)


def prove_once(kind: str, name: str, unwind: int | None, limit_s: int) -> Proof:
    """Return the kept verdict if nothing has changed since, or else prove the policy."""
    kept = FOLDER / f"{kind}-{name}.json"
    key = key_of(kind, name, unwind, limit_s)
    if kept.exists():
        fields = json.loads(kept.read_text(encoding="utf-8"))
        if fields.pop("key") == key:
            attempt, verdict = Attempt(**fields.pop("attempt")), Verdict(**fields.pop("verdict"))
            return Proof(attempt=attempt, verdict=verdict, **fields)
    proof = prove(kind, name, unwind, limit_s)
    FOLDER.mkdir(parents=True, exist_ok=True)
    text = json.dumps({**asdict(proof), "key": key}, indent=1)
    partial = kept.with_suffix(".partial")
    partial.write_text(text, encoding="utf-8")
    partial.replace(kept)
    return proof


def prove_all(chosen: list[tuple[str, str]], unwind: int | None, limit_s: int, jobs: int) -> Iterator[Proof]:
    """Yield the proof of each policy as soon as it is done. After ^C no other begins."""
    with ThreadPoolExecutor(jobs) as pool:
        try:
            proofs = [pool.submit(prove_once, *policy, unwind, limit_s) for policy in chosen]
            for done in as_completed(proofs):
                yield done.result()
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def format_proof(proof: Proof) -> str:
    """Return the lines about one policy: its verdict, and the story of a refutation."""
    verdict = proof.verdict
    head = f"{proof.kind}/{proof.name}: {verdict.state}, {proof.attempt.describe()}"
    lines = [f"{head}, {proof.took_s:.1f} s" + (f": {verdict.why}" if verdict.why else "")]
    return "\n".join(lines + [f"    {line}" for line in verdict.story])


def run_proofs(
    words: list[str], unwind: int | None, limit_s: int, jobs: int
) -> bool:
    """Prove the policies that the words name. Returns true if none was refuted, empty or broken.
    Raises HostFault without CBMC, NoPolicy for a word that names no policy."""
    chosen = select(words)
    checker.find_cbmc()
    proofs = []
    for proof in prove_all(chosen, unwind, limit_s, jobs):
        proofs.append(proof)
        print(f"[{len(proofs)}/{len(chosen)}] {format_proof(proof)}", flush=True)
    states = [proof.verdict.state for proof in proofs]
    counts = {state: states.count(state) for state in dict.fromkeys(states)}
    print(", ".join(f"{count} {state}" for state, count in counts.items()))
    return all(state in (checker.PROVED, checker.UNDECIDED) for state in states)
