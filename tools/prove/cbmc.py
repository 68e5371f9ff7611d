"""Runs CBMC on the harness of a policy's kind, and says what it found.

- A claim that fails is refuted, and told as the calls and answers that lead there (proof_story.py).
- A line REACHED of the harness must fail. If it holds, the harness never gets to this line, so its
  claims are about no run: the proof is empty.
- Loops are unwound a number of times. CBMC asserts that no loop needs more.
- CBMC's own checks count as claims: pointers, bounds of arrays, divisions by zero, overflows of
  signed numbers, shifts.
"""

import json
import os
import re
import signal
import subprocess
import tempfile
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from sluice.host.fault import HostFault
from sluice.host.paths import BUILD, ROOT
from tools.prove.proof_story import tell_story

HERE = Path(__file__).parent
HARNESSES = HERE / "harness"
MODEL = HERE
PROMISES = HERE / "bounds.toml"
PROGRAM = BUILD / "cbmc" / "cbmc"
VERSION = "6.6.0"
HOW = "tools/fetch_cbmc.sh build/cbmc"
MEMORY = 4 * 10**9  # bytes that one CBMC may take
TOO_LONG = (signal.SIGXCPU, signal.SIGKILL)  # what ends a program whose processor time is over
OUT_OF_MEMORY = "ran out of memory"  # CBMC's words for its SAT solver
REACHED = "reached: "
OPTIONS = ("-Dunion=struct", "--unwinding-assertions", "--json-ui")
DRAIN = 2  # questions after which a queue of two requests is empty
INCLUDE = re.compile(r'^#include "(policies/lib/\w+)\.h"', re.MULTILINE)
SUCCESS, FAILURE = "SUCCESS", "FAILURE"

HARNESS = "harness: "  # begins a claim about the harness's own limits
ANY, DEFAULT, FEW = "any", "default", "few"  # values of the tunables: see Attempt
VALUES = {ANY: (), DEFAULT: ("-DDEFAULTS=1",), FEW: ("-DFEW=4",)}
PROVED, REFUTED, EMPTY, UNDECIDED, BROKEN = "proved", "refuted", "empty", "undecided", "broken"


@dataclass(frozen=True)
class Attempt:
    """How far a proof is to go: steps of the harness, and the values of the tunables.

    These are ANY of their ranges, their DEFAULT, or any of the FEW least of each range.
    """

    steps: int
    tunables: str = ANY

    def describe(self) -> str:
        """Return the attempt in words."""
        return f"{self.steps} steps, {self.tunables} tunables"


@dataclass(frozen=True)
class Promise:
    """A row of bounds.toml: what a policy promises, and what CBMC must be told about it."""

    age_ns: str = ""  # C over the policy's names: the age of a dirty block at most
    overtaken: str = ""  # by how many others a request is overtaken at most
    why: str = ""  # there is no such bound
    assume: str = ""  # C: what is taken for granted of the tunables, so that steps suffice
    never: tuple[str, ...] = ()  # lines REACHED to which this policy leads no run
    loops: tuple[str, ...] = ()  # --unwindset: loops of constant length
    drain: int = 0  # questions until a queue is empty
    values: str = ""  # of the tunables, the only ones that are tried: see Attempt
    steps: tuple[int, ...] = ()  # tried in turn, instead of the steps of the kind's plan
    simpler: tuple[str, ...] = ()  # changes of the source that make its formula small: 'old -> new'
    objects: dict[str, int] = field(default_factory=dict)  # arrays of structures, and their lengths


@dataclass
class Verdict:
    """The outcome of an attempt. claims: how many hold; story: the lines of a counterexample."""

    state: str
    why: str = ""
    claims: int = 0
    took_s: float = 0.0  # of a processor
    story: list[str] = field(default_factory=list)


def find_cbmc() -> Path:
    """Return CBMC as a program. Raises HostFault if it is not there or another version."""
    if not PROGRAM.exists():
        raise HostFault(
            f"CBMC {VERSION} is not there: fetch it, as root, with {HOW} (from Debian 13; "
            "nothing is installed)"
        )
    line = [str(PROGRAM), "--version"]
    said = subprocess.run(line, capture_output=True, text=True, encoding="utf-8", check=False)
    if not said.stdout.startswith(f"{VERSION} "):
        got = (said.stdout or said.stderr).strip() or "nothing"
        raise HostFault(f"{PROGRAM} --version says {got}, not {VERSION}: fetch it again with {HOW}")
    return PROGRAM


def build_promise(row: dict[str, Any]) -> Promise:
    """Return a row of bounds.toml."""
    values: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in row.items()}
    return Promise(**values)


@cache
def load_promises() -> dict[str, dict[str, Promise]]:
    """Return the rows of bounds.toml, by kind and policy."""
    rows = tomllib.loads(PROMISES.read_text(encoding="utf-8"))
    return {
        kind: {name: build_promise(row) for name, row in of_kind.items()}
        for kind, of_kind in rows.items()
    }


def promise_of(kind: str, name: str) -> Promise:
    """Return what a policy promises."""
    return load_promises().get(kind, {}).get(name, Promise())


def library_of(path: Path) -> list[str]:
    """Return the sources of policies/lib that a file needs, and those that they need.

    A part of the library that has a model (tools/prove/policies/lib/) needs no source.
    """
    found: list[str] = []
    waiting = [path]
    while waiting:
        for stem in INCLUDE.findall(waiting.pop().read_text(encoding="utf-8")):
            if f"{stem}.c" not in found and not (MODEL / f"{stem}.h").exists():
                found.append(f"{stem}.c")
                waiting += [ROOT / f"{stem}.c", ROOT / f"{stem}.h"]
    return sorted(found)


def defines_of(promise: Promise, attempt: Attempt) -> list[str]:
    """Return what the preprocessor is told."""
    values = {
        "PROOF_STEPS": str(attempt.steps),
        "AGE_NS": promise.age_ns,
        "OVERTAKEN": promise.overtaken,
        "ASSUMED": promise.assume,
        "DRAIN": str(promise.drain or DRAIN),
    }
    told = [f"-D{name}={value}" for name, value in values.items() if value]
    return [*told, *VALUES[attempt.tunables]]


def make_simpler(text: str, promise: Promise) -> str:
    """Return a policy's source with the changes of its row, each as 'old -> new'.

    Raises ValueError if an old text or an array does not stand in the source.
    """
    for change in promise.simpler:
        old, _, new = change.partition(" -> ")
        if old not in text:
            raise ValueError(f"bounds.toml: {old!r} does not stand in the source")
        text = text.replace(old, new)
    for name, length in promise.objects.items():
        text = split_array(text, name, length)
    return text


def split_array(text: str, name: str, length: int) -> str:
    """Return a policy's source with an object for each structure of an array.

    CBMC follows an array of structures as bytes if any of them may be meant. Raises ValueError if
    the source has no such array.
    """
    found = re.search(rf"static struct (\w* ?)(\{{[^{{}}]*\}}|) ?{name}\[([^\]]+)\];", text)
    if not found:
        raise ValueError(f"bounds.toml: the source has no array {name} of structures")
    parts = [f"{name}_{i}" for i in range(length)]
    choice = "".join(f"i == {i} ? &{part} : " for i, part in enumerate(parts[:-1]))
    of = f"struct {found[1].strip() or f'{name}_part'} "
    declared = (
        f"static {of}{found[2]} {', '.join(parts)}; "
        f'_Static_assert({found[3]} == {length}, "its length"); '
        f"static {of}*{name}_at(u64 i) "
        f'{{ CLAIM(i < {length}, "the index is in {name}"); return {choice}&{parts[-1]}; }}'
    )
    return (
        name_parts(text[: found.start()], name) + declared + name_parts(text[found.end() :], name)
    )


def name_parts(text: str, name: str) -> str:
    """Return a source in which each NAME[INDEX] is (*NAME_at(INDEX))."""
    made = ""
    while found := re.search(rf"\b{name}\[", text):
        depth, end = 1, found.end()
        while depth:
            depth += {"[": 1, "]": -1}.get(text[end], 0)
            end += 1
        made += f"{text[: found.start()]}(*{name}_at({text[found.end() : end - 1]}))"
        text = text[end:]
    return made + text


def build_line(source: Path, kind: str, name: str, attempt: Attempt, unwind: int) -> list[str]:
    """Return the command that checks a policy, whose file is `source`."""
    promise = promise_of(kind, name)
    # A union of structures is bytes to CBMC, which takes ten times as long. Here its members lie
    # side by side; the harness of replace policies claims that none uses both.
    return [
        str(find_cbmc()),
        *("-I", str(MODEL), "-I", str(ROOT), *OPTIONS),
        f'-DSUBJECT="{source}"',
        *defines_of(promise, attempt),
        *("--unwind", str(unwind)),
        *(("--unwindset", ",".join(promise.loops)) if promise.loops else ()),
        str(HARNESSES / f"{kind}.c"),
        *library_of(source),
    ]


def run_cbmc(line: Sequence[str], limit_s: int) -> tuple[list[dict[str, Any]] | None, float]:
    """Run CBMC for some processor seconds, and return its messages and the seconds that it took.

    The messages are None if the time or the memory did not suffice.
    """
    limits = ["prlimit", f"--as={MEMORY}", f"--cpu={max(limit_s, 1)}"]
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        child = subprocess.Popen([*limits, *line], cwd=ROOT, stdout=out, stderr=err)
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        err.seek(0)
        said, wrong = out.read().decode(), err.read().decode()
    took_s = usage.ru_utime + usage.ru_stime
    if -child.returncode in TOO_LONG or "bad_alloc" in wrong:
        return None, took_s
    try:
        messages: list[dict[str, Any]] = json.loads(said)
    except ValueError:
        if "memory" in said + wrong:
            return None, took_s
        error = f"status {child.returncode}: {wrong.strip() or said[-200:]}"
        return [{"messageType": "ERROR", "messageText": error}], took_s
    return messages, took_s


def results_of(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return CBMC's result for each property."""
    return [result for message in messages for result in message.get("result", [])]


def errors_of(messages: list[dict[str, Any]]) -> str:
    """Return CBMC's errors, as a line."""
    texts = (m["messageText"] for m in messages if m.get("messageType") == "ERROR")
    return "; ".join(" ".join(text.split()) for text in texts)


def place_of(result: dict[str, Any]) -> str:
    """Return where a property is, as FILE line N."""
    where = result.get("sourceLocation", {})
    return f"{where.get('file', '').removeprefix(f'{ROOT}/')} line {where.get('line', '')}"


def judge(results: list[dict[str, Any]], never: Sequence[str] = ()) -> Verdict:
    """Return what the properties' results mean.

    never: lines REACHED that no run may get to. Every claim must have the status SUCCESS, and there
    must be one at least. Where the harness is too small for a policy nothing is decided. The story
    of a refutation is left empty.
    """
    guards = [r for r in results if r["description"].startswith(REACHED)]
    claims = [r for r in results if r not in guards]
    unproved = [r for r in claims if r["status"] != SUCCESS]
    loops = [r for r in unproved if ".unwind." in r["property"] or "recursion" in r["property"]]
    failed = [r for r in unproved if r not in loops and r["status"] == FAILURE]
    too_small = [r for r in failed if r["description"].startswith(HARNESS)]
    if too_small:
        return Verdict(UNDECIDED, f"{too_small[0]['description']} ({place_of(too_small[0])})")
    if failed:
        return Verdict(REFUTED, f"{failed[0]['description']} ({place_of(failed[0])})")
    if loops:
        return Verdict(UNDECIDED, f"a loop needs more turns: {place_of(loops[0])}")
    if unproved:
        first = unproved[0]
        return Verdict(UNDECIDED, f"CBMC says {first['status']}: {first['description']}")
    if not claims:
        return Verdict(EMPTY, "the harness has no claim")
    return judge_guards(guards, never, len(claims))


def judge_guards(guards: list[dict[str, Any]], never: Sequence[str], claims: int) -> Verdict:
    """Return what the lines REACHED mean, of which each must fail, where all claims hold."""
    texts = {r["description"].removeprefix(REACHED) for r in guards}
    hit = {r["description"].removeprefix(REACHED) for r in guards if r["status"] == FAILURE}
    if not hit:
        return Verdict(EMPTY, "the harness has no line REACHED that a run gets to")
    missed = sorted(texts - hit - set(never))
    if missed:
        return Verdict(EMPTY, f"nothing is proved, as no run gets to this: {missed[0]}")
    wrong = sorted(set(never) & hit)
    if wrong:
        return Verdict(BROKEN, f"bounds.toml says that no run gets to this: {wrong[0]}")
    return Verdict(PROVED, claims=claims)


def check(
    source: Path, kind: str, name: str, attempt: Attempt, unwind: int, limit_s: int
) -> Verdict:
    """Prove a policy's claims or refute one of them, in some processor seconds.

    A source that the policy's row of bounds.toml makes simpler is checked as a copy, which has the
    same lines.
    """
    promise = promise_of(kind, name)
    if not promise.simpler and not promise.objects:
        return check_source(source, kind, name, attempt, unwind, limit_s)
    text = make_simpler(source.read_text(encoding="utf-8"), promise)
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / source.name
        copy.write_text(text, encoding="utf-8")
        return check_source(copy, kind, name, attempt, unwind, limit_s)


def check_source(
    source: Path, kind: str, name: str, attempt: Attempt, unwind: int, limit_s: int
) -> Verdict:
    """Prove the claims of a policy's source as it is, or refute one of them."""
    line = build_line(source, kind, name, attempt, unwind)
    messages, took_s = run_cbmc(line, limit_s)
    if messages is None:
        return Verdict(UNDECIDED, f"not in {limit_s} s of a processor", took_s=took_s)
    results = results_of(messages)
    if not results:
        return explain_nothing(errors_of(messages), took_s)
    verdict = judge(results, promise_of(kind, name).never)
    verdict.took_s = took_s
    if verdict.state == REFUTED:
        verdict.story = tell_counterexample(line, results, source, limit_s)
    return verdict


def explain_nothing(errors: str, took_s: float) -> Verdict:
    """Return the verdict where CBMC has no results: it was out of memory, or something is wrong."""
    if OUT_OF_MEMORY in errors:
        return Verdict(UNDECIDED, f"not in {MEMORY // 10**9} GB of memory", took_s=took_s)
    return Verdict(BROKEN, errors or "CBMC said nothing", took_s=took_s)


def tell_counterexample(
    line: list[str], results: list[dict[str, Any]], source: Path, limit_s: int
) -> list[str]:
    """Return the story of the first claim that fails: CBMC is run again for its trace."""
    failed = [r for r in results if r["status"] == FAILURE]
    first = next(r["property"] for r in failed if not r["description"].startswith(REACHED))
    messages, _ = run_cbmc([*line, "--trace", "--property", first], limit_s)
    traced = results_of(messages or [])
    steps = traced[0].get("trace", []) if traced else []
    return tell_story(steps, source)
