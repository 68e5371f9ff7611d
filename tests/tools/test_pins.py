"""The groups of Python packages agree with each other, suffice for each command, and have wheels.

That each package has a wheel for a processor and a version of Python is asked of the package index,
as pip is set up here; no wheel is fetched. FULL=1 asks for all versions and processors that we
promise, otherwise for the oldest and the newest version.
"""

import ast
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from whole import WHOLE

from sluice.host.paths import ROOT

FOLDER = ROOT / "tools/requirements"
GROUPS = sorted(path.stem for path in FOLDER.glob("*.txt"))
SETUP = (ROOT / "tools/setup.sh").read_text()
# Which groups a group of tools/setup.sh consists of.
CONTAINS = {m[1]: m[2].split() for m in re.finditer(r"^    (\w+)\) echo ([\w ]+) ;;", SETUP, re.M)}
PIN = re.compile(r"^([\w.-]+)==(\S+) \\\n((?:    --hash=sha256:[0-9a-f]{64}(?: \\)?\n)+)", re.M)
# glibc 2.36 and 2.41 of Debian 12 and 13 take wheels for all older ones.
GLIBC = ("2014", "_2_17", "_2_24", "_2_26", "_2_27", "_2_28", "_2_31", "_2_34", "_2_35")
OLDEST = "3.11.0"
HOSTS = [
    (version, processor)
    for version in (OLDEST, "3.11.2", "3.12.0", "3.13.5", "3.14.0")
    for processor in ("x86_64", "aarch64")
]
SOME = [(OLDEST, "x86_64"), ("3.14.0", "aarch64")]


def pins(group: str) -> dict[str, tuple[str, set[str]]]:
    """The version and the sums of each package of a group."""
    text = (FOLDER / f"{group}.txt").read_text()
    return {m[1]: (m[2], set(re.findall(r"sha256:([0-9a-f]+)", m[3]))) for m in PIN.finditer(text)}


ALL = {name: pin for group in GROUPS for name, pin in pins(group).items()}


def test_set_up_knows_every_group_and_every_line_is_a_pin_with_its_sums() -> None:
    known = re.search(r'^pinned="(.*)"$', SETUP, re.M)[1].split()
    assert sorted(known) == GROUPS
    assert set(GROUPS) <= set(CONTAINS["test"]), "the tests have all groups"
    for group in GROUPS:
        text = (FOLDER / f"{group}.txt").read_text()
        rest = PIN.sub("", text)
        assert re.fullmatch(r"(# .*\n)+", rest), f"{group}.txt: {rest}"


def test_groups_do_not_differ_about_a_version() -> None:
    wrong = [
        f"{group}: {name}"
        for group in GROUPS
        for name, pin in pins(group).items()
        if pin != ALL[name]
    ]
    assert not wrong


# ---- what commands import ----


def imported(path: Path) -> Iterator[str]:
    """The modules that a module imports when it is loaded: not within functions, not for types."""

    def of(node: ast.AST) -> Iterator[str]:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.Import):
                yield from (alias.name for alias in child.names)
            elif isinstance(child, ast.ImportFrom) and child.module:
                yield child.module
                yield from (f"{child.module}.{alias.name}" for alias in child.names)
            elif isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
                continue
            elif not isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
                yield from of(child)

    return of(ast.parse(path.read_text()))


def file_of(module: str) -> Path | None:
    path = ROOT / module.replace(".", "/")
    return next((p for p in (path.with_suffix(".py"), path / "__init__.py") if p.exists()), None)


def packages_of(module: str) -> set[str]:
    """The packages, as the index names them, that loading this module needs."""
    homes = packages_distributions()
    found, seen, waiting = set(), set(), [module]
    while waiting:
        name = waiting.pop()
        if name in seen:
            continue
        seen.add(name)
        top = name.partition(".")[0]
        if top not in ("sluice", "grade", "book", "tools"):
            found |= {canonicalize_name(home) for home in homes.get(top, [])}
        elif path := file_of(name):
            waiting += imported(path)
            waiting += [str(Path(name.replace(".", "/")).parent).replace("/", ".")]
    return found


def recipes() -> dict[str, set[str]]:
    """The modules that each goal of the Makefile runs."""
    found: dict[str, set[str]] = {}
    goal = ""
    for line in (ROOT / "Makefile").read_text().splitlines():
        if m := re.match(r"([a-z][\w-]*):.*##", line):
            goal = m[1]
        elif not line.startswith("\t"):
            goal = ""
        for name in (
            re.findall(r"\b(?:(?:sluice|grade)\.cli|book\.ext|tools\.\w+)\.\w+", line)
            if goal
            else ()
        ):
            found.setdefault(goal, set()).add(name)
    return found


def groups_of_goals() -> dict[str, list[str]]:
    """The groups that the Makefile names for each goal."""
    said = re.finditer(r"^\$\(call needs,([\w ]+),(.*)\)$", (ROOT / "Makefile").read_text(), re.M)
    return {goal: m[1].split() for m in said for goal in m[2].split()}


@pytest.mark.parametrize("goal", sorted(recipes()))
def test_the_groups_of_a_command_have_what_it_imports(goal: str) -> None:
    groups = {g for group in groups_of_goals()[goal] for g in CONTAINS[group]}
    assert "python" in groups
    there = {name for group in groups & set(GROUPS) for name in pins(group)}
    for module in recipes()[goal]:
        assert packages_of(module) <= there, f"make {goal}: {module}"


def test_a_boot_and_a_run_need_no_package_and_an_experiment_no_tool_of_ours() -> None:
    goals = groups_of_goals()
    for goal in ("qemu", "run"):
        assert not set(GROUPS) & {g for group in goals[goal] for g in CONTAINS[group]}
    needed = {g for group in goals["experiment"] for g in CONTAINS[group]}
    assert set(GROUPS) & needed == {"run", "report"}
    assert not {"sphinx", "pytest", "ruff", "optuna"} & (set(pins("run")) | set(pins("report")))


# ---- what the index has ----


def resolved(version: str, processor: str) -> list[dict]:
    """Return what pip would install of all pins for a Python and a processor, from wheels alone."""
    platforms = [f"manylinux{glibc}_{processor}" for glibc in GLIBC] + [f"linux_{processor}"]
    line = [
        *(sys.executable, "-m", "pip", "install", "--quiet", "--dry-run", "--report=-"),
        *("--ignore-installed", "--no-deps", "--only-binary=:all:", "--target=unused"),
        *("--disable-pip-version-check", f"--python-version={version}"),
        *(f"--platform={platform}" for platform in platforms),
        *(f"{name}=={pin[0]}" for name, pin in ALL.items()),
    ]
    done = subprocess.run(line, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["install"]


@pytest.mark.parametrize(("version", "processor"), HOSTS if WHOLE else SOME)
def test_every_pin_has_a_wheel_for_every_host_that_we_promise(version: str, processor: str) -> None:
    here = {
        "python_version": ".".join(version.split(".")[:2]),
        "python_full_version": version,
        "platform_machine": processor,
        "extra": "",
    }
    items = resolved(version, processor)
    assert {canonicalize_name(item["metadata"]["name"]) for item in items} == set(ALL)
    for item in items:
        name = canonicalize_name(item["metadata"]["name"])
        sum_ = item["download_info"]["archive_info"]["hashes"]["sha256"]
        assert sum_ in ALL[name][1], f"{name}: the pins lack the sum of {item['download_info']}"
        for text in item["metadata"].get("requires_dist", []):
            other = Requirement(text)
            if other.marker is None or other.marker.evaluate(here):
                pin = ALL.get(canonicalize_name(other.name))
                assert pin, f"{name} requires {text}, which no group has"
                assert other.specifier.contains(pin[0], prereleases=True), f"{name}: {text}"
