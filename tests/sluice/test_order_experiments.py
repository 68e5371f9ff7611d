"""Experiments about orders of metadata: disks with journals."""

from pathlib import Path

import pytest

from sluice.experiment import run
from sluice.experiment.load import load
from sluice.experiment.schema import BadExperiment
from sluice.system import image

pytestmark = pytest.mark.native

EXPERIMENT = """\
claim = "a disk has a journal"
source = "this test"

[machine.root]
size = "24M"
journal = "4M"

[machine.data]
size = "16M"
journal = "5M"

[[arms]]
name = "journal"
policies = {order = "journal"}

[workload]
commands = "true"

[plot]
columns = ["stat.journal.commits"]
"""


def test_disks_get_the_journals_that_a_file_asks_for(tmp_path: Path) -> None:
    """dumpe2fs, of e2fsprogs, prints the journal's size."""
    path = tmp_path / "few.toml"
    path.write_text(EXPERIMENT, encoding="utf-8")
    one = load(path).runs[0]
    data = run.run_images(one)["data"].path
    said = image.run_command("dumpe2fs", "-h", data).stdout.decode()
    assert "has_journal" in said and "5120k" in said


def test_order_journal_is_refused_on_disks_without_one(tmp_path: Path) -> None:
    """The data disk has no journal."""
    path = tmp_path / "few.toml"
    path.write_text(EXPERIMENT.replace('journal = "5M"', ""), encoding="utf-8")
    with pytest.raises(BadExperiment, match=r"needs journal = SIZE in \[machine\.data\]"):
        load(path)


def test_without_a_journal_a_configuration_is_what_it_was(tmp_path: Path) -> None:
    """The configuration has no new key, so runs made before the key existed are not made again."""
    path = tmp_path / "few.toml"
    text = EXPERIMENT.replace('journal = "4M"', "").replace('journal = "5M"', "")
    path.write_text(text.replace('order = "journal"', 'order = "none"'), encoding="utf-8")
    config = load(path).runs[0].config
    assert "journal" not in config["root"] and "journal" not in config["data"]
