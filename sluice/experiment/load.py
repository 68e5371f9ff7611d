"""Reads an experiment's file: it is checked as a whole, then taken apart into runs."""

import itertools
import re
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from sluice.experiment import jobs, metrics, sets, theory, trace_disk
from sluice.experiment.catalogue import known
from sluice.experiment.check import Checker, show
from sluice.experiment.locate import Lines
from sluice.experiment.result import measured_drive
from sluice.experiment.schema import (
    ARM,
    CONTEST,
    DISK,
    EQUAL,
    EXPECTATION,
    MACHINE,
    MODEL_SAYS,
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
from sluice.experiment.verdict import within, words
from sluice.host.nearest import meant
from sluice.theory import Prediction

AS_MODEL = "model"  # of a drive's setting: the kernel is not told
Arms = Sequence[dict]
FILE = Field("size", "of a file", low=1, high=1 << 42)
PLACE = Field("text", "GROUP or GROUP:BLOCK")
SCATTER = Field("text", "COUNT:SIZE")
# The machine's rows that are boot arguments.
ALWAYS = ("cluster_kb", "drive_depth", "trace_k")
IF_GIVEN = (
    "nbuf",
    "drive_cylinders",
    "drive_command_us",
    "drive_bus_kb_s",
    "drive_segments",
    "drive_ahead_if_sequential",
    "drive_ahead",
    "drive_seed",
    "drive_misjudged_percent",
    "full_from_s",
    "full_for_s",
)
MAX_BOOT_ARGS = 1023 - 20  # bytes that the kernel takes, besides ramdisks=
ARMS = "arms"  # the key of a size that is no variable: the only arms to run
FULL = "full"  # the size of an experiment that has but one, and the usual one


def read_toml(path: Path) -> tuple[dict, str]:
    """The file's values and its text. Raises BadExperiment."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise BadExperiment(f"{path}: cannot be read: {error}") from None
    try:
        return tomllib.loads(text), text
    except tomllib.TOMLDecodeError as error:
        at = re.search(r" \(at line (\d+), column \d+\)$", str(error))
        line = at[1] if at else len(text.splitlines())
        said = str(error)[: at.start()] if at else str(error)
        raise BadExperiment(f"{path}:{line}: not TOML: {said}") from None


def check_sizes(c: Checker, sizes: dict, sweep: dict) -> None:
    """Every size must be a table that gives the same variables."""
    if sizes and FULL not in sizes:
        c.problem(("sizes",), f"there is no [sizes.{FULL}]")
    tables = [table for table in sizes.values() if isinstance(table, dict)]
    variables = {name for table in tables for name in table if name != ARMS}
    for size, table in sizes.items():
        if not isinstance(table, dict):
            c.problem(("sizes", size), f"{size}: must be a table")
            continue
        for name in sorted(variables - table.keys()):
            c.problem(("sizes", size), f'{size}: lacks the variable "{name}" of another size')
        for name, value in table.items():
            if name == ARMS:
                continue
            if isinstance(value, list) != (name in sweep):
                told = "must be a list, as in [sweep]" if name in sweep else "not in [sweep]"
                c.problem(("sizes", size, name), f"{name}: {told}")


def of_size(c: Checker, top: dict, size: str) -> tuple[str, dict, dict]:
    """The chosen size, with its sweep and its other variables."""
    sizes, sweep = top["sizes"], top["sweep"]
    check_sizes(c, sizes, sweep)
    if not sizes:
        return FULL, sweep, {}
    if c.problems or not c.one_of(("sizes",), "size", size, list(sizes)):
        return size, sweep, {}
    chosen = sizes[size]
    lists = {name: value for name, value in chosen.items() if name in sweep}
    return size, sweep | lists, {k: v for k, v in chosen.items() if k not in (*sweep, ARMS)}


def arms_of_size(c: Checker, top: dict, size: str, names: list[str], more: str) -> list[str]:
    """The arms that run in a size: all, or those that the size names, and one more."""
    at = ("sizes", size, ARMS)
    table = top["sizes"].get(size, {})
    if not isinstance(table, dict) or ARMS not in table:
        return names
    chosen = c.value(at, table[ARMS], Field("list", "arms"))
    for name in chosen:
        c.one_of(at, "arm", name, names)
    return [name for name in names if name in (*chosen, more)]


def points(c: Checker, sweep: dict) -> list[dict]:
    """Every combination of the variables' values."""
    for name, values in sweep.items():
        at = ("sweep", name)
        if not isinstance(values, list) or not values:
            c.problem(at, f"{name}: must be a list of values")
        elif len(set(map(str, values))) < len(values):
            c.problem(at, f"{name}: the same value twice")
        elif not all(isinstance(value, str | int | float) for value in values):
            c.problem(at, f"{name}: values must be texts or numbers")
    if c.problems:
        return []
    return [dict(zip(sweep, values, strict=True)) for values in itertools.product(*sweep.values())]


def disk(c: Checker, name: str, raw: dict) -> dict:
    """A disk's checked table."""
    keys = ("machine", name)
    good = c.table(keys, raw, DISK)
    for path, size in good["files"].items():
        at = (*keys, "files", path)
        c.value(at, size, FILE)
    for path, place in good["at"].items():
        c.one_of((*keys, "at", path), "file", path, list(good["files"]))
        c.value((*keys, "at", path), place, PLACE)
    for path, files in good["scatter"].items():
        c.value((*keys, "scatter", path), files, SCATTER)
    return good


def boot_args(machine: dict, policies: dict, tunables: dict) -> str:
    """The boot arguments. The first is check=1; the others are sorted by kind."""
    words = {"disk0.drive": machine["root"]["drive"]}
    if machine["data"]:
        words["disk1.drive"] = machine["data"]["drive"]
    if "trace" in machine:
        words["disk2.drive"] = trace_disk.DRIVE
    words |= {name: machine[name] for name in ALWAYS}
    words |= {name: machine[name] for name in IF_GIVEN if machine[name] not in (None, AS_MODEL)}
    words |= policies | dict(sorted(tunables.items()))
    return " ".join(["check=1", *(f"{name}={value}" for name, value in words.items())])


def of_arms(c: Checker, arms: list[dict], others: list[str]) -> list[dict]:
    """The variables of each arm: all arms have the same names, and nothing else has them."""
    good = [arm.get("variables", {}) for arm in arms]
    names = {name for variables in good for name in variables}
    for i, variables in enumerate(good):
        for name in sorted(names - variables.keys()):
            c.problem(("arms", i), f'lacks the variable "{name}" of another arm')
        for name in variables.keys() & set(others):
            c.problem(("arms", i, "variables"), f'"{name}" is a variable of the sweep or size')
    return good


def expect_log(c: Checker, keys: tuple, machine: dict, place: object) -> None:
    """Note a problem with a place policy if the machine's disks leave it nothing to decide."""
    logged = any(disk and disk["log_places"] for disk in (machine["root"], machine["data"]))
    if place != c.known.defaults["place"] and not logged:
        said = f"place = {show(place)}: does nothing, because no disk has a virtual log"
        c.problem(keys, f"{said} (log_places)")


def config(c: Checker, raw: dict, arm: int, variables: dict) -> dict:
    """Everything that affects a run's result, checked."""

    def table(*keys: str | int) -> dict:
        value: object = raw
        for key in keys:
            value = value[key] if isinstance(key, int) else value.get(key, {})
        return c.fill_in(keys, value, variables)

    machine = c.table(("machine",), table("machine"), MACHINE)
    machine["root"] = disk(c, "root", machine["root"])
    machine["data"] = disk(c, "data", machine["data"]) if machine["data"] else None
    if "trace" in raw:
        # The trace's path is text, whatever is in it. What else the table says may be a variable.
        path = {name: value for name, value in raw["trace"].items() if name == "file"}
        rest = {name: value for name, value in raw["trace"].items() if name != "file"}
        trace = c.fill_in(("trace",), rest, variables) | path
        is_open = trace_disk.is_open(str(raw.get("workload", {}).get("commands", "")), variables)
        given = {name: machine[name] for name in raw.get("machine", {}) if name in machine}
        machine |= trace_disk.config(c, trace, machine["data"], given, is_open)
        variables = variables | trace_disk.variables(machine.get("trace"))
    policies, tunables = dict(c.known.defaults), {}
    for keys in ((), ("arms", arm)):
        policies |= c.policies((*keys, "policies"), table(*keys, "policies"))
        tunables |= c.tunables((*keys, "tunables"), table(*keys, "tunables"))
    expect_log(c, ("arms", arm, "policies"), machine, policies["place"])
    args = boot_args(machine, policies, tunables)
    if len(args) > MAX_BOOT_ARGS:
        c.problem(("machine",), f"boot arguments of {len(args)} bytes: too many")
    workload = c.table(("workload",), table("workload"), WORKLOAD)
    return machine | {"policies": policies, "tunables": tunables, "args": args, **workload}


def model(c: Checker, raw: dict, variables: dict, config: dict) -> Prediction | None:
    """What the model tells of the run of a config; None if there is no model."""
    if "model" not in raw or c.problems:
        return None
    return theory.prediction(c, c.fill_in(("model",), raw["model"], variables), config)


def model_tells(c: Checker, keys: tuple, row: dict, runs: list[Run]) -> None:
    """Check that the model predicts the metric of the expectation."""
    crossing = row["crosses"] is not None and row["value"] is None
    if row["than"] != MODEL_SAYS and not crossing:
        return
    if row["of"] in ("every", "any"):
        c.problem(keys, f'of = "{row["of"]}": not with the model')
    arms = (row["arm"], row["than"]) if crossing else (row["arm"],)
    for run in runs:
        here = run.arm in arms and within(row["where"], run.variables)
        if here and not (run.model and row["metric"] in run.model.tells):
            c.problem(keys, f"no model tells {row['metric']} of {run.name}")
            return


def metric(c: Checker, keys: tuple, name: str, commands: str) -> None:
    """Check a metric's name."""
    bad = metrics.wrong(name, c.known.counters, c.known.histograms)
    if bad and bad[2]:
        c.one_of(keys, bad[0], bad[1], bad[2])
    elif bad:
        c.problem(keys, f'"{name}" is no metric; {metrics.no_metric(name)}', name)
    for of in metrics.jobs_of(name) if not bad else ():
        job(c, keys, of, commands)
    if not bad and metrics.asks_drive(name) and not c.drive_times:
        c.problem(keys, f'"{name}" needs drive_times = 1 in [machine]', name)


def job(c: Checker, keys: tuple, name: str, commands: str) -> None:
    """Check the name of a job of the workload."""
    c.one_of(keys, "job", name, jobs.named(commands))


def second_arm(c: Checker, names: list[str], i: int, own_arms: int, raw: dict) -> None:
    """Note that arm i has the name of an earlier one, with both places. own_arms: how many are the
    file's own; then come those of its sets, then those that others add."""
    first = names.index(names[i])
    if i < own_arms:
        there = c.lines.line(("arms", first, "name"))
        c.problem(("arms", i, "name"), f'a second arm "{names[i]}"; the first is in line {there}')
    elif "sets" in raw and first < own_arms:
        there = sets.place(raw["sets"])
        c.problem(("arms", first, "name"), f'a second arm "{names[i]}"; {there} has one, too')
    else:
        c.problem(("arms",), f'a second arm "{names[i]}"')


def expect_once(c: Checker, keys: tuple, what: str, names: list[tuple[tuple, str]]) -> None:
    """Note each name that is there twice, at the second place, with the line of the first. names:
    keys behind `keys`, and the name."""
    first: dict[str, tuple] = {}
    for at, name in names:
        if name in first:
            line = c.lines.line((*keys, *first[name]), name)
            c.problem((*keys, *at), f'a second {what} "{name}"; the first is in line {line}')
        first.setdefault(name, at)


def equal_arms(c: Checker, keys: tuple, row: dict, top: dict, arms: list[str]) -> None:
    """Check a row of [[equal]]: two of the arms, settings that there are, and a reason."""
    if len(set(row["arms"])) != 2 or len(row["arms"]) != 2:
        c.problem(keys, "arms: must be two arms")
    for name in row["arms"]:
        c.one_of((*keys, "arms"), "arm", name, arms)
    where(c, (*keys, "where"), row["where"], values_of(top), lists=True)
    if not row["why"].strip():
        c.problem(keys, "why: say what makes the two arms equal, and how one knows")
    if "lead" not in top["plot"]:
        c.problem(keys, 'equal: arms are compared in the lead metric: give "lead" in [plot]')


def shown(c: Checker, top: dict, runs: list[Run], size: str, sweep: dict) -> dict:
    """Check the plot, the published figures and the expectations."""
    arms = [arm["name"] for arm in top["arms"]]
    commands = top["workload"].get("commands", "")
    plot = c.table(("plot",), top["plot"], PLOT) if top["plot"] else {"columns": []}
    for name in plot["columns"]:
        metric(c, ("plot", "columns"), name, commands)
    if plot.get("lead"):
        metric(c, ("plot", "lead"), plot["lead"], commands)
    if plot.get("histogram"):
        job(c, ("plot", "histogram"), plot["histogram"], commands)
    if plot.get("distribution"):
        kernels = [f"hist.{name}" for name in c.known.histograms]
        c.one_of(("plot", "distribution"), "histogram", plot["distribution"], kernels)
    predicted = top["model"].get("metrics")
    for name in predicted if isinstance(predicted, dict) else ():
        metric(c, ("model", "metrics", name), name, commands)
    rows = {"published": PUBLISHED, "expectations": EXPECTATION}
    good = {"plot": plot, "published": [], "expectations": [], "equal": []}
    said = [((i, "says"), str(raw.get("says"))) for i, raw in enumerate(top["expectations"])]
    expect_once(c, ("expectations",), "expectation", [one for one in said if one[1] != "None"])
    expect_once(c, ("plot", "columns"), "column", [((), str(name)) for name in plot["columns"]])
    figures = [
        ((i, "metric"), f"{raw.get('metric')} of {raw.get('arm')}{words(raw.get('where') or {})}")
        for i, raw in enumerate(top["published"])
    ]
    expect_once(c, ("published",), "figure", figures)
    for i, raw in enumerate(top["equal"]):
        before = len(c.problems)
        row = c.table(("equal", i), raw, EQUAL)
        if len(c.problems) == before:
            equal_arms(c, ("equal", i), row, top, arms)
        good["equal"].append(row)
    for key, fields in rows.items():
        for i, raw in enumerate(top[key]):
            before = len(c.problems)
            row = c.table((key, i), raw, fields)
            if len(c.problems) > before:
                continue
            metric(c, (key, i, "metric"), row["metric"], commands)
            for name in ("arm", "than"):
                if row.get(name) not in (None, MODEL_SAYS):
                    c.one_of((key, i, name), "arm", row[name], arms)
            if key == "expectations":
                expectation(c, (key, i), row, top, size, sweep)
                model_tells(c, (key, i), row, runs)
            else:
                where(c, (key, i, "where"), row["where"], values_of(top))
            good[key].append(row)
    good["contest"] = contest(c, top, arms, commands) if top["contest"] else None
    good["tune"] = tune(c, top, arms, commands) if top["tune"] else None
    return good


def tune(c: Checker, top: dict, arms: list[str], commands: str) -> dict:
    """Check the search for an arm's tunables (make tune)."""
    keys, before = ("tune",), len(c.problems)
    row = c.table(keys, top["tune"], TUNE)
    if len(c.problems) > before:
        return row
    c.one_of((*keys, "arm"), "arm", row["arm"], arms)
    for name in row["metrics"]:
        metric(c, (*keys, "metrics"), name, commands)
    for name, values in row["values"].items():
        if not isinstance(values, list) or len(values) < 2:
            c.problem((*keys, "values", name), f"{name}: must be a list of values, two or more")
            continue
        for value in values:
            if name in c.known.policies:
                c.one_of((*keys, "values"), f"{name} policy", value, c.known.policies[name])
            else:
                c.tunables((*keys, "values"), {name: value})
    return row


def contest(c: Checker, top: dict, arms: list[str], commands: str) -> dict:
    """Check the contest of one arm against the others."""
    keys, before = ("contest",), len(c.problems)
    row = c.table(keys, top["contest"], CONTEST)
    if len(c.problems) > before:
        return row
    c.one_of((*keys, "arm"), "arm", row["arm"], arms)
    for name in row["aside"]:
        c.one_of((*keys, "aside"), "arm", name, arms)
    for name in row["metrics"]:
        metric(c, (*keys, "metrics"), name, commands)
    if row["bound"] is not None:
        metric(c, (*keys, "bound"), row["bound"], commands)
    for name, other in row["no_more"].items():
        metric(c, (*keys, "no_more", name), name, commands)
        if c.one_of((*keys, "no_more", name), "arm", other, arms) and other == row["arm"]:
            c.problem((*keys, "no_more", name), f'"{other}": is the arm of the contest', other)
    return row


def values_of(top: dict) -> dict[str, list]:
    """The values of each variable of [sweep], in all sizes. Wrong values are reported elsewhere."""
    tables = [t for t in (top["sweep"], *top["sizes"].values()) if isinstance(t, dict)]
    lists = {name: [t[name] for t in tables if isinstance(t.get(name), list)] for name in tables[0]}
    return {name: list(itertools.chain(*values)) for name, values in lists.items()}


def where(c: Checker, keys: tuple, values: dict, sweep: dict, lists: bool = False) -> None:
    """Check a choice of runs by values of their variables. lists: of several values, too."""
    for name, said in values.items():
        if not c.one_of(keys, "variable", name, list(sweep)):
            continue
        for value in said if lists and isinstance(said, list) else [said]:
            if value not in sweep[name]:
                c.problem(keys, f"{name} = {value}: not one of its values in [sweep]")


def expectation(c: Checker, keys: tuple, row: dict, top: dict, size: str, sweep: dict) -> None:
    """Check that the keys of an expectation go together."""
    if row["crosses"] is not None:
        crosses(c, keys, row, list(sweep))
    elif sum(row[key] is not None for key in ("value", "than", "along")) != 1:
        c.problem(keys, 'an expectation has one of "value", "than" and "along"')
    if row["times"] != 1 and (row["value"] is not None or row["crosses"] is not None):
        c.problem(keys, f'times = {row["times"]:g}: not with "value" or "crosses"')
    if row["within_percent"] is not None and row["op"] != "==":
        c.problem(keys, f'within_percent: only with op = "==", not "{row["op"]}"')
    others = (row["op"], row["than"], row["within_percent"])
    if row["median_percent"] is not None and others != ("==", MODEL_SAYS, None):
        only = f'op = "==", than = "{MODEL_SAYS}", and no within_percent'
        c.problem(keys, f"median_percent: only with {only}")
    if row["along"] is not None:
        along(c, keys, row, list(sweep))
    if row["size"] not in (None, size):
        c.one_of((*keys, "size"), "size", row["size"], list(top["sizes"]))
        return
    if row["along"] in sweep and len(sweep[row["along"]]) < 2:
        c.problem(keys, f'along = "{row["along"]}": has one value only in the size {size}')
    where(c, (*keys, "where"), row["where"], sweep, lists=True)


def along(c: Checker, keys: tuple, row: dict, variables: list[str]) -> None:
    """Check an expectation about what changes along a variable."""
    c.one_of((*keys, "along"), "variable", row["along"], variables)
    said = row["where"].get(row["along"], [0, 1])
    if not isinstance(said, list) or len(said) < 2:
        c.problem(keys, f'along = "{row["along"]}": "where" has one value of it only')
    if row["of"] in ("every", "any", "point"):
        c.problem(keys, f'of = "{row["of"]}": not with "along"')


def crosses(c: Checker, keys: tuple, row: dict, variables: list[str]) -> None:
    """Check an expectation about where two arms' values meet."""
    c.one_of((*keys, "crosses"), "variable", row["crosses"], variables)
    if row["than"] in (None, MODEL_SAYS) or row["along"] is not None:
        c.problem(keys, f'crosses = "{row["crosses"]}": needs "than", an arm, and no "along"')
    if row["crosses"] in row["where"]:
        c.problem(keys, f'crosses = "{row["crosses"]}": "where" has it, too')


def beside(raw: dict, policy: str) -> dict:
    """One more arm: the first arm with this policy in the place of the one of its kind."""
    kinds = [kind for kind, names in known().policies.items() if policy in names]
    if not kinds:
        every = sorted(name for names in known().policies.values() for name in names)
        near = meant(policy, dict.fromkeys(every))
        raise BadExperiment(f"WITH={policy}: there is no policy of this name in policies/; {near}")
    if len(kinds) > 1:
        places = " and ".join(f"policies/{kind}/{policy}.c" for kind in sorted(kinds))
        raise BadExperiment(
            f"WITH={policy}: two policies have this name, {places}: make an arm of the one meant"
        )
    first = raw["arms"][0]
    if policy in first.get("policies", {}).values():
        raise BadExperiment(f'WITH={policy}: the first arm, "{first["name"]}", has this policy')
    return first | {"name": policy, "policies": first.get("policies", {}) | {kinds[0]: policy}}


@dataclass(frozen=True)
class Opened:
    """A file in a size: its values, what is wrong with them, the names of its arms, of which `here`
    run, and its variables: swept, the same in all runs, and those of each arm."""

    c: Checker
    raw: dict
    top: dict
    size: str
    names: list[str]
    here: list[str]
    sweep: dict[str, list]
    constants: dict
    own: list[dict]


def opened(path: Path, size: str = FULL, policy: str = "", arms: Arms = ()) -> Opened:
    """The file, before any run is made of it; as `load` has it. Raises BadExperiment."""
    raw, text = read_toml(path)
    c = Checker(path, Lines(text), known())
    own_arms = len(raw["arms"]) if isinstance(raw.get("arms"), list) else 0
    raw = sets.with_arms(c, raw)
    top = c.table((), raw, TOP)
    if c.problems:
        raise BadExperiment("\n".join(c.problems))
    c.drive_times = top["machine"].get("drive_times") == 1
    if policy and raw["arms"]:
        raw["arms"].append(beside(raw, policy))
    raw["arms"] += arms
    names = []
    for i, arm in enumerate(raw["arms"]):
        names.append(c.table(("arms", i), arm, ARM)["name"])
        if names[i] in names[:i]:
            second_arm(c, names, i, own_arms, raw)
    if not names:
        c.problem(("arms",), "there is no arm")
    if MODEL_SAYS in names:
        c.problem(("arms",), f'an arm "{MODEL_SAYS}": the name means the model', MODEL_SAYS)
    if c.problems:
        raise BadExperiment("\n".join(c.problems))
    size, sweep, constants = of_size(c, top, size)
    own = of_arms(c, raw["arms"], [*sweep, *constants])
    here = arms_of_size(c, top, size, names, policy)
    return Opened(c, raw, top, size, names, here, sweep, constants, own)


def load(path: Path, size: str = FULL, policy: str = "", arms: Arms = ()) -> Experiment:
    """The experiment in a file, in a size. Raises BadExperiment with all that is wrong with it.

    policy: one that is measured too, in an arm of its name beside those of the file.
    arms: more arms, as the file would have them.
    """
    of = opened(path, size, policy, arms)
    c, names, here = of.c, of.names, of.here
    name = path.stem if of.size == FULL else f"{path.stem}-{of.size}"
    name += f"+{policy}" if policy else ""
    runs: list[Run] = []
    indices = [i for i, arm in enumerate(names) if arm in here]
    for i, point in itertools.product(indices, points(c, of.sweep)):
        variables = of.constants | of.own[i] | point
        made = config(c, of.raw, i, variables)
        limit_s = made.pop("host_limit_s")
        said = model(c, of.raw, variables, made)
        runs.append(Run(len(runs) + 1, name, names[i], point, made, limit_s, said))
    rest = shown(c, of.top, runs, of.size, of.sweep)
    left_out = set(names) - set(here)
    rest["expectations"] = [
        row
        for row in rest["expectations"]
        if row["size"] in (None, of.size) and not {row["arm"], row["than"]} & left_out
    ]
    if c.problems:
        raise BadExperiment("\n".join(c.problems))
    drives = dict.fromkeys(measured_drive(run.config) for run in runs)
    drive, top = ", ".join(drives), of.top
    about = (name, path, of.size, policy, top["claim"], top["source"], drive)
    return Experiment(*about, runs, here, **rest)
