"""The groups of Python packages agree with pyproject.toml, suffice for each command, have wheels.

The tests ask the package index, as pip is set up here, whether each package has a wheel for a
processor and a version of Python. They fetch no wheel. With FULL=1 they ask for all versions and
processors that we promise, otherwise for the oldest or the newest version.
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
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import cache
from importlib.metadata import PackageNotFoundError, packages_distributions, requires
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
GROUPS = sorted(path.stem for path in FOLDER.glob("*.txt"))
PROJECT = tomllib.loads(lock.PROJECT.read_text())
SETUP = (ROOT / "tools/setup.sh").read_text()
# Which groups a group of tools/setup.sh consists of.
CONTAINS = {m[1]: m[2].split() for m in re.finditer(r"^    (\w+)\) echo ([\w ]+) ;;", SETUP, re.M)}
PIN = re.compile(
    r"^([\w.-]+)==(\S+)(?: ; [^\n]*)? \\\n((?:    --hash=sha256:[0-9a-f]{64}(?: \\)?\n)+)", re.M
)
# Versions of glibc in the names of wheels. Debian 12 and 13 have 2.36 and 2.41, which run wheels
# for all older versions.
GLIBC = ("2014", "_2_17", "_2_24", "_2_26", "_2_27", "_2_28", "_2_31", "_2_34", "_2_35")
OLDEST = "3.11.0"
HOSTS = [
    (version, processor)
    for version in (OLDEST, "3.11.2", "3.12.0", "3.13.5", "3.14.0")
    for processor in ("x86_64", "aarch64")
]
# the systems that are asked about without FULL=1
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


def closure(group: str, here: bool) -> set[str]:
    """Return the packages that a group and what it builds on need: on this host, or on any."""
    asked = [*PROJECT["dependency-groups"][group]]
    asked += PROJECT["dependency-groups"][lock.BASE] if group in lock.ON_BASE else []
    waiting, found = [Requirement(text) for text in asked], set()
    while waiting:
        wanted = waiting.pop()
        marker = wanted.marker if here or "extra" in str(wanted.marker) else None
        extras = ["", *wanted.extras]
        name = canonicalize_name(wanted.name)
        if name in found or (marker and not marker.evaluate({"extra": ""})):
            continue
        found.add(name)
        with suppress(PackageNotFoundError):  # a package for other hosts, which needs nothing more
            for more in map(Requirement, requires(name) or []):
                if not more.marker or any(more.marker.evaluate({"extra": one}) for one in extras):
                    more.marker = None
                waiting.append(more)
    return found


@pytest.mark.parametrize("group", GROUPS)
def test_a_group_has_what_pyproject_asks_for_and_nothing_else(group: str) -> None:
    base = set(pins(lock.BASE)) if group in lock.ON_BASE else set()
    assert closure(group, here=True) <= set(pins(group)) | base
    assert set(pins(group)) <= closure(group, here=False) - base


def test_each_pin_is_a_version_that_pyproject_allows() -> None:
    assert sorted(PROJECT["dependency-groups"]) == GROUPS
    assert {group for group in GROUPS if "run" in CONTAINS[group]} == {"run", *lock.ON_BASE}
    required = [*PROJECT["project"]["dependencies"], *PROJECT["build-system"]["requires"]]
    for rows in PROJECT["dependency-groups"].values():
        required += rows
    for text in required:
        wanted = Requirement(text)
        version = ALL[canonicalize_name(wanted.name)][0]
        assert wanted.specifier.contains(version), f"{text}: the pin is {version}"


# A lock as uv writes it: pins, and by which package or group each is needed.
A_LOCK = """\
one==1.0 \\
    --hash=sha256:11
    # via
    #   sluice (pyproject.toml:run)
    #   two
shared==3.0 ; sys_platform == 'linux' \\
    --hash=sha256:33
    # via one
two==2.0 \\
    --hash=sha256:22
    # via sluice (pyproject.toml:book)
"""


def test_a_lock_is_divided_into_the_files_of_the_groups() -> None:
    """A group's file has what no group that it builds on has; `book` builds on `run`."""
    files = lock.group_files(A_LOCK)
    assert list(files) == list(PROJECT["dependency-groups"])
    assert re.findall(r"^(\w+)==", files["run"], re.M) == ["one", "shared"]
    assert re.findall(r"^(\w+)==", files["book"], re.M) == ["two"], "run has the others"
    assert files["book"].endswith("two==2.0 \\\n    --hash=sha256:22\n")
    assert list(lock.all_pins()) and set(lock.all_pins()) == set(ALL)


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


@cache
def list_imports(path: Path) -> list[str]:
    """Return the modules that a module imports when it is loaded: not within functions, not for
    types."""

    def find_imports(node: ast.AST) -> Iterator[str]:
        """Yield what a node imports when its module is loaded, not what its functions import
        later."""
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.Import | ast.ImportFrom):
                yield from names_in(child)
            elif isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
                continue
            elif not isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
                yield from find_imports(child)

    return list(find_imports(ast.parse(path.read_text())))


def file_of(module: str) -> Path | None:
    """Return the file of a module of the tree, or None."""
    path = ROOT / module.replace(".", "/")
    return next((p for p in (path.with_suffix(".py"), path / "__init__.py") if p.exists()), None)


@cache
def list_homes() -> Mapping[str, list[str]]:
    """Return the packages that each top-level module comes from, which takes a second."""
    return packages_distributions()


def packages_of(module: str) -> set[str]:
    """Return the packages, as the index names them, that loading this module needs."""
    homes = list_homes()
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
            waiting += list_imports(path)
            waiting += [str(Path(name.replace(".", "/")).parent).replace("/", ".")]
    return found


def list_verbs(verbs: dict[str, tuple], before: str = "") -> Iterator[tuple[str, Callable]]:
    """Yield the verbs of a table and of its groups: their words and their functions."""
    for word, (first, second) in verbs.items():
        if isinstance(second, dict):
            yield from list_verbs(second, f"{before}{word} ")
        else:
            module, _, name = first.partition(":")
            yield f"{before}{word}", getattr(importlib.import_module(module), name)


FUNCTIONS = dict(list_verbs(VERBS))


def groups_of(function: Callable, **values: object) -> set[str]:
    """Return the groups that a verb needs with its defaults, or with other values of its
    options."""
    usual = {param.name: param.default for param in command_of(function, "", "").params}
    return {g for group in function.about.needs(usual | values).groups for g in CONTAINS[group]}


@pytest.mark.parametrize("words", sorted(FUNCTIONS))
def test_the_groups_of_a_verb_have_what_it_imports(words: str) -> None:
    """words: a command of sluice. It imports the module of its function, and what the function's
    body imports; the packages of both must be in the group `run` or in those that it asks for."""
    function = FUNCTIONS[words]
    groups = {"run"} | (groups_of(function) & set(GROUPS))
    there = {name for group in groups for name in pins(group)}
    body = ast.parse(textwrap.dedent(inspect.getsource(function)))
    of_body = [node for node in ast.walk(body) if isinstance(node, ast.Import | ast.ImportFrom)]
    modules = {function.__module__, *(name for node in of_body for name in names_in(node))}
    for module in modules:
        assert packages_of(module) <= there, f"sluice {words}: {module}"


def test_a_boot_needs_no_package_and_an_experiment_no_tool_of_ours() -> None:
    """All verbs need the group `run`, because it has the package that reads the command line."""
    makefile = (ROOT / "Makefile").read_text()
    assert "$(filter qemu qemu-gdb,$(1)),machine," in makefile
    assert not set(GROUPS) & set(CONTAINS["machine"])
    assert set(GROUPS) & groups_of(FUNCTIONS["experiment run"]) == {"run", "report"}
    assert not {"sphinx", "pytest", "ruff", "optuna"} & (set(pins("run")) | set(pins("report")))


# ---- what the index has ----


def resolve_pins(version: str, processor: str) -> list[dict]:
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


@pytest.mark.drawn(2)
@pytest.mark.parametrize(("version", "processor"), HOSTS if WHOLE else SOME)
def test_every_pin_has_a_wheel_for_every_host_that_we_promise(version: str, processor: str) -> None:
    """pip is asked, for this Python and processor, what it would install: it must be all pins, each
    a file whose sum is pinned, and each requirement of a package must be met by a pin."""
    here = {
        "python_version": ".".join(version.split(".")[:2]),
        "python_full_version": version,
        "platform_machine": processor,
        "extra": "",
    }
    items = resolve_pins(version, processor)
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
