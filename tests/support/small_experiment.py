"""Texts of small experiments, for tests of what makes, keeps or exports runs."""


def random_reads(claim: str, reads: int | str, seeds: int, more: str = "") -> str:
    """Return an experiment of one arm that reads at random, once with each seed from 1 on. reads:
    how many, or a variable of the sweep as "{reads}". more: what stands at its end, which begins
    in the table [sweep]."""
    return f"""\
claim = "{claim}"
source = "this test"
[machine.data]
drive = "rz58"
files = {{"/read" = "4M"}}
[[arms]]
name = "only"
[workload]
commands = "iogen name=read rw=randread filename=/data/read nr={reads} seed={{seed}}"
[sweep]
seed = {list(range(1, seeds + 1))}
{more}"""


def reads_beside_writes(claim: str, reads: int, seed: int = 1, machine: str = "") -> str:
    """Return an experiment of one run: random reads beside a writer whose blocks are flushed in
    bursts, and join. machine: more lines of its table [machine]."""
    return f"""\
claim = "{claim}"
source = "this test"

[machine]
nbuf = 200
{machine}

[machine.data]
drive = "rz58"
size = "16M"
files = {{"/read" = "4M", "/write" = "2M"}}

[tunables]
"pu.interval_ms" = "2 s"

[[arms]]
name = "delayed"
policies = {{write = "delayed", update = "pu", sched = "clook"}}

[workload]
commands = \"\"\"
iogen bs=4k seed={seed} name=read rw=randread filename=/data/read nr={reads} -- \\
    name=write rw=write filename=/data/write rate_iops=40 until=read
\"\"\"
"""
