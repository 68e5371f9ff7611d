"""The records of experiments: which keys they have, and of which type each value is.

They are dicts, in the form of the files that hold them, and this module gives their types:

    Unchecked            a dict of a file that nothing has checked
    Arm ... TuneTable    a table that has been checked, with its defaults (schema.py has the
                         ranges and the words for each key; load.py makes them)
    Configuration        all that a run's result depends on, besides the kernel: result.py's
                         `config`. Its hash is the key of a stored result, so a key here is never
                         renamed
    RunResult            a line of results.jsonl. result.py describes and checks it

A size is text, as "34M"; a time has its unit in its name. Nothing is computed here.
"""

from collections.abc import Mapping
from typing import Any, NotRequired, TypedDict

from sluice.system.devtext import Histogram

Unchecked = dict[str, Any]  # of TOML or JSON: a value may be of any type
Value = str | int | float  # of a variable
Variables = dict[str, Value]
Where = Mapping[str, Value | list[Value]]  # a selection: a value of each variable, or several


class DiskConfig(TypedDict):
    """A disk: [machine.root] or [machine.data]. Sizes are those of mkfs, as "16M"."""

    drive: str
    size: str
    group: str | None
    journal: NotRequired[str | None]  # not there: none
    files: dict[str, str]
    at: dict[str, str]
    scatter: dict[str, str]
    indirect: str
    spread: str | None
    fill: int  # percent
    fragment: int  # percent
    log_places: int  # of 4 KiB
    log_summaries: int
    log_seed: int


class RequestImage(TypedDict):
    """The image of a disk with requests: its hash, how many they are, and the `parts` files of
    `part_mb` MiB that they go to."""

    requests: str
    count: int
    part_mb: int
    parts: int


class TraceConfig(RequestImage):
    """The requests that a run replays, and the hash of the program that replays them."""

    program: str


class MachineConfig(TypedDict):
    """The table [machine]. Its numbers are in the units of their names; cpu_shift: an instruction
    takes 2^this ns. A value of None is the kernel's or the drive's own."""

    clock: str
    cpu_shift: int
    memory: str
    block: str
    nbuf: int | None
    keep_freed: int | None
    cluster_kb: int
    drive_cylinders: int | None
    drive_depth: int
    drive_command_us: int | None
    drive_bus_kb_s: int | None
    drive_segments: str | None
    drive_ahead_if_sequential: int | None
    drive_ahead: str
    drive_seed: int | None
    drive_misjudged_percent: int | None
    log_in_drive: int | None
    full_from_s: int | None
    full_for_s: int | None
    drive_times: int
    loss_ages: NotRequired[int]  # 1, or not there
    trace_k: int
    virtual_limit_s: int
    host_limit_s: NotRequired[int]  # no result depends on it, so a run has it by itself
    root: DiskConfig
    data: DiskConfig | None
    trace: NotRequired[TraceConfig]
    engine: NotRequired[str]  # "twin", if that makes the run


class Workload(TypedDict):
    """The commands before the measurement, and those measured."""

    setup: str
    commands: str


class LinkFaults(TypedDict):
    """The faults of a link: how many frames are lost, and how many come late."""

    loss_percent: int
    late_percent: int
    seed: int


class Configuration(MachineConfig, Workload):
    """All that a run's result depends on, besides the kernel and the images."""

    policies: dict[str, str]  # by kind
    tunables: dict[str, int]  # as "aipu.age_ms", in the tunable's unit
    args: str  # the boot arguments, made of the rest
    link: NotRequired[str]  # to the server, a machine with a data disk,
    consistency: NotRequired[str]  # of the client's mount of the server's disk
    faults: NotRequired[LinkFaults]  # of the link, if it has any
    server: NotRequired["Configuration"]
    nvram: NotRequired[str]  # of a server: the size, or "0"


class NetworkTable(TypedDict):
    """The table [network]."""

    link: str
    loss_percent: int
    late_percent: int
    link_seed: int
    stable_writes: int
    consistency: str
    nvram: str
    server: Unchecked
    policies: Unchecked


class Arm(TypedDict):
    """An arm of a comparison: policies by kind, tunables by name, and variables of its own."""

    name: str
    policies: NotRequired[Unchecked]
    tunables: NotRequired[Unchecked]
    variables: NotRequired[Variables]


class TraceTable(TypedDict):
    """The table [trace]: a file of requests, and how they are fitted to the disk."""

    file: str
    format: str
    count: int | None
    scale: float
    join_kb: int
    join_ms: int
    split_kb: int
    fit: str


class ModelTable(TypedDict):
    """The table [model]: the model's quantity by metric, and its parameters."""

    name: str
    metrics: Unchecked
    parameters: Unchecked


class Plot(TypedDict):
    """The table [plot]: the columns of the table of results, and what is drawn."""

    columns: list[str]
    lead: NotRequired[str | None]
    histogram: NotRequired[str | None]
    distribution: NotRequired[str | None]


class EqualArms(TypedDict):
    """A row of [[equal]]: two arms that may have equal figures, and why."""

    arms: list[str]
    where: Where
    why: str


class PublishedFigure(TypedDict):
    """A row of [[published]]: a figure as the source has it."""

    arm: str
    metric: str
    value: str
    where: Where
    place: str
    than: str | None
    than_where: Where
    whose: str


class Expectation(TypedDict):
    """A row of [[expectations]]; the head of schema.py says what each key means. `value` is in the
    metric's unit."""

    says: str
    metric: str
    arm: str
    op: str
    value: float | None
    than: str | None
    along: str | None
    crosses: str | None
    times: float
    within_percent: float | None
    median_percent: float | None
    of: str | None
    where: Where
    size: str | None
    paper: str
    differs: str
    finding: str
    check: str


class ContestTable(TypedDict):
    """The table [contest]: an arm, the metrics in which it meets the others, and which others take
    part."""

    arm: str
    metrics: list[str]
    bound: str | None
    bound_times: float
    no_more: dict[str, str]
    aside: list[str]


class TuneTable(TypedDict):
    """The table [tune]: the values to try by tunable or kind of policy, and how many of them."""

    arm: str
    metrics: list[str]
    values: dict[str, list[Value]]
    candidates: int
    screened: int
    finalists: int


class FileTables(TypedDict):
    """The tables of an experiment's file, the outermost level of which has been checked."""

    claim: str
    source: str
    machine: Unchecked
    network: Unchecked
    policies: Unchecked
    tunables: Unchecked
    arms: list[Arm]
    sets: str | None
    workload: Unchecked
    trace: Unchecked
    sweep: Unchecked
    sizes: Unchecked
    model: Unchecked
    plot: Unchecked
    equal: list[Unchecked]
    published: list[Unchecked]
    expectations: list[Unchecked]
    contest: Unchecked
    tune: Unchecked


class JobLine(TypedDict):
    """A program's report on a job (jobs.py). A report has further keys, whose values are numbers,
    or dicts of numbers by name. Keys that end in _ns are times in ns."""

    program: str
    job: str
    response_ns: NotRequired[dict[str, float]]
    histogram: NotRequired[list[tuple[int, int]]]  # [low_ns, count]
    pid: NotRequired[int]
    reads: NotRequired[int]
    start_ns: NotRequired[int]


class DiskBins(TypedDict):
    """The requests of a disk, a number for each bin of time (series.py)."""

    reads: list[int]
    writes: list[int]
    queue_max: list[int]
    queue_end: list[int]
    read_sector: list[int | None]
    write_sector: list[int | None]
    read_heat: list[list[int]]  # [bin, low_us, count]


class TraceSeries(TypedDict):
    """The trace of a run, counted in bins of bin_ms each (series.py)."""

    bin_ms: int
    bins: int
    lost: int  # events
    from_bin: int
    disks: dict[str, DiskBins]
    flushes: list[list[int]]  # [bin, flushes, blocks, most blocks of one]


class DriveTimes(TypedDict):
    """How the drive spent its time, in ns, by purpose and part (utilisation.py)."""

    read: dict[str, int]
    write: dict[str, int]
    map: dict[str, int]
    moved: dict[str, int]
    idle: int
    unknown: int  # commands


class LossAges(TypedDict):
    """An age of what a cut loses (loss.py): its mean, and its percentiles from 0 to 100."""

    mean_ns: int
    percentiles_ns: list[int]


class Lost(TypedDict):
    """The loss of a cut at a random time, of one kind (loss.py). bytes: the mean size of the lost
    blocks. nothing_ppm: the share of cuts that lose nothing, in parts per million."""

    age: LossAges
    oldest: LossAges
    bytes: int
    nothing_ppm: int


class LossFigures(TypedDict):
    """The loss of a cut at a random time, of the files and of all blocks (loss.py)."""

    data: Lost
    all: Lost


class ConsoleFigures(TypedDict):
    """The part of a result that comes from the console. counters: by how much each grew, and its
    unit."""

    virtual_ms: int
    counters: dict[str, list[int | str]]
    histograms: dict[str, Histogram]
    jobs: list[JobLine]


class RunFigures(ConsoleFigures):
    """The part of a result that metrics are computed from (metrics.py)."""

    arm: str
    drive: NotRequired[DriveTimes]
    loss: NotRequired[LossFigures]


class TraceFigures(TypedDict):
    """The part of a result that comes from the trace."""

    series: TraceSeries
    drive: NotRequired[DriveTimes]
    loss: NotRequired[LossFigures]


class KernelRecord(TypedDict):
    """The kernel that made a run: its hash and, in counted time, its compiler."""

    kernel: str
    compiler: NotRequired[str]


class RunResult(RunFigures, KernelRecord):
    """The result of one run: a line of results.jsonl."""

    experiment: str
    variables: Variables
    key: str
    config: Configuration
    images: dict[str, str]
    series: TraceSeries
