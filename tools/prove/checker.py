"""Runs CBMC on the harness of a policy's kind, and says what it found.

- A claim that fails is refuted, and told as the calls and answers that lead there (story.py).
- A line REACHED of the harness must fail. One that holds shows that the harness never gets there,
  so that its claims hold of nothing: the proof is empty.
- Loops are unwound a number of times. CBMC asserts that no loop needs more, unless a claim fails.
"""

import json
import re
import signal
import subprocess
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from sluice.host.fault import HostFault
from sluice.host.paths import BUILD, ROOT
from tools.prove.story import tell_story

HARNESSES = Path("tools/prove/harness")
MODEL = Path("tools/prove/model")
BOUNDS = Path("tools/prove/bounds")
PROGRAM = BUILD / "cbmc" / "cbmc"
VERSION = "6.6.0"
HOW = "tools/fetch_cbmc.sh build/cbmc"
CHECKS = ("--no-standard-checks", "--bounds-check", "--unwinding-assertions")
MEMORY = 6 * 10**9  # bytes that one CBMC may take
MOST_WAIT = 60  # a busy host gives a program so much less than a processor, at worst
TIMED_OUT = (124, 128 + signal.SIGXCPU, 128 + signal.SIGKILL)  # of timeout(1)
REACHED = "reached: "
INCLUDE = re.compile(r'^#include "(policies/lib/\w+)\.h"', re.MULTILINE)

PROVED, REFUTED, EMPTY, UNDECIDED, BROKEN = "proved", "refuted", "empty", "undecided", "broken"


@dataclass(frozen=True)
class Attempt:
    """How far a proof is to go: steps of the harness, whether tunables have any values."""

    steps: int
    any_tunables: bool

    def describe(self) -> str:
        """Return the attempt in words."""
        return f"{self.steps} steps, {'any' if self.any_tunables else 'default'} tunables"


@dataclass
class Verdict:
    """What came out. claims: the claims that hold; story: the lines of a counterexample."""

    state: str
    why: str = ""
    claims: list[str] = field(default_factory=list)
    story: list[str] = field(default_factory=list)


@cache
def find_cbmc() -> Path:
    """Return CBMC as a program. Raises HostFault if it is not there or another version."""
    if not PROGRAM.exists():
        raise HostFault(
            f"CBMC {VERSION} is not there: fetch it, as root, with {HOW} (Debian 13 has it; "
            "79 MB are fetched, 140 MB kept, and nothing is installed)"
        )
    line = [str(PROGRAM), "--version"]
    said = subprocess.run(line, capture_output=True, text=True, check=False)
    if not said.stdout.startswith(f"{VERSION} "):
        got = (said.stdout or said.stderr).strip() or "nothing"
        raise HostFault(f"{PROGRAM} --version says {got}, not {VERSION}: fetch it again with {HOW}")
    return PROGRAM


def library_of(path: Path) -> list[str]:
    """Return the sources of policies/lib that a file needs, and those that they need."""
    found: list[str] = []
    waiting = [path]
    while waiting:
        for stem in INCLUDE.findall(waiting.pop().read_text(encoding="utf-8")):
            if f"{stem}.c" not in found:
                found.append(f"{stem}.c")
                waiting += [ROOT / f"{stem}.c", ROOT / f"{stem}.h"]
    return sorted(found)


def bound_of(kind: str, name: str) -> Path | None:
    """Return the file that states a policy's bound, or None."""
    path = BOUNDS / kind / f"{name}.h"
    return path if (ROOT / path).exists() else None


def build_line(
    policy: Path, kind: str, attempt: Attempt, unwind: int, more: tuple[str, ...]
) -> list[str]:
    """Return the command that checks a policy."""
    bound = bound_of(kind, policy.stem)
    # A union of structures is laid out as bytes, which CBMC follows slowly. Here its members lie
    # side by side: no policy writes one and reads another.
    return [
        str(find_cbmc()),
        *("-I", str(ROOT / MODEL), "-I", str(ROOT), "-Dunion=struct"),
        *(f'-DSUBJECT="{policy}"', f"-DSTEPS={attempt.steps}"),
        *([f'-DBOUND="{bound}"'] if bound else []),
        *([] if attempt.any_tunables else ["-DDEFAULTS"]),
        *more,
        *("--unwind", str(unwind), *CHECKS, "--json-ui"),
        str(HARNESSES / f"{kind}.c"),
        *library_of(policy),
    ]


def run_cbmc(line: list[str], limit_s: int) -> list[dict[str, Any]] | None:
    """Run CBMC for some processor seconds. Returns its messages, or None if that or the memory did
    not suffice."""
    limits = ["timeout", "--foreground", str(limit_s * MOST_WAIT), "prlimit"]
    limits += [f"--as={MEMORY}", f"--cpu={limit_s}"]
    done = subprocess.run([*limits, *line], cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode in TIMED_OUT or "std::bad_alloc" in done.stderr or done.returncode < 0:
        return None
    try:
        messages: list[dict[str, Any]] = json.loads(done.stdout)
    except ValueError:
        out_of_memory = "memory" in done.stdout + done.stderr
        error = f"status {done.returncode}: {done.stderr.strip() or done.stdout[-200:]}"
        return None if out_of_memory else [{"messageType": "ERROR", "messageText": error}]
    return messages


def results_of(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return CBMC's result for each property."""
    return [result for message in messages for result in message.get("result", [])]


def errors_of(messages: list[dict[str, Any]]) -> str:
    """Return CBMC's errors, as a line."""
    texts = (m["messageText"] for m in messages if m.get("messageType") == "ERROR")
    return "; ".join(" ".join(text.split()) for text in texts)


def judge(results: list[dict[str, Any]]) -> Verdict:
    """Return what the properties' results mean. The story of a refutation is left empty."""
    failed = [r for r in results if r["status"] == "FAILURE"]
    wrong = [r for r in failed if not r["description"].startswith(REACHED)]
    guards = [r for r in results if r["description"].startswith(REACHED)]
    missed = sorted({r["description"] for r in guards} - {r["description"] for r in failed})
    claims = sorted({r["description"] for r in results if ".assertion." in r["property"]})
    claims = [text for text in claims if not text.startswith(REACHED)]
    loops = [r for r in wrong if ".unwind." in r["property"] or "recursion" in r["property"]]
    real = [r for r in wrong if r not in loops]
    if real:
        return Verdict(REFUTED, real[0]["description"])
    if loops:
        where = loops[0]["sourceLocation"]
        place = f"{where.get('file', '')} line {where.get('line', '')}"
        return Verdict(UNDECIDED, f"a loop needs more turns than --unwind: {place}")
    if missed or not guards:
        what = missed[0].removeprefix(REACHED) if missed else "the harness has no line REACHED"
        return Verdict(EMPTY, f"nothing is proved, as no run gets to this: {what}")
    return Verdict(PROVED, claims=claims)


def check(
    policy: Path,
    kind: str,
    attempt: Attempt,
    unwind: int,
    limit_s: int,
    more: tuple[str, ...] = (),
) -> Verdict:
    """Prove a policy's claims or refute one of them. more: further options of CBMC."""
    line = build_line(policy, kind, attempt, unwind, more)
    messages = run_cbmc(line, limit_s)
    if messages is None:
        return Verdict(UNDECIDED, f"not done in {limit_s} s of a processor, or in {MEMORY // 10**9} GB")
    results = results_of(messages)
    if not results:
        return Verdict(BROKEN, errors_of(messages) or "CBMC said nothing")
    verdict = judge(results)
    if verdict.state == REFUTED:
        [first] = [r["property"] for r in results if r["description"] == verdict.why][:1]
        messages = run_cbmc([*line, "--trace", "--property", first], limit_s)
        traced = results_of(messages or [])
        steps = traced[0].get("trace", []) if traced else []
        verdict.story = tell_story(steps, policy)
    return verdict
