"""Make two small runs for tests: one with bursts (PU) and one without (AIPU)."""

from pathlib import Path

from either import load_experiment

from sluice.debug.chain import Explainer
from sluice.debug.stored_run import find_or_record
from sluice.experiment.files import FOLDER

NAME = "small.toml"

# Mogul's experiment in small: the same load under PU, which looks every 10 s, and under AIPU, whose
# blocks are due after 8 s.
SMALL = """\
claim = "a burst is seen"
source = "this test"

[machine]
nbuf = 300
cluster_kb = 0

[machine.data]
drive = "rz58"
size = "64M"
files = {"/read" = "8M", "/write" = "4M"}

[policies]
sched = "fcfs"
write = "delayed"

[tunables]
"pu.interval_ms" = "10 s"
"aipu.age_ms" = "8 s"

[[arms]]
name = "PU"
policies = {update = "pu"}

[[arms]]
name = "AIPU"
policies = {update = "aipu"}

[workload]
commands = \"\"\"
iogen bs=4k seed=1 name=read rw=randread filename=/data/read nr=700 -- \\
    name=write rw=write filename=/data/write rate_iops=15 until=read
\"\"\"
"""


def explainers_of(folder: Path) -> list[Explainer]:
    """Return the runs, which are made once and kept; their experiment is written into the
    folder."""
    path = folder / NAME
    path.write_text(SMALL)
    return [Explainer(find_or_record(run, FOLDER)) for run in load_experiment(path).runs]
