"""What sets up other machines: a container for development, a workflow, and the version."""

import json
import re
import shlex
import subprocess
from pathlib import Path

import yaml
from trees import make

from sluice.host.paths import ROOT

WORKFLOW = yaml.safe_load((ROOT / ".github" / "workflows" / "test.yml").read_text())
CONTAINER = json.loads((ROOT / ".devcontainer" / "devcontainer.json").read_text())
DOCKERFILE = (ROOT / ".devcontainer" / "Dockerfile").read_text()
STEPS = [step["run"] for step in WORKFLOW["jobs"]["test"]["steps"] if "run" in step]
FRESH = "-m tools.fresh.command"
SAID = [
    *STEPS,
    CONTAINER["postCreateCommand"],
    *re.findall(r"^#   docker run (.*)$", DOCKERFILE, re.M),
]


def goals(command: str) -> list[str]:
    """The goals of every make in a command."""
    words = re.findall(r"(?:^|&& |sluice )make ((?:[\w./=-]+ ?)+)", command)
    return [goal for word in words for goal in shlex.split(word) if "=" not in goal]


def test_each_command_is_a_goal_of_the_makefile() -> None:
    listed = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.M))
    asked = {goal for command in SAID for goal in goals(command)}
    files = {goal for goal in asked if "/" in goal}
    assert files == {"build/debug/kernel/kernel.elf"}
    words = {"version", "setup", "test", "fresh", "all", "native", "twin", "qemu"}
    assert asked - files == words <= listed


def test_the_workflow_runs_what_ci_runs() -> None:
    """The same commands in the same order, once all is set up. CI calls what `make fresh` calls, to
    see its status."""
    ci = (ROOT / ".ci" / "run").read_text()
    assert ci.count(f" {FRESH} ||") == 1
    for word, option in ("", ""), ("NEWEST=1", "--newest"):
        called = make(ROOT, "-n", "fresh", *word.split()).stdout.split()
        assert called[1:] == [*FRESH.split(), *option.split()]
    commands = re.findall(r"^make .*$", ci, re.M)
    own = STEPS[STEPS.index("make setup") + 1 :]
    assert own == [*commands, "make fresh"]
    assert WORKFLOW["jobs"]["newest"]["steps"][-1]["run"] == "make fresh NEWEST=1"
    assert len(commands) == 3


def test_ci_uses_the_programs_of_the_system_alone() -> None:
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
    assert WORKFLOW["jobs"]["test"]["container"]["image"] in DOCKERFILE.split()


def test_setting_up_packages_alone_makes_no_environment(tmp_path: Path) -> None:
    """As in the container: of the tree there are the copied scripts only."""
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
