"""The files that set up other machines: the development container (.devcontainer/), the workflows
of GitHub (.github/workflows/), our own continuous integration (.ci/run), and the version.

The commands in these files must exist in this tree: goals of make, verbs of sluice, files, tests.
"""

import json
import re
import shlex
import subprocess
from pathlib import Path

import yaml
from trees import make

from sluice.cli.main import VERBS
from sluice.host.paths import ROOT

WORKFLOWS = {
    path.stem: yaml.safe_load(path.read_text()) for path in ROOT.glob(".github/workflows/*.yml")
}
WORKFLOW = WORKFLOWS["test"]
MATRIX = WORKFLOW["jobs"]["test"]["strategy"]["matrix"]
CONTAINER = json.loads((ROOT / ".devcontainer" / "devcontainer.json").read_text())
DOCKERFILE = (ROOT / ".devcontainer" / "Dockerfile").read_text()
STEPS = [step["run"] for step in WORKFLOW["jobs"]["test"]["steps"] if "run" in step]
FRESH = "bin/sluice dev fresh"
SAID = [  # the commands of the workflow `test` and of the container
    *STEPS,
    CONTAINER["postCreateCommand"],
    *re.findall(r"^#   docker run (.*)$", DOCKERFILE, re.M),
]


def steps() -> list[tuple[str, dict]]:
    """Return all steps of all workflows, each with the name of its workflow and job."""
    return [
        (f"{workflow}: {job}", step)
        for workflow, content in WORKFLOWS.items()
        for job, body in content["jobs"].items()
        for step in body["steps"]
    ]


def goals(command: str) -> list[str]:
    """Return the goals of every make in a command."""
    words = re.findall(r"(?:^|&& |sluice )make ((?:[\w./=-]+ ?)+)", command)
    return [goal for word in words for goal in shlex.split(word) if "=" not in goal]


def make_goals() -> set[str]:
    """Return the goals of make that are not those of an earlier release."""
    text = "".join((ROOT / name).read_text() for name in ("Makefile", "tools/rules/commands.mk"))
    return set(re.findall(r"^([a-z-]+):", text, re.M))


def test_each_command_is_a_goal_of_the_makefile() -> None:
    """SAID are the commands of a workflow and of the container; `files`: goals that are files."""
    listed = make_goals()
    asked = {goal for command in SAID for goal in goals(command)}
    files = {goal for goal in asked if "/" in goal}
    assert files == {"build/debug/kernel/kernel.elf"}
    words = {"version", "setup", "test", "all", "native", "twin", "qemu"}
    assert asked - files == words <= listed


def test_each_workflow_types_goals_files_and_tests_that_are_there() -> None:
    """Each line of a workflow that types make or a file is taken apart, and looked up."""
    listed = make_goals()
    seen = set()
    for where, step in steps():
        for line in step.get("run", "").splitlines():
            for words in re.findall(r"(?:^|&& |sluice |g)make ([^&|]+)", line):
                if " install " in line:
                    continue
                asked = {word for word in shlex.split(words) if "=" not in word}
                seen |= asked
                assert {goal for goal in asked if "/" not in goal} <= listed, f"{where}: {line}"
                for test in re.findall(r"\bT=(\S+)", words):
                    assert list(ROOT.glob(f"tests/*/{test}")), f"{where}: {line}"
            for file in re.findall(r"(?:sh |\$\(|-f )([\w.]*/?[\w.]+/[\w.]+)", line):
                assert (ROOT / file).exists(), f"{where}: there is no {file}"
    assert {"setup", "all", "native", "twin", "test", "check", "book", "grade"} <= seen


def test_each_workflow_types_commands_of_sluice_that_are_there() -> None:
    """VERBS is a tree of words: each word of a typed command leads to the words that may follow."""
    seen = set()
    for where, step in steps():
        for line in step.get("run", "").splitlines():
            for words in re.findall(r"(?:^|&& )bin/sluice ([^&|]+)", line):
                known = VERBS
                for word in shlex.split(words):
                    if not isinstance(known, dict):
                        break
                    assert word in known, f"{where}: {line}"
                    seen.add(word)
                    known = known[word][1]
    assert {"mutants", "exercise", "repeat", "fresh", "theatre", "live", "store", "run"} <= seen


def test_workflows_use_pinned_actions_and_no_more_rights_than_they_need() -> None:
    for where, step in steps():
        if "uses" in step:
            assert re.fullmatch(r"actions/[\w-]+@v\d+", step["uses"]), f"{where}: {step['uses']}"
    for name in ("check", "test", "nightly"):
        assert WORKFLOWS[name]["permissions"] == {"contents": "read"}, name


def test_every_job_has_a_limit_of_time() -> None:
    """The limit is in minutes. GitHub's own is 360, so no job may have more."""
    quick = {"deploy"}
    for name, workflow in WORKFLOWS.items():
        for job, body in workflow["jobs"].items():
            assert job in quick or 0 < body["timeout-minutes"] < 360, f"{name}: {job}"


def test_the_workflow_runs_what_ci_runs() -> None:
    """Once all is set up, both run the same commands in the same order. CI calls the module that
    `sluice dev fresh` calls, because CI needs the module's exit status."""
    ci = (ROOT / ".ci" / "run").read_text()
    assert ci.count(f" {FRESH} ||") == 1
    commands = re.findall(r"^make .*$", ci, re.M)
    own = STEPS[STEPS.index("make setup") + 1 :]
    assert own == [*commands, "bin/sluice dev fresh"]
    assert (
        WORKFLOWS["nightly"]["jobs"]["newest"]["steps"][-1]["run"]
        == "bin/sluice dev fresh --newest"
    )
    assert len(commands) == 3


def test_ci_uses_the_programs_of_the_system_alone() -> None:
    """The script sets PATH before it runs any program that another installation could replace."""
    ci = (ROOT / ".ci" / "run").read_text()
    before, _, after = ci.partition("export PATH=/usr/sbin:/usr/bin:/sbin:/bin\n")
    assert "make" in after
    assert not re.search(r"^(make|python|\.venv|sh) ", before, re.M)


def test_the_container_is_made_of_files_that_are_there() -> None:
    folder = ROOT / ".devcontainer"
    assert (folder / CONTAINER["build"]["dockerfile"]).exists()
    context = (folder / CONTAINER["build"]["context"]).resolve()
    copied = re.search(r"^COPY (.*) tools/$", DOCKERFILE, re.M)
    assert copied
    assert all((context / name).exists() for name in copied[1].split())
    (base,) = re.findall(r"^FROM (\S+)$", DOCKERFILE, re.M)
    assert base in MATRIX["image"]


def test_setting_up_packages_alone_makes_no_environment(tmp_path: Path) -> None:
    """The container has only the copied scripts of the tree."""
    (tmp_path / "tools").mkdir()
    for name in ("setup.sh", "find_tool.sh"):
        (tmp_path / "tools" / name).write_text((ROOT / "tools" / name).read_text())
    done = subprocess.run(
        ["sh", "tools/setup.sh", "packages"], cwd=tmp_path, capture_output=True, text=True
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert not (tmp_path / ".venv").exists()


def test_the_version_is_that_of_the_changelog() -> None:
    version = re.search(r"^## (\d+\.\d+\.\d+)$", (ROOT / "CHANGELOG.md").read_text(), re.M)
    assert version
    assert make(ROOT, "version").stdout == f"Sluice {version[1]}\n"
    assert f"\nversion: {version[1]}\n" in (ROOT / "CITATION.cff").read_text()
