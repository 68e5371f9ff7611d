"""Experiments as TOML: what a file may say, and a strict check of all of it.

    claim = "..."                  what is to be shown, in words
    source = "..."                 where it is from

    [machine]                      see MACHINE below
    [machine.root]                 the root disk, see DISK; its drive is `fixed`
    [machine.data]                 a second disk, mounted at /data
        files = {"/read" = "34M"}  laid down by mkfs, with all blocks

    [network]                      a server, which /data is mounted from, see NETWORK
    [network.server]               its machine, as [machine], with a data disk
    [network.policies]             its policies

    [policies]                     of all runs: kind = "name"
    [tunables]                     "policy.name" = number, or "30 s"

    [[arms]]                       what is compared
    name = "delayed+PU"            also policies = {...}, tunables = {...}, and
                                   variables = {nbuf = 614}, "{nbuf}" in its runs
    sets = "core"                  above all tables: the named sets of that file are
                                   arms, too, see sets.py

    [workload]
    setup = "..."                  commands before the measurement
    commands = "..."               commands measured; a failure ends the run

    [trace]                        requests of a real system, see TRACE: the program ioplay
    file = "usr_0.csv.gz"          replays them from a disk of their own, /dev/disk2, on
    scale = "{speed}"              files /data/trace0 and so on of "{part_mb}" MiB each

    [sweep]                        variable = [values]; every arm is run for
    seed = [1, 2, 3]               each combination. "{seed}" in any text
                                   above stands for the value, and
                                   "{8 * seed}" for what that comes to

    [sizes.quick]                  what differs between sizes: --size chooses one,
    nr = 1000                      without it `full`. A list replaces the values
    seed = [1, 2]                  of a variable of [sweep], anything else is a
                                   variable "{nr}" like those. Every size must
                                   define the same variables. arms = ["PU"]:
                                   only these run, and what is expected of
                                   others is not judged

    [model]                        what theory says of each run: an analytic
    name = "carson_setia"          model, which metrics it predicts, and its
    metrics = {"read.mean_ms" = "read_ms"}    parameters; see theory.py
    parameters = {reads_per_s = "{8 * iops}"}

    [plot]
    columns = ["read.max_ms"]      metrics of the table, see metrics.py
    lead = "read.max_ms"           the metric that the report begins with; if not given,
                                   that of the most expectations
    histogram = "read"             the response times to draw
    distribution = "hist.bio.burst"    a histogram of the kernel to draw, cumulative

    [[equal]]                      two arms that may have equal figures of `lead` in all
    arms = ["made+PU", "made+AIPU"]    trials of a setting, and why = "...": the reason,
                                   known from a trace or counters; where = {...}: only
                                   in these settings. Any other two that do have failed

    [[published]]                  a figure of the source: arm, metric, value;
                                   where = {variable = value};
                                   place = "Mogul 1994, table 4-3": its cell, on the book's page;
                                   than = an arm: the difference from it, as "-36 %";
                                   than_where = {variable = value}: in which setting;
                                   whose = "model": of the source's model, beside ours

    [[expectations]]               says, metric, arm, op, and value or `than`
                                   (another arm, `times` a factor); of = "every"
                                   run, "any", a mean, min, max or sum over the
                                   runs, or at each "point": combination of the
                                   variables; where = {variable = value},
                                   or a list of values;
                                   size = "full": only at that size;
                                   instead of value or `than`, along = a variable:
                                   at each of its values in turn (or of those in
                                   `where`), compared with the value before; with
                                   ==, within_percent, which two arms must have:
                                   the margin, from the source. Two arms are
                                   compared by an interval, see significance.py.
                                   than = "model": at each point compared with
                                   what the model says; instead of within_percent,
                                   median_percent: so far off is at most the median
                                   of all points;
                                   crosses = a variable, and `than` an arm: where
                                   along it the two arms' values meet, compared
                                   with value, or with where the model's do;
                                   paper = "Mogul 1994, 4.1: up to 8 s": the
                                   expectation is the source's, and has its sign; after
                                   the comma stands the place in the source;
                                   finding = "Mogul 1994, 4.1: up to 8 s": what is
                                   counted once, however many expectations have it;
                                   if not given, it is `paper`;
                                   check = "arithmetic" or "set-up": no finding, for
                                   the figure follows from the machine's description;
                                   differs = "why": it is not met, be it the
                                   source's or our own, and the cause is known, from
                                   a trace or counters; so it is no failure

    [tune]                         a search for an arm's tunables (sluice dev tune): arm,
    metrics = ["read.mean_ms"]     metrics that are to be less, candidates, screened
    [tune.values]                  and finalists; and for each tunable, or kind of
    "sluice.free" = [80, 90]       policy, what to try. The size `held` judges

    columns = ["arm", "value"]     many [[tables]] of one kind may be the rows of one, with
    rows = [["PU", "8.1"]]         the keys that all share above them, see rows.py

Nothing is guessed and nothing corrected: an unknown key, policy, tunable,
unit or metric, a value of a wrong type or out of range is a problem, and a
file with a problem is not run. All problems are reported at once, each with its
line and, if something is spelt alike, with what was probably meant.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sluice.experiment.records import (
    Configuration,
    ContestTable,
    EqualArms,
    Expectation,
    Plot,
    PublishedFigure,
    RunResult,
    TuneTable,
    Variables,
)
from sluice.host.limits import HANG_S
from sluice.theory import Prediction

OPS = ("<", "<=", ">", ">=", "==")
MEASURED = "measured"  # as whose = in a published figure; or MODEL_SAYS
MODEL_SAYS = "model"  # as than = in an expectation; no arm has this name
CHARGED, COUNTED = "charged", "counted"  # clocks of virtual time
MACHINE_ENGINE, TWIN = "machine", "twin"  # what makes runs; without a word, the machine
OVER_RUNS = ("every", "any", "point", "mean", "min", "max", "sum")


class BadExperiment(ValueError):
    """The error for a file that is refused; the text has a line for each problem."""


@dataclass(frozen=True)
class Field:
    """The allowed values of a key: a kind, and a range for numbers and sizes (in bytes)."""

    kind: str
    about: str
    default: Any = None  # its type depends on the kind
    low: int = 0
    high: int = 2**63
    choices: tuple[str, ...] = ()
    required: bool = False


MACHINE = {
    "clock": Field(
        "text",
        "charged: computing costs what a table says; counted: its instructions are counted",
        CHARGED,
        choices=(CHARGED, COUNTED),
    ),
    "cpu_shift": Field("number", "an instruction takes 2^this ns", 5, 0, 10),
    "memory": Field("size", "of the machine", "64M", 32 << 20, 8 << 30),
    "block": Field("text", "block size of both disks", "4K", choices=("1K", "2K", "4K", "8K")),
    "nbuf": Field("number", "buffers in the cache; if not given, the kernel decides", None, 16),
    "keep_freed": Field("number", "1: freed blocks stay dirty; if not given, 0", None, 0, 1),
    "cluster_kb": Field("number", "neighbours join to commands of this size", 64, 0, 1024),
    "drive_cylinders": Field(
        "number", "the disks lie in the first of a drive's; 0: in all", None, 0, 1000000
    ),
    "drive_depth": Field("number", "commands in a drive; 0: as its model says", 0, 0, 256),
    "drive_command_us": Field(
        "number", "a command's way to a drive; if not given, 0", None, 0, 100000
    ),
    "drive_bus_kb_s": Field(
        "number", "of a drive's bus; if not given, as its model says", None, 100
    ),
    "drive_segments": Field("text", "of its cache, or adaptive; if not given, as its model says"),
    "drive_ahead_if_sequential": Field(
        "number",
        "1: it reads ahead after sequential reads only; else as its model says",
        None,
        0,
        1,
    ),
    "drive_ahead": Field(
        "text", "track: it reads whole tracks", "model", choices=("model", "track")
    ),
    "drive_seed": Field("number", "of a drive whose times are drawn; if not given, 0", None, 0),
    "drive_misjudged_percent": Field(
        "number", "how far off a scheduler's view of a drive is; if not given, 0", None, 0, 100
    ),
    "log_in_drive": Field(
        "number", "1: drives keep their virtual logs themselves; if not given, 0", None, 0, 1
    ),
    "full_from_s": Field(
        "number", "when the data disk begins to fail all writes, in virtual time", None, 0, 1000000
    ),
    "full_for_s": Field("number", "how long it does; if not given, 0", None, 0, 1000000),
    "drive_times": Field("number", "1: find out what the drive did with its time", 0, 0, 1),
    "loss_ages": Field("number", "1: find out what a power cut would lose, and how old", 0, 0, 1),
    "trace_k": Field("number", "K events that the trace keeps: the last ones", 256, 1, 1 << 20),
    "virtual_limit_s": Field("number", "a run that takes longer has failed", 7200, 1),
    "host_limit_s": Field("number", "the same in time of the host, against hangs", HANG_S, 1),
    "root": Field("table", "the root disk"),
    "data": Field("table", "a second disk, mounted at /data"),
}
DISK = {
    "drive": Field("drive", "its model", "fixed"),
    "size": Field("size", "of the image", "16M", 1 << 20),
    "group": Field("size", "of a block group; if not given, the largest", None, 1 << 20),
    "journal": Field(
        "size", "of its journal, which order=journal needs; if not given, none", None, 1 << 20
    ),
    "files": Field("table", "path = size"),
    "at": Field("table", "path = GROUP or GROUP:BLOCK, where the file begins"),
    "scatter": Field("table", "path = COUNT:SIZE, files with numbers at random places"),
    "indirect": Field(
        "text",
        "where a file's indirect block is: far in the next group, or in a random one",
        "near",
        choices=("near", "far", "random"),
    ),
    "spread": Field("text", "SIZE[:GROUPS]: after each such part, files go on so many groups on"),
    "fill": Field("number", "percent in use, with other files", 0, 0, 100),
    "fragment": Field("number", "percent of the other files' blocks freed again", 0, 0, 99),
    "log_places": Field(
        "number", "of 4 KB, of the virtual log that the disk is laid out on; 0: none", 0, 0, 1 << 24
    ),
    "log_summaries": Field(
        "number", "of that log, for a policy that writes segments; 0: none", 0, 0, 1 << 16
    ),
    "log_seed": Field(
        "number", "all blocks have been written, to places drawn by it; 0: in order", 0, 0, 1 << 32
    ),
}
NETWORK = {
    "link": Field("text", "a row of kernel/link, by the name of its file", required=True),
    "loss_percent": Field("number", "frames that the link loses, by seed", 0, 0, 100),
    "late_percent": Field("number", "frames that it delivers late, by seed", 0, 0, 100),
    "link_seed": Field("number", "of lost and late frames", 0, 0, (1 << 32) - 1),
    "stable_writes": Field("number", "1: the client asks for stable writes only", 0, 0, 1),
    "consistency": Field(
        "text",
        "how the client sees what others write",
        "nfs",
        choices=("nfs", "spritely", "leases"),
    ),
    "nvram": Field("text", "size of the server's NVRAM, before its data disk; 0: none", "0"),
    "server": Field("table", "the server's machine", required=True),
    "policies": Field("table", "the server's"),
}
TOP = {
    "claim": Field("text", "what is to be shown", required=True),
    "source": Field("text", "where it is from", required=True),
    "machine": Field("table", "the machine"),
    "network": Field("table", "a server"),
    "policies": Field("table", "of all runs"),
    "tunables": Field("table", "of all runs"),
    "arms": Field("tables", "what is compared", required=True),
    "sets": Field("text", "named sets that are arms, too"),
    "workload": Field("table", "the commands", required=True),
    "trace": Field("table", "requests that the workload replays"),
    "sweep": Field("table", "variables and their values"),
    "sizes": Field("table", "what differs between sizes"),
    "model": Field("table", "what theory says"),
    "plot": Field("table", "what is shown"),
    "equal": Field("tables", "arms that may be equal in the lead metric"),
    "published": Field("tables", "the source's figures"),
    "expectations": Field("tables", "what must come out"),
    "contest": Field("table", "of an arm against all others"),
    "tune": Field("table", "which tunables of an arm are searched, and how"),
}
ARM = {
    "name": Field("text", "of the arm", required=True),
    "policies": Field("table", "its policies"),
    "tunables": Field("table", "its tunables"),
    "variables": Field("table", "its own, as those of the sweep"),
}
WORKLOAD = {
    "setup": Field("text", "commands before the measurement", ""),
    "commands": Field("text", "commands measured", required=True),
}
TRACE = {
    "file": Field("text", "a trace; a path from this file's folder on", required=True),
    "format": Field("text", "a module of sluice/trace/formats; if not given, the file tells", ""),
    "count": Field("number", "requests from the first on; if not given, all", None, 1),
    "scale": Field("real", "how many times as fast it is", 1.0),
    "join_kb": Field("number", "neighbours become one request up to this size; 0: not", 0, 0, 1024),
    "join_ms": Field(
        "number", "only those that came within this many ms, at scale 1", 3, 0, 10_000
    ),
    "split_kb": Field("number", "longer requests become several", 1024, 1, 1024),
    "fit": Field(
        "text",
        "if it reaches beyond the disk: refuse; pack what is used; or fold",
        "refuse",
        choices=("refuse", "pack", "fold"),
    ),
}
MODEL = {
    "name": Field("text", "of a file in sluice/theory", required=True),
    "metrics": Field("table", "metric = quantity", required=True),
    "parameters": Field("table", "of the model"),
}
PLOT = {
    "columns": Field("list", "metrics of the table", required=True),
    "lead": Field("text", "the metric that the report begins with"),
    "histogram": Field("text", "the response times to draw"),
    "distribution": Field("text", "a histogram to draw as a cumulative distribution"),
}
EQUAL = {
    "arms": Field("list", "two arms", required=True),
    "where": Field("table", "only in these settings, each value one or a list"),
    "why": Field("text", "the reason, and how one knows", required=True),
}
PUBLISHED = {
    "arm": Field("text", "an arm", required=True),
    "metric": Field("text", "a metric", required=True),
    "value": Field("text", "as the source has it", required=True),
    "where": Field("table", "only runs with these values"),
    "place": Field("text", "the source, and its table or figure", ""),
    "than": Field("text", "the arm from which the value is the difference"),
    "than_where": Field("table", "its setting, as far as it is another"),
    "whose": Field(
        "text", "measured, or of the source's model", MEASURED, choices=(MEASURED, MODEL_SAYS)
    ),
}
EXPECTATION = {
    "says": Field("text", "in words", required=True),
    "metric": Field("text", "a metric", required=True),
    "arm": Field("text", "an arm", required=True),
    "op": Field("text", "a comparison", required=True, choices=OPS),
    "value": Field("real", "compared with"),
    "than": Field("text", "or with this arm, or with the model"),
    "along": Field("text", "or, for each value of this variable, with the value before"),
    "crosses": Field("text", "or, along this variable, where the value meets that of `than`"),
    "times": Field("real", "times this", 1.0),
    "within_percent": Field("real", "with ==: a difference of this many percent is allowed"),
    "median_percent": Field(
        "real", "with the model: at least half of the points are no farther off"
    ),
    "of": Field("text", "over the runs; if not given, as the table", choices=OVER_RUNS),
    "where": Field("table", "only runs with these values, each one or a list"),
    "size": Field("text", "only at this size"),
    "paper": Field("text", "what the source says of this, with its figure", ""),
    "differs": Field("text", "why it is not met, and how one knows", ""),
    "finding": Field("text", "in the words of `paper`, equal in all places of one finding", ""),
    "check": Field("text", "why it is no finding", "", choices=("arithmetic", "set-up")),
}
CONTEST = {
    "arm": Field("text", "that is to be at least as good as the others", required=True),
    "metrics": Field("list", "in these, of which less is better", required=True),
    "bound": Field("text", "among arms of which this metric is no more than its own"),
    "bound_times": Field("real", "times this", 1.0),
    "no_more": Field("table", "metric = arm that has no less of it"),
    "aside": Field("list", "arms that are not in it"),
}

TUNE = {
    "arm": Field("text", "whose tunables are searched", required=True),
    "metrics": Field("list", "what is to be less", required=True),
    "values": Field("table", "tunable or kind of policy = what to try", required=True),
    "candidates": Field("number", "that are tried", 64, 1),
    "screened": Field("number", "seeds, the first, with which all are measured", 1, 1),
    "finalists": Field("number", "of them, which are measured with the other seeds", 4, 1),
}


@dataclass(frozen=True)
class Run:
    """One run, ready to be made. Its result depends only on `config`. model: the prediction of an
    analytic model, or None."""

    number: int
    experiment: str
    arm: str
    variables: Variables
    config: Configuration
    host_limit_s: int
    model: Prediction | None = None

    @property
    def uses_twin(self) -> bool:
        """True if the twin makes the run, False if a machine does."""
        return self.config.get("engine") == TWIN

    @property
    def prediction(self) -> dict[str, float]:
        """The model's figures, by metric."""
        return self.model.figures() if self.model else {}

    @property
    def name(self) -> str:
        """The run's name, for people and for file names."""
        words = [self.arm, *(f"{k}={v}" for k, v in self.variables.items())]
        return "_".join(words).replace("/", "-")


@dataclass(frozen=True)
class Experiment:
    """A checked file, in a size.

    name: FILE[-SIZE][+POLICY][@twin]; policy: a policy that is measured next to those of the file,
    or ""; engine: what makes the runs.
    """

    name: str
    path: Path
    size: str
    policy: str
    claim: str
    source: str
    drive: str  # of the disk that is measured; of several machines, all
    runs: list[Run]
    arms: list[str]
    plot: Plot
    published: list[PublishedFigure]
    expectations: list[Expectation]
    equal: list[EqualArms]
    contest: ContestTable | None = None
    tune: TuneTable | None = None
    engine: str = MACHINE_ENGINE

    @property
    def is_approximate(self) -> bool:
        """True if the twin charges time where the file asks for counted time."""
        return self.name.endswith(f"@{TWIN}")

    def find_prediction(self, result: RunResult) -> dict[str, float]:
        """Return the model's figures, by metric, for the run that a result is of."""
        arm, variables = result["arm"], result["variables"]
        for run in self.runs:
            if (run.arm, run.variables) == (arm, variables):
                return run.prediction
        return {}
