"""The groups of Python packages agree with the lock and with pyproject.toml, suffice for each
command, and have wheels.

That each package has a wheel for a processor and a version of Python is asked of the package index,
as pip is set up here; no wheel is fetched. FULL=1 asks for all versions and processors that we
promise, otherwise for the oldest and the newest version.
"""

import ast
import importlib
import inspect
import json
import re
import subprocess
import sys
import textwrap
import tomllib
from collections.abc import Callable, Iterator
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from whole import WHOLE

from sluice.cli.main import VERBS
from sluice.cli.verb import command_of
from sluice.host.paths import ROOT
from tools.pins import lock

FOLDER = ROOT / "tools/requirements"
GROUPS = sorted(path.stem for path in FOLDER.glob("*.txt") if path != lock.LOCK)
PROJECT = tomllib.loads(lock.PROJECT.read_text())
LOCK = lock.LOCK.read_text()
SETUP = (ROOT / "tools/setup.sh").read_text()
# Which groups a group of tools/setup.sh consists of.
CONTAINS = {m[1]: m[2].split() for m in re.finditer(r"^    (\w+)\) echo ([\w ]+) ;;", SETUP, re.M)}
PIN = re.compile(
    r"^([\w.-]+)==(\S+)(?: ; [^\n]*)? \\\n((?:    --hash=sha256:[0-9a-f]{64}(?: \\)?\n)+)", re.M
)
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
    """Return the version and the sums of each package of a group."""
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


def names(requirements: list[str]) -> set[str]:
    """Return the packages that requirements name."""
    return {canonicalize_name(Requirement(text).name) for text in requirements}


def test_the_groups_files_are_made_from_the_lock() -> None:
    for group, text in lock.group_files(LOCK).items():
        assert (FOLDER / f"{group}.txt").read_text() == text, (
            f"{group}.txt: type .venv/bin/python -m tools.pins.command --offline"
        )
    assert {pin.name for pin in lock.read(LOCK)} == set(ALL), "each package is in a group"
    assert {group for group in GROUPS if "run" in CONTAINS[group]} == {"run", *lock.ON_BASE}


def test_the_lock_has_what_pyproject_asks_for_and_asks_for_nothing_else() -> None:
    """A group that was changed since the lock was made has another answer here."""
    there = {pin.name: pin for pin in lock.read(LOCK)}
    for group, asked in PROJECT["dependency-groups"].items():
        says = f"sluice (pyproject.toml:{group})"
        assert {name for name, pin in there.items() if says in pin.asking} == names(asked), group
    everywhere = [*PROJECT["project"]["dependencies"], *PROJECT["build-system"]["requires"]]
    for text in (*everywhere, *(r for rows in PROJECT["dependency-groups"].values() for r in rows)):
        wanted = Requirement(text)
        version = there[canonicalize_name(wanted.name)].version
        assert wanted.specifier.contains(version), f"{text}: the lock has {version}"


def test_an_installed_package_depends_on_the_groups_of_what_it_can_do() -> None:
    groups = PROJECT["dependency-groups"]
    asked = {text for group in ("run", "report", "sweep") for text in groups[group]}
    assert set(PROJECT["project"]["dependencies"]) == asked


# ---- what commands import ----


def names_in(node: ast.Import | ast.ImportFrom) -> Iterator[str]:
    """Yield the modules that an import may load."""
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif node.module:
        yield node.module
        yield from (f"{node.module}.{alias.name}" for alias in node.names)


def imported(path: Path) -> Iterator[str]:
    """Yield the modules that a module imports when it is loaded: not within functions, not for
    types."""

    def of(node: ast.AST) -> Iterator[str]:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.Import | ast.ImportFrom):
                yield from names_in(child)
            elif isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
                continue
            elif not isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
                yield from of(child)

    return of(ast.parse(path.read_text()))


def file_of(module: str) -> Path | None:
    path = ROOT / module.replace(".", "/")
    return next((p for p in (path.with_suffix(".py"), path / "__init__.py") if p.exists()), None)


def packages_of(module: str) -> set[str]:
    """Return the packages, as the index names them, that loading this module needs."""
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


def named(verbs: dict[str, tuple], before: str = "") -> Iterator[tuple[str, Callable]]:
    """Yield the verbs of a table and of its groups: their words and their functions."""
    for word, (first, second) in verbs.items():
        if isinstance(second, dict):
            yield from named(second, f"{before}{word} ")
        else:
            module, _, name = first.partition(":")
            yield f"{before}{word}", getattr(importlib.import_module(module), name)


FUNCTIONS = dict(named(VERBS))


def groups_of(function: Callable, **values: object) -> set[str]:
    """Return the groups that a verb needs with its defaults, or with other values of its
    options."""
    usual = {param.name: param.default for param in command_of(function, "", "").params}
    return {g for group in function.about.needs(usual | values).groups for g in CONTAINS[group]}


@pytest.mark.parametrize("words", sorted(FUNCTIONS))
def test_the_groups_of_a_verb_have_what_it_imports(words: str) -> None:
    function = FUNCTIONS[words]
    there = {name for group in {"run"} | groups_of(function) & set(GROUPS) for name in pins(group)}
    body = ast.parse(textwrap.dedent(inspect.getsource(function)))
    of_body = [node for node in ast.walk(body) if isinstance(node, ast.Import | ast.ImportFrom)]
    modules = {function.__module__, *(name for node in of_body for name in names_in(node))}
    for module in modules:
        assert packages_of(module) <= there, f"sluice {words}: {module}"


def test_a_boot_needs_no_package_and_an_experiment_no_tool_of_ours() -> None:
    """All verbs need the group run: in it is what reads the command line."""
    makefile = (ROOT / "Makefile").read_text()
    assert "$(filter qemu qemu-gdb,$(1)),machine," in makefile
    assert not set(GROUPS) & set(CONTAINS["machine"])
    assert set(GROUPS) & groups_of(FUNCTIONS["experiment run"]) == {"run", "report"}
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
