"""Hits of the simulator of Caffeine, a cache for Java, which Ben Manes and others wrote.

The simulator is what pom.xml pins, from Maven Central by the program mvn. It needs Java 25, which
other_java.sh fetches from Debian 13. Both are fetched once, into build/judges.
"""

import csv
import shutil
import subprocess
from pathlib import Path

from sluice.host.paths import BUILD, ROOT
from sluice.system.qemu import die_with_parent

NAME = "Caffeine 3.2.3"
HERE = Path(__file__).parent
FOLDER = BUILD / "judges"
SUITE, JAVA = "trixie", "25"
MAIN = "com.github.benmanes.caffeine.cache.simulator.Simulator"
LIMIT_S = 600
OPTIMUM = "optimum"
POLICIES = {
    "lru": "linked.Lru",
    "clock": "linked.Clock",
    "sieve": "linked.Sieve",
    "2q": "two-queue.TwoQueue",
    "s3fifo": "two-queue.S3Fifo",
    "wtinylfu": "sketch.WindowTinyLfu",
    "lirs": "irr.Lirs",
    "clockpro": "irr.ClockPro",
    "arc": "adaptive.Arc",
    "car": "adaptive.Car",
    OPTIMUM: "opt.Clairvoyant",
}
# Parameters of the policies are set as in Sluice: a quarter of the cache for 2Q's A1in, and names
# of as many evicted blocks as the cache has blocks. W-TinyLFU counts each block by itself, so no
# hash decides, and lets no block in by chance.
SETTINGS = {
    "report.format": "csv",
    "admission.0": "Always",
    "two-queue.percent-in": "0.25",
    "lirs.non-resident-multiplier": "1.0",
    "clockpro.non-resident-multiplier": "1.0",
    "tiny-lfu.sketch": "perfect-table",
    "tiny-lfu.jitter.enabled": "false",
}


class JudgeMissing(Exception):
    """A judge that cannot be had here; the text says why."""


def run_quietly(words: list[str | Path]) -> str:
    """Return what a program prints. Raises JudgeMissing, with its last words, if it fails."""
    if not shutil.which(words[0]):
        raise JudgeMissing(f"{words[0]} is not installed (Debian: apt-get install maven)")
    done = subprocess.run(words, capture_output=True, encoding="utf-8", check=False)
    if done.returncode:
        last = (done.stdout + done.stderr).strip().splitlines()[-3:]
        raise JudgeMissing(f"{Path(words[0]).name} failed: {' '.join(last)}")
    return done.stdout


def fetch_jars() -> Path:
    """Return the folder of the simulator and its libraries. Raises JudgeMissing."""
    pins, jars = HERE / "pom.xml", FOLDER / "jars"
    mark = jars / "pom.xml"
    if not mark.exists() or mark.read_bytes() != pins.read_bytes():
        shutil.rmtree(jars, ignore_errors=True)
        jars.mkdir(parents=True)
        goal = ["dependency:copy-dependencies", f"-DoutputDirectory={jars}"]
        run_quietly(["mvn", "-q", "-B", "-f", pins, *goal])
        mark.write_bytes(pins.read_bytes())
    return jars


def fetch_java() -> Path:
    """Return the program java. Raises JudgeMissing."""
    program = FOLDER / "java" / "bin" / "java"
    if not program.exists():
        run_quietly([ROOT / "tools" / "other_java.sh", program.parent.parent, SUITE, JAVA])
    return program


def command_line(java: Path, jars: Path, uses: Path, size: int) -> list[str | Path]:
    """Return the simulator's command line. uses: a file with a block's number a line."""
    given = SETTINGS | {"files.paths.0": f"lirs:{uses}", "maximum-size": str(size)}
    given |= {f"policies.{i}": name for i, name in enumerate(POLICIES.values())}
    words = [f"-Dcaffeine.simulator.{name}={value}" for name, value in given.items()]
    return [java, "-Xmx1g", "-XX:+UseSerialGC", "-cp", f"{jars}/*", *words, MAIN]


def parse_report(text: str) -> dict[str, int]:
    """Return the hits of each policy in the simulator's report. Raises JudgeMissing."""
    rows = {
        row["Policy"].split(" (")[0]: int(row["Hits"]) for row in csv.DictReader(text.split("\n"))
    }
    missing = [name for name in POLICIES.values() if name not in rows]
    if missing:
        raise JudgeMissing(f"the simulator has no {missing[0]}")
    return {policy: rows[name] for policy, name in POLICIES.items()}


def count_hits(uses: Path, sizes: list[int]) -> dict[str, list[int | None]]:
    """Return the hits of each policy in an empty cache of each size. Raises JudgeMissing."""
    java, jars = fetch_java(), fetch_jars()
    found: dict[str, list[int | None]] = {name: [] for name in POLICIES}
    for size in sizes:
        done = subprocess.run(
            command_line(java, jars, uses, size),
            capture_output=True,
            encoding="utf-8",
            check=False,
            timeout=LIMIT_S,
            preexec_fn=die_with_parent,
        )
        if done.returncode:
            raise JudgeMissing(f"the simulator failed: {done.stderr.strip()[-300:]}")
        for name, hits in parse_report(done.stdout).items():
            found[name].append(hits)
    return found
