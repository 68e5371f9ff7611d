"""Reads an experiment's file: checks it as a whole, then splits it into runs."""

import itertools
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from sluice.experiment import jobs, metrics, sets, theory, trace_disk
from sluice.experiment.catalogue import add_server_names, has_volatile_cache, load_catalogue
from sluice.experiment.check import Checker, format_toml
from sluice.experiment.locate import Lines
from sluice.experiment.locate import Path as Keys
from sluice.experiment.records import (
    Arm,
    Configuration,
    ContestTable,
    DiskConfig,
    EqualArms,
    Expectation,
    FileTables,
    MachineConfig,
    NetworkTable,
    Plot,
    PublishedFigure,
    TuneTable,
    Unchecked,
    Value,
    Variables,
    Where,
    Workload,
)
from sluice.experiment.result import measured_drive
from sluice.experiment.rows import BadRows, parse_experiment
from sluice.experiment.schema import (
    ARM,
    CHARGED,
    CONTEST,
    DISK,
    EQUAL,
    EXPECTATION,
    MACHINE,
    MODEL_SAYS,
    NETWORK,
    PLOT,
    PUBLISHED,
    TOP,
    TUNE,
    WORKLOAD,
    BadExperiment,
    Experiment,
    Field,
    Run,
)
from sluice.experiment.verdict import matches_variables, setting_words
from sluice.host.nearest import suggest
from sluice.theory import Prediction

AS_MODEL = "model"  # of a drive's setting: the kernel gets no argument
Arms = Sequence[Arm]
NO_NVRAM = ("0", "0K", "0M")  # as a size that a sweep gives
NVRAM = Field("size", "of the server's NVRAM", low=16 << 10, high=1 << 30)
FILE = Field("size", "of a file", low=1, high=1 << 42)
PLACE = Field("text", "GROUP or GROUP:BLOCK")
SCATTER = Field("text", "COUNT:SIZE")
# The machine's rows that are boot arguments.
ALWAYS = ("cluster_kb", "drive_depth", "trace_k")
IF_GIVEN = (
    "nbuf",
    "keep_freed",
    "drive_cylinders",
    "drive_command_us",
    "drive_bus_kb_s",
    "drive_segments",
    "drive_ahead_if_sequential",
    "drive_ahead",
    "drive_seed",
    "drive_misjudged_percent",
    "log_in_drive",
    "full_from_s",
    "full_for_s",
)
MAX_BOOT_ARGS = 1023 - 20  # bytes that the kernel takes, besides ramdisks=
ARMS = "arms"  # the key of a size that is no variable: the only arms to run
FULL = "full"  # the size of an experiment that has but one, and the usual one


def read_toml(path: Path) -> tuple[Unchecked, str]:
    """Return the file's values and its text. Raises BadExperiment."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise BadExperiment(f"{path}: cannot be read: {error}") from None
    try:
        return parse_experiment(text), text
    except BadRows as error:
        raise BadExperiment(f"{path}:{Lines(text).line(error.keys)}: {error}") from None
    except tomllib.TOMLDecodeError as error:
        at = re.search(r" \(at line (\d+), column \d+\)$", str(error))
        line = at[1] if at else len(text.splitlines())
        said = str(error)[: at.start()] if at else str(error)
        raise BadExperiment(f"{path}:{line}: not TOML: {said}") from None


def check_sizes(c: Checker, sizes: Unchecked, sweep: Unchecked) -> None:
    """Check that every size is a table, and that all sizes give the same variables."""
    if sizes and FULL not in sizes:
        c.add_problem(("sizes",), f"there is no [sizes.{FULL}]")
    tables = [table for table in sizes.values() if isinstance(table, dict)]
    variables = {name for table in tables for name in table if name != ARMS}
    for size, table in sizes.items():
        if not isinstance(table, dict):
            c.add_problem(("sizes", size), f"{size}: must be a table")
            continue
        for name in sorted(variables - table.keys()):
            c.add_problem(("sizes", size), f'{size}: lacks the variable "{name}" of another size')
        for name, value in table.items():
            if name == ARMS:
                continue
            if isinstance(value, list) != (name in sweep):
                told = "must be a list, as in [sweep]" if name in sweep else "not in [sweep]"
                c.add_problem(("sizes", size, name), f"{name}: {told}")


def select_size(
    c: Checker, top: FileTables, size: str
) -> tuple[str, dict[str, list[Value]], Variables]:
    """Return the chosen size, its sweep, and its other variables."""
    sizes, sweep = top["sizes"], top["sweep"]
    check_sizes(c, sizes, sweep)
    if not sizes:
        return FULL, sweep, {}
    if c.problems or not c.check_choice(("sizes",), "size", size, list(sizes)):
        return size, sweep, {}
    chosen = sizes[size]
    lists = {name: value for name, value in chosen.items() if name in sweep}
    return size, sweep | lists, {k: v for k, v in chosen.items() if k not in (*sweep, ARMS)}


def select_arms(c: Checker, top: FileTables, size: str, names: list[str], more: str) -> list[str]:
    """Return the names of the arms that run in a size: all, or those that the size names and the
    arm `more`."""
    at = ("sizes", size, ARMS)
    table = top["sizes"].get(size, {})
    if not isinstance(table, dict) or ARMS not in table:
        return names
    chosen: list[str] = c.value(at, table[ARMS], Field("list", "arms"))
    for name in chosen:
        c.check_choice(at, "arm", name, names)
    return [name for name in names if name in (*chosen, more)]


def sweep_points(c: Checker, sweep: dict[str, list[Value]]) -> list[Variables]:
    """Return every combination of the variables' values, after a check of the values."""
    for name, values in sweep.items():
        at = ("sweep", name)
        if not isinstance(values, list) or not values:
            c.add_problem(at, f"{name}: must be a list of values")
        elif len(set(map(str, values))) < len(values):
            c.add_problem(at, f"{name}: the same value twice")
        elif not all(isinstance(value, str | int | float) for value in values):
            c.add_problem(at, f"{name}: values must be texts or numbers")
    if c.problems:
        return []
    return [dict(zip(sweep, values, strict=True)) for values in itertools.product(*sweep.values())]


def check_disk(
    c: Checker, name: str, raw: Mapping[str, Any], machine: Keys = ("machine",)
) -> DiskConfig:
    """Return a disk's table, checked. Without a journal the table lacks the key, so
    that its configuration is equal to one from before there was the key."""
    keys = (*machine, name)
    good = c.check_table(keys, raw, DISK, DiskConfig)
    for path, size in good["files"].items():
        at = (*keys, "files", path)
        c.value(at, size, FILE)
    for path, place in good["at"].items():
        c.check_choice((*keys, "at", path), "file", path, list(good["files"]))
        c.value((*keys, "at", path), place, PLACE)
    for path, files in good["scatter"].items():
        c.value((*keys, "scatter", path), files, SCATTER)
    if good["journal"] is None:
        del good["journal"]
    return good


def boot_args(machine: MachineConfig, policies: dict[str, str], tunables: dict[str, int]) -> str:
    """Return the boot arguments. The first is check=1; the others are sorted by kind."""
    words: dict[str, object] = {"disk0.drive": machine["root"]["drive"]}
    if machine["data"]:
        words["disk1.drive"] = machine["data"]["drive"]
    if "trace" in machine:
        words["disk2.drive"] = trace_disk.DRIVE
    settings: Mapping[str, object] = machine
    words |= {name: settings[name] for name in ALWAYS}
    words |= {name: settings[name] for name in IF_GIVEN if settings[name] not in (None, AS_MODEL)}
    words |= policies | dict(sorted(tunables.items()))
    return " ".join(["check=1", *(f"{name}={value}" for name, value in words.items())])


def arm_variables(c: Checker, arms: Arms, others: list[str]) -> list[Variables]:
    """Return the variables of each arm, after a check that all arms have the same names and that
    the sweep has none of them."""
    good = [arm.get("variables", {}) for arm in arms]
    names = {name for variables in good for name in variables}
    for i, variables in enumerate(good):
        for name in sorted(names - variables.keys()):
            c.add_problem(("arms", i), f'lacks the variable "{name}" of another arm')
        for name in variables.keys() & set(others):
            c.add_problem(("arms", i, "variables"), f'"{name}" is a variable of the sweep or size')
    return good


def expect_log(c: Checker, keys: Keys, machine: MachineConfig, place: object) -> None:
    """Add a problem with a place policy if no disk has a virtual log, because the policy then
    decides nothing."""
    logged = any(disk and disk["log_places"] for disk in (machine["root"], machine["data"]))
    if place != c.known.defaults["place"] and not logged:
        said = f"place = {format_toml(place)}: does nothing, because no disk has a virtual log"
        c.add_problem(keys, f"{said} (log_places)")


def expect_journals(c: Checker, keys: Keys, machine: MachineConfig, order: object) -> None:
    """Add a problem with order=journal if a disk has no journal, because the machine then does not
    boot."""
    disks = {"root": machine["root"], "data": machine["data"]}
    lacking = [name for name, disk in disks.items() if disk and not disk.get("journal")]
    if order == "journal" and lacking:
        tables = " and ".join(f"[machine.{name}]" for name in lacking)
        c.add_problem(keys, f'order = "journal": needs journal = SIZE in {tables}')


def expect_stable_writes(c: Checker, machine: MachineConfig) -> None:
    """Add a problem with loss_ages if a completed write of the measured drive may still be lost.
    Without loss_ages, remove the key, so that the configuration is equal to one from before there
    was the key."""
    if not machine["loss_ages"]:
        del machine["loss_ages"]
        return
    name = "data" if machine["data"] else "root"
    drive = (machine["data"] or machine["root"])["drive"]
    if has_volatile_cache(drive):
        said = f"loss_ages = 1: the cache of {drive} is volatile, and no event tells of its flushes"
        c.add_problem(("machine", name, "drive"), said)


def build_config(c: Checker, raw: Unchecked, arm: int, variables: Variables) -> Configuration:
    """Return everything that affects a run's result, checked."""

    def check_part(*keys: str | int) -> Unchecked:
        """Return a part of the file, with its variables replaced by their values."""
        value: Any = raw
        for key in keys:
            value = value[key] if isinstance(key, int) else value.get(key, {})
        filled: Unchecked = c.substitute_variables(keys, value, variables)
        return filled

    machine = c.check_table(("machine",), check_part("machine"), MACHINE, MachineConfig)
    machine["root"] = check_disk(c, "root", machine["root"])
    machine["data"] = check_disk(c, "data", machine["data"]) if machine["data"] else None
    expect_stable_writes(c, machine)
    if "trace" in raw:
        # The trace's path is text, whatever is in it. What else the table says may be a variable.
        path = {name: value for name, value in raw["trace"].items() if name == "file"}
        rest = {name: value for name, value in raw["trace"].items() if name != "file"}
        trace: Unchecked = c.substitute_variables(("trace",), rest, variables) | path
        is_open = trace_disk.is_open_loop(
            str(raw.get("workload", {}).get("commands", "")), variables
        )
        given = {name: value for name, value in machine.items() if name in raw.get("machine", {})}
        trace_disk.add_trace(c, trace, machine, given, is_open)
        variables = variables | trace_disk.trace_variables(machine.get("trace"))
    policies = dict(c.known.defaults)
    tunables: dict[str, int] = {}
    both: tuple[Keys, Keys] = ((), ("arms", arm))
    for keys in both:
        policies |= c.check_policies((*keys, "policies"), check_part(*keys, "policies"))
        tunables |= c.check_tunables((*keys, "tunables"), check_part(*keys, "tunables"))
    expect_log(c, ("arms", arm, "policies"), machine, policies["place"])
    expect_journals(c, ("arms", arm, "policies"), machine, policies["order"])
    args = boot_args(machine, policies, tunables)
    table: NetworkTable | None = None
    if "network" in raw:
        table = c.check_table(("network",), check_part("network"), NETWORK, NetworkTable)
        args += f" remote_stable={2 * table['stable_writes']}"
        if machine["data"] or machine["clock"] != CHARGED:
            c.add_problem(("network",), "the client has no data disk, and is in charged time")
    if len(args) > MAX_BOOT_ARGS:
        c.add_problem(("machine",), f"boot arguments of {len(args)} bytes: too many")
    workload = c.check_table(("workload",), check_part("workload"), WORKLOAD, Workload)
    whole = {**machine, "policies": policies, "tunables": tunables, "args": args, **workload}
    config = cast(Configuration, whole)
    if table:
        config["link"], config["server"] = table["link"], build_server(c, table)
        config["consistency"] = table["consistency"]
        if table["loss_percent"] or table["late_percent"]:
            config["faults"] = {
                "loss_percent": table["loss_percent"],
                "late_percent": table["late_percent"],
                "seed": table["link_seed"],
            }
    return config


def build_server(c: Checker, table: NetworkTable) -> Configuration:
    """Return the configuration of a server, checked."""
    keys = ("network", "server")
    machine = c.check_table(keys, table["server"], MACHINE, MachineConfig)
    machine["root"] = check_disk(c, "root", machine["root"], keys)
    machine["data"] = check_disk(c, "data", machine["data"], keys) if machine["data"] else None
    if not machine["data"] or machine["clock"] != CHARGED:
        c.add_problem(keys, "a server has a data disk, and is in charged time")
    del machine["loss_ages"], machine["host_limit_s"]
    policies = c.known.defaults | c.check_policies(("network", "policies"), table["policies"])
    args = boot_args(machine, policies, {})
    nvram = "0" if table["nvram"] in NO_NVRAM else table["nvram"]
    if nvram != "0":
        c.value(("network", "nvram"), nvram, NVRAM)
        args += " nvram_of=disk1 nvram_in=disk2 disk2.drive=none"
    whole = {
        **machine,
        "policies": policies,
        "tunables": {},
        "args": args,
        "setup": "",
        "commands": "nfsd /data; udpecho -l",  # the programs that it needs on its disk
        "nvram": nvram,
    }
    return cast(Configuration, whole)


def predict_run(
    c: Checker, raw: Unchecked, variables: Variables, config: Configuration
) -> Prediction | None:
    """Return the model's prediction for the run of a config; None if there is no model."""
    if "model" not in raw or c.problems:
        return None
    return theory.build_prediction(
        c, c.substitute_variables(("model",), raw["model"], variables), config
    )


def expect_prediction(c: Checker, keys: Keys, row: Expectation, runs: list[Run]) -> None:
    """Check that the model predicts the metric of the expectation."""
    crossing = row["crosses"] is not None and row["value"] is None
    if row["than"] != MODEL_SAYS and not crossing:
        return
    if row["of"] in ("every", "any"):
        c.add_problem(keys, f'of = "{row["of"]}": not with the model')
    arms = (row["arm"], row["than"]) if crossing else (row["arm"],)
    for run in runs:
        here = run.arm in arms and matches_variables(row["where"], run.variables)
        if here and not (run.model and row["metric"] in run.model.tells):
            c.add_problem(keys, f"no model tells {row['metric']} of {run.name}")
            return


def check_metric(c: Checker, keys: Keys, name: str, commands: str) -> None:
    """Check a metric's name."""
    bad = metrics.find_metric_error(name, c.known.counters, c.known.histograms)
    if bad and bad[2]:
        c.check_choice(keys, bad[0], bad[1], bad[2])
    elif bad:
        c.add_problem(keys, f'"{name}" is no metric; {metrics.suggest_metric(name)}', name)
    for of in metrics.jobs_in_metric(name) if not bad else ():
        check_job(c, keys, of, commands)
    if not bad and metrics.needs_drive_times(name) and not c.drive_times:
        c.add_problem(keys, f'"{name}" needs drive_times = 1 in [machine]', name)
    if not bad and metrics.needs_loss_ages(name) and not c.loss_ages:
        c.add_problem(keys, f'"{name}" needs loss_ages = 1 in [machine]', name)


def check_job(c: Checker, keys: Keys, name: str, commands: str) -> None:
    """Check the name of a job of the workload."""
    c.check_choice(keys, "job", name, jobs.job_names(commands))


def expect_unique_arm(c: Checker, names: list[str], i: int, own_arms: int, raw: Unchecked) -> None:
    """Add a problem for arm i, which has the name of an earlier arm. The problem names both places.

    own_arms: how many arms are the file's own. They come first, then the arms of its sets, then
    those that the caller adds.
    """
    first = names.index(names[i])
    if i < own_arms:
        there = c.lines.line(("arms", first, "name"))
        c.add_problem(
            ("arms", i, "name"), f'a second arm "{names[i]}"; the first is in line {there}'
        )
    elif "sets" in raw and first < own_arms:
        file = sets.display_path(raw["sets"])
        c.add_problem(("arms", first, "name"), f'a second arm "{names[i]}"; {file} has one, too')
    else:
        c.add_problem(("arms",), f'a second arm "{names[i]}"')


def expect_once(c: Checker, keys: Keys, what: str, names: list[tuple[Keys, str]]) -> None:
    """Add a problem for each name that occurs twice, at its second place and with the first one's
    line. names: pairs of the rest of the key, after `keys`, and the name."""
    first: dict[str, Keys] = {}
    for at, name in names:
        if name in first:
            line = c.lines.line((*keys, *first[name]), name)
            c.add_problem((*keys, *at), f'a second {what} "{name}"; the first is in line {line}')
        first.setdefault(name, at)


def figure_words(raw: Unchecked) -> str:
    """Return the name of a published figure, which no other one of the experiment has."""
    whose = f" by the {raw['whose']}" if raw.get("whose") == MODEL_SAYS else ""
    than = (
        f" from {raw['than']}{setting_words(raw.get('than_where') or {})}" if "than" in raw else ""
    )
    at = setting_words(raw.get("where") or {})
    return f"{raw.get('metric')} of {raw.get('arm')}{at}{whose}{than}"


def check_equal_arms(
    c: Checker, keys: Keys, row: EqualArms, top: FileTables, arms: list[str]
) -> None:
    """Check a row of [[equal]]: it needs two of the arms, settings that exist, and a reason."""
    if len(set(row["arms"])) != 2 or len(row["arms"]) != 2:
        c.add_problem(keys, "arms: must be two arms")
    for name in row["arms"]:
        c.check_choice((*keys, "arms"), "arm", name, arms)
    check_where(c, (*keys, "where"), row["where"], sweep_values(top), lists=True)
    if not row["why"].strip():
        c.add_problem(keys, "why: say what makes the two arms equal, and how one knows")
    if "lead" not in top["plot"]:
        c.add_problem(keys, 'equal: arms are compared in the lead metric: give "lead" in [plot]')


@dataclass
class Presentation:
    """The tables of a file that say what its results are compared with, and what is shown."""

    plot: Plot
    published: list[PublishedFigure] = field(default_factory=list)
    expectations: list[Expectation] = field(default_factory=list)
    equal: list[EqualArms] = field(default_factory=list)
    contest: ContestTable | None = None
    tune: TuneTable | None = None


def check_presentation(
    c: Checker, top: FileTables, runs: list[Run], size: str, sweep: dict[str, list[Value]]
) -> Presentation:
    """Return the plot, the published figures, the expectations, the contest and the search,
    checked."""
    arms = [arm["name"] for arm in top["arms"]]
    commands = top["workload"].get("commands", "")
    plot: Plot = {"columns": []}
    if top["plot"]:
        plot = c.check_table(("plot",), top["plot"], PLOT, Plot)
    for name in plot["columns"]:
        check_metric(c, ("plot", "columns"), name, commands)
    if lead := plot.get("lead"):
        check_metric(c, ("plot", "lead"), lead, commands)
    if job := plot.get("histogram"):
        check_job(c, ("plot", "histogram"), job, commands)
    if histogram := plot.get("distribution"):
        kernels = [f"hist.{name}" for name in c.known.histograms]
        c.check_choice(("plot", "distribution"), "histogram", histogram, kernels)
    predicted = top["model"].get("metrics")
    for name in predicted if isinstance(predicted, dict) else ():
        check_metric(c, ("model", "metrics", name), name, commands)
    good = Presentation(plot)
    said: list[tuple[Keys, str]] = [
        ((i, "says"), str(raw.get("says"))) for i, raw in enumerate(top["expectations"])
    ]
    expect_once(c, ("expectations",), "expectation", [one for one in said if one[1] != "None"])
    expect_once(c, ("plot", "columns"), "column", [((), str(name)) for name in plot["columns"]])
    figures: list[tuple[Keys, str]] = [
        ((i, "metric"), figure_words(raw)) for i, raw in enumerate(top["published"])
    ]
    expect_once(c, ("published",), "figure", figures)
    good.equal = check_equal_rows(c, top, arms)
    good.published = check_published(c, top, arms, commands)
    good.expectations = check_expectations(c, top, runs, size, sweep)
    good.contest = check_contest(c, top, arms, commands) if top["contest"] else None
    good.tune = check_tune(c, top, arms, commands) if top["tune"] else None
    return good


def check_equal_rows(c: Checker, top: FileTables, arms: list[str]) -> list[EqualArms]:
    """Return the rows of [[equal]], checked."""
    good = []
    for i, raw in enumerate(top["equal"]):
        before = len(c.problems)
        row = c.check_table(("equal", i), raw, EQUAL, EqualArms)
        if len(c.problems) == before:
            check_equal_arms(c, ("equal", i), row, top, arms)
        good.append(row)
    return good


def check_published(
    c: Checker, top: FileTables, arms: list[str], commands: str
) -> list[PublishedFigure]:
    """Return the rows of [[published]] whose keys are right, checked."""
    good = []
    for i, raw in enumerate(top["published"]):
        keys, before = ("published", i), len(c.problems)
        row = c.check_table(keys, raw, PUBLISHED, PublishedFigure)
        if len(c.problems) > before:
            continue
        check_metric(c, (*keys, "metric"), row["metric"], commands)
        if row["arm"] != MODEL_SAYS:
            c.check_choice((*keys, "arm"), "arm", row["arm"], arms)
        if row["than"] is not None:
            c.check_choice((*keys, "than"), "arm", row["than"], arms)
        for name, where in (("where", row["where"]), ("than_where", row["than_where"])):
            check_where(c, (*keys, name), where, sweep_values(top))
        good.append(row)
    return good


def check_expectations(
    c: Checker, top: FileTables, runs: list[Run], size: str, sweep: dict[str, list[Value]]
) -> list[Expectation]:
    """Return the rows of [[expectations]] whose keys are right, checked."""
    good, arms = [], [arm["name"] for arm in top["arms"]]
    for i, raw in enumerate(top["expectations"]):
        keys, before = ("expectations", i), len(c.problems)
        row = c.check_table(keys, raw, EXPECTATION, Expectation)
        if len(c.problems) > before:
            continue
        check_metric(c, (*keys, "metric"), row["metric"], top["workload"].get("commands", ""))
        for name, arm in (("arm", row["arm"]), ("than", row["than"])):
            if arm not in (None, MODEL_SAYS):
                c.check_choice((*keys, name), "arm", arm, arms)
        check_expectation(c, keys, row, top, size, sweep)
        expect_prediction(c, keys, row, runs)
        good.append(row)
    return good


def check_tune(c: Checker, top: FileTables, arms: list[str], commands: str) -> TuneTable:
    """Return the table [tune], the search for an arm's tunables, checked."""
    keys, before = ("tune",), len(c.problems)
    row = c.check_table(keys, top["tune"], TUNE, TuneTable)
    if len(c.problems) > before:
        return row
    c.check_choice((*keys, "arm"), "arm", row["arm"], arms)
    for name in row["metrics"]:
        check_metric(c, (*keys, "metrics"), name, commands)
    for name, values in row["values"].items():
        if not isinstance(values, list) or len(values) < 2:
            c.add_problem((*keys, "values", name), f"{name}: must be a list of values, two or more")
            continue
        for value in values:
            if name in c.known.policies:
                c.check_choice(
                    (*keys, "values"), f"{name} policy", str(value), c.known.policies[name]
                )
            else:
                c.check_tunables((*keys, "values"), {name: value})
    return row


def check_contest(c: Checker, top: FileTables, arms: list[str], commands: str) -> ContestTable:
    """Return the table [contest], one arm against the others, checked."""
    keys, before = ("contest",), len(c.problems)
    row = c.check_table(keys, top["contest"], CONTEST, ContestTable)
    if len(c.problems) > before:
        return row
    c.check_choice((*keys, "arm"), "arm", row["arm"], arms)
    for name in row["aside"]:
        c.check_choice((*keys, "aside"), "arm", name, arms)
    for name in row["metrics"]:
        check_metric(c, (*keys, "metrics"), name, commands)
    if row["bound"] is not None:
        check_metric(c, (*keys, "bound"), row["bound"], commands)
    for name, other in row["no_more"].items():
        check_metric(c, (*keys, "no_more", name), name, commands)
        if c.check_choice((*keys, "no_more", name), "arm", other, arms) and other == row["arm"]:
            c.add_problem((*keys, "no_more", name), f'"{other}": is the arm of the contest', other)
    return row


def sweep_values(top: FileTables) -> dict[str, list[Value]]:
    """Return the values of each variable of [sweep], over all sizes. Wrong values are reported
    elsewhere."""
    tables = [t for t in (top["sweep"], *top["sizes"].values()) if isinstance(t, dict)]
    lists = {name: [t[name] for t in tables if isinstance(t.get(name), list)] for name in tables[0]}
    return {name: list(itertools.chain(*values)) for name, values in lists.items()}


def check_where(
    c: Checker, keys: Keys, values: Where, sweep: dict[str, list[Value]], lists: bool = False
) -> None:
    """Check a selection of runs by values of their variables. lists: whether a list of values is
    allowed."""
    for name, said in values.items():
        if not c.check_choice(keys, "variable", name, list(sweep)):
            continue
        for value in said if lists and isinstance(said, list) else [said]:
            if value not in sweep[name]:
                c.add_problem(keys, f"{name} = {value}: not one of its values in [sweep]")


def check_expectation(
    c: Checker,
    keys: Keys,
    row: Expectation,
    top: FileTables,
    size: str,
    sweep: dict[str, list[Value]],
) -> None:
    """Check that the keys of an expectation go together."""
    if row["crosses"] is not None:
        check_crosses(c, keys, row, row["crosses"], list(sweep))
    elif [row["value"], row["than"], row["along"]].count(None) != 2:
        c.add_problem(keys, 'an expectation has one of "value", "than" and "along"')
    if row["times"] != 1 and (row["value"] is not None or row["crosses"] is not None):
        c.add_problem(keys, f'times = {row["times"]:g}: not with "value" or "crosses"')
    if row["within_percent"] is not None and row["op"] != "==":
        c.add_problem(keys, f'within_percent: only with op = "==", not "{row["op"]}"')
    check_comparison(c, keys, row)
    if row["finding"] and not row["paper"]:
        c.add_problem(keys, 'finding: only with "paper", what the source says')
    others = (row["op"], row["than"], row["within_percent"])
    if row["median_percent"] is not None and others != ("==", MODEL_SAYS, None):
        only = f'op = "==", than = "{MODEL_SAYS}", and no within_percent'
        c.add_problem(keys, f"median_percent: only with {only}")
    if row["along"] is not None:
        check_along(c, keys, row, row["along"], list(sweep))
    if row["size"] not in (None, size):
        c.check_choice((*keys, "size"), "size", row["size"], list(top["sizes"]))
        return
    if row["along"] in sweep and len(sweep[row["along"]]) < 2:
        c.add_problem(keys, f'along = "{row["along"]}": has one value only in the size {size}')
    check_where(c, (*keys, "where"), row["where"], sweep, lists=True)


def check_comparison(c: Checker, keys: Keys, row: Expectation) -> None:
    """Check that a comparison of two arms, or of an arm with itself along a variable, can be judged
    by the interval of their difference."""
    arms = row["along"] is not None or row["than"] not in (None, MODEL_SAYS)
    if not arms or row["crosses"] is not None:
        return
    if row["of"] in ("every", "any") and row["along"] is None:
        c.add_problem(keys, f'of = "{row["of"]}": not with "than", an arm')
    if row["op"] == "==" and row["within_percent"] is None:
        c.add_problem(keys, '"==" of two arms: needs the margin, within_percent')


def check_along(c: Checker, keys: Keys, row: Expectation, along: str, variables: list[str]) -> None:
    """Check an expectation about a change along a variable."""
    c.check_choice((*keys, "along"), "variable", along, variables)
    said = row["where"].get(along, [0, 1])
    if not isinstance(said, list) or len(said) < 2:
        c.add_problem(keys, f'along = "{along}": "where" has one value of it only')
    if row["of"] in ("every", "any", "point"):
        c.add_problem(keys, f'of = "{row["of"]}": not with "along"')


def check_crosses(
    c: Checker, keys: Keys, row: Expectation, crosses: str, variables: list[str]
) -> None:
    """Check an expectation about where two arms' values cross."""
    c.check_choice((*keys, "crosses"), "variable", crosses, variables)
    if row["than"] in (None, MODEL_SAYS) or row["along"] is not None:
        c.add_problem(keys, f'crosses = "{crosses}": needs "than", an arm, and no "along"')
    if crosses in row["where"]:
        c.add_problem(keys, f'crosses = "{crosses}": "where" has it, too')


def variant_with_policy(raw: Unchecked, policy: str) -> Arm:
    """Return one more arm: a copy of the first arm, with this policy as the policy of its kind.
    Raises BadExperiment."""
    kinds = [kind for kind, names in load_catalogue().policies.items() if policy in names]
    if not kinds:
        every = sorted(name for names in load_catalogue().policies.values() for name in names)
        near = suggest(policy, dict.fromkeys(every))
        raise BadExperiment(
            f"--with={policy}: there is no policy of this name in policies/; {near}"
        )
    if len(kinds) > 1:
        places = " and ".join(f"policies/{kind}/{policy}.c" for kind in sorted(kinds))
        raise BadExperiment(
            f"--with={policy}: several policies have this name, {places}: make an arm of one"
        )
    first: Arm = raw["arms"][0]
    if policy in first.get("policies", {}).values():
        raise BadExperiment(f'--with={policy}: the first arm, "{first["name"]}", has this policy')
    return {**first, "name": policy, "policies": first.get("policies", {}) | {kinds[0]: policy}}


@dataclass(frozen=True)
class Opened:
    """A file in a size, before its runs are made."""

    c: Checker  # with the problems of the file
    raw: Unchecked  # the file's values
    top: FileTables
    size: str
    names: list[str]  # of all arms
    chosen_arms: list[str]  # the arms that run in this size
    sweep: dict[str, list[Value]]  # the values of the swept variables
    constants: Variables  # the same in all runs
    own: list[Variables]  # each arm's own variables


def open_experiment(path: Path, size: str = FULL, policy: str = "", arms: Arms = ()) -> Opened:
    """Return the file's values before any run is made of them; arguments as in load(). Raises
    BadExperiment."""
    raw, text = read_toml(path)
    c = Checker(path, Lines(text), load_catalogue())
    own_arms = len(raw["arms"]) if isinstance(raw.get("arms"), list) else 0
    raw = sets.expand_sets(c, raw)
    top = c.check_table((), raw, TOP, FileTables)
    if c.problems:
        raise BadExperiment("\n".join(c.problems))
    if top["network"]:
        c.known = add_server_names(c.known)
    c.drive_times = top["machine"].get("drive_times") == 1
    c.loss_ages = top["machine"].get("loss_ages") == 1
    if policy and raw["arms"]:
        raw["arms"].append(variant_with_policy(raw, policy))
    raw["arms"] += arms
    names: list[str] = []
    for i, arm in enumerate(raw["arms"]):
        names.append(c.check_table(("arms", i), arm, ARM, Arm)["name"])
        if names[i] in names[:i]:
            expect_unique_arm(c, names, i, own_arms, raw)
    if not names:
        c.add_problem(("arms",), "there is no arm")
    if MODEL_SAYS in names:
        c.add_problem(("arms",), f'an arm "{MODEL_SAYS}": the name means the model', MODEL_SAYS)
    if c.problems:
        raise BadExperiment("\n".join(c.problems))
    size, sweep, constants = select_size(c, top, size)
    own = arm_variables(c, raw["arms"], [*sweep, *constants])
    chosen = select_arms(c, top, size, names, policy)
    return Opened(c, raw, top, size, names, chosen, sweep, constants, own)


def load(path: Path, size: str = FULL, policy: str = "", arms: Arms = ()) -> Experiment:
    """Return the experiment in a file, in a size. Raises BadExperiment with all problems of the
    file.

    policy: a policy that is measured too, in an arm of its name next to those of the file. arms:
    more arms, in the form of the file's.
    """
    opened = open_experiment(path, size, policy, arms)
    c, names, chosen = opened.c, opened.names, opened.chosen_arms
    name = path.stem if opened.size == FULL else f"{path.stem}-{opened.size}"
    name += f"+{policy}" if policy else ""
    runs: list[Run] = []
    indices = [i for i, arm in enumerate(names) if arm in chosen]
    for i, point in itertools.product(indices, sweep_points(c, opened.sweep)):
        variables = opened.constants | opened.own[i] | point
        made = build_config(c, opened.raw, i, variables)
        limit_s = made.pop("host_limit_s")
        predicted = predict_run(c, opened.raw, variables, made)
        runs.append(Run(len(runs) + 1, name, names[i], point, made, limit_s, predicted))
    rest = check_presentation(c, opened.top, runs, opened.size, opened.sweep)
    left_out = set(names) - set(chosen)
    rest.expectations = [
        row
        for row in rest.expectations
        if row["size"] in (None, opened.size) and not {row["arm"], row["than"]} & left_out
    ]
    if c.problems:
        raise BadExperiment("\n".join(c.problems))
    drives = dict.fromkeys(measured_drive(run.config) for run in runs)
    drive, top = ", ".join(drives), opened.top
    about = (name, path, opened.size, policy, top["claim"], top["source"], drive)
    return Experiment(
        *about,
        runs,
        chosen,
        rest.plot,
        rest.published,
        rest.expectations,
        rest.equal,
        rest.contest,
        rest.tune,
    )
