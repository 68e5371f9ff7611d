"""The reference pages, made of what inventory.py reads: `pages()` is their Markdown, by name."""

from collections.abc import Iterator
from pathlib import Path

from book.ext import inventory, labtests, stored
from book.ext.inventory import Experiment, Policy, place
from book.ext.markdown import block, plain, prose, table
from book.ext.sphinx.findings import beside, verdicts
from sluice.experiment import result, sets

KINDS = {
    "update": "Update: when do dirty blocks go to the disk?",
    "write": "Write: what does a write do now?",
    "sched": "Scheduling: which request next?",
    "replace": "Replacement: which clean buffer is the victim?",
    "prefetch": "Prefetching: what is read before it is asked for?",
    "place": "Placement: where on the disk does a block live?",
}


def file_link(path: str) -> str:
    return f"{{file}}`{path}`"


def policy(one: Policy) -> str:
    """An entry: what it does, its source, its tunables and counters."""
    parts = [
        f"(policy-{one.kind}-{one.name})=\n## `{one.name}`\n",
        f"{plain(one.about[0].upper() + one.about[1:])}. {file_link(place(one.path))}\n",
        prose(one.algorithm),
        f"Source: {plain(one.source)}\n" if one.source else "",
    ]
    if one.tunables:
        rows = [
            [
                f"`{one.name}.{t.name}`",
                plain(t.unit),
                t.default,
                f"{t.low} to {t.high}",
                plain(t.about),
            ]
            for t in one.tunables
        ]
        parts.append(table(["tunable", "unit", "default", "range", "meaning"], rows))
    if one.counters:
        rows = [[f"`{one.name}.{c.name}`", plain(c.unit), plain(c.about)] for c in one.counters]
        parts.append(table(["counter", "unit", "meaning"], rows))
    return "\n".join(part for part in parts if part)


def policies(kind: str) -> str:
    """The page of a kind. A kind without a title here is shown under its name."""
    entries = [policy(one) for one in inventory.policies() if one.kind == kind]
    names = [one for one in inventory.policies() if one.kind == kind]
    head = table(
        ["policy", "in one line"],
        [[f"{{ref}}`{p.name} <policy-{p.kind}-{p.name}>`", plain(p.about)] for p in names],
    )
    return "\n".join([f"# {KINDS.get(kind, kind)}\n", head, *entries])


def programs() -> str:
    entries = [
        f"(program-{one.name})=\n## `{one.name}`\n\n{prose(one.about)}\n"
        f"{file_link(place(one.path))}\n"
        for one in inventory.programs()
    ]
    rows = [[f"`{row.name}`", plain(row.about)] for row in inventory.builtins()]
    return "\n".join(
        [
            "# Commands of Sluice's shell\n",
            "Commands of the shell itself; `help` prints them with the shell's grammar:\n",
            table(["command", "what it does"], rows),
            "All other commands are programs in `/bin`. Each prints its usage with `-h`.\n",
            *entries,
        ]
    )


def goals() -> str:
    rows = [[f"`make {row.name}`", plain(row.about)] for row in inventory.goals()]
    return "\n".join(
        [
            "# Commands of make\n",
            "`make help` prints this list.\n",
            table(["command", "what it does"], rows),
        ]
    )


def arguments() -> str:
    rows = [
        [f"`{a.name}=`", plain(a.meaning), plain(a.values), plain(a.default), file_link(a.where)]
        for a in inventory.arguments()
    ]
    kinds = " ".join(f"`{kind}=`" for kind in inventory.kinds())
    return "\n".join(
        [
            "# Boot arguments\n",
            "`make qemu ARGS='sched=fcfs nbuf=1000'` passes boot arguments to the kernel. An "
            "unknown argument, or a value that is out of range, stops the boot with a message.\n",
            table(["argument", "meaning", "values", "default", "read in"], rows),
            f"{kinds} choose the policy of a kind, and `POLICY.TUNABLE=NUMBER` sets a tunable, "
            "as in `pu.interval_ms=1000`.\n",
        ]
    )


def events() -> str:
    rows = [[f"`{row.name}`", plain(row.about)] for row in inventory.events()]
    return "\n".join(
        [
            "# Events of the trace\n",
            "A machine that is booted with `trace_k=N` keeps its last N * 1024 events. "
            "`cat /dev/trace` prints them, the oldest first, a line each: "
            "`TIME_NS EVENT DISK BLOCK PID ARGUMENT`. The name of a write's event ends in "
            f"`-write`. The events are declared in {file_link('kernel/measure/trace.h')}.\n",
            table(["event", "block; argument"], rows),
        ]
    )


def statistics() -> str:
    rows = inventory.statistics()
    parts = ["# Counters, gauges and histograms\n"]
    parts.append(
        "`cat /dev/stat` prints the counters and the gauges, `cat /dev/hist` the histograms. "
        "A counter only grows; a gauge is a state. Counters of policies are on the pages of the "
        "policies. A disk histogram exists once for each disk, as `disk0.queued`.\n"
    )
    for kind in dict.fromkeys(row.kind for row in rows):
        lines = [
            [f"`{r.name}`", plain(r.unit), plain(r.about), file_link(r.where)]
            for r in rows
            if r.kind == kind
        ]
        parts += [f"## {kind.capitalize()}s\n", table(["name", "unit", "meaning", "in"], lines)]
    return "\n".join(parts)


def drives() -> str:
    rows = [[f"[`{d.name}`](#drive-{d.name})", plain(d.about)] for d in inventory.drives()]
    entries = [
        f"(drive-{d.name})=\n## `{d.name}`\n\n{plain(d.about)}\n\n{block(d.row, 'c')}"
        for d in inventory.drives()
    ]
    comment = inventory.clang.head(inventory.text(inventory.DRIVES / "row.h"))
    return "\n".join(
        [
            "# Drives\n",
            "The boot argument `drive=NAME` chooses the model of a drive. Each is a file of "
            "`drives/`, shown below as it stands, with the source of its figures.\n",
            prose(comment),
            table(["drive", "what it is"], rows),
            *entries,
        ]
    )


def results() -> str:
    path = place(Path(result.__file__))
    return "\n".join(
        [
            "# Fields of a result\n",
            "`make experiment` writes a line for each run to `results.jsonl`. "
            f"{file_link(path)} says what a line holds:\n",
            block(result.__doc__),
        ]
    )


def sweep(one: Experiment) -> str:
    rows = [
        [f"`{name}`", plain(", ".join(map(str, values)))]
        for name, values in one.toml.get("sweep", {}).items()
    ]
    return table(["variable", "values"], rows) if rows else ""


def arm_rows(one: Experiment) -> str:
    rows = []
    for arm in sets.arms_of(one.toml):
        said = {**arm.get("policies", {}), **arm.get("tunables", {}), **arm.get("variables", {})}
        words = ", ".join(f"{name} = {said[name]}" for name in said)
        rows.append([plain(arm["name"]), f"`{words}`" if words else ""])
    return table(["arm", "what it sets"], rows)


def measured(one: Experiment) -> str:
    """The stored rows, with the metrics of the experiment's own table."""
    if not stored.is_stored(one.name):
        return f"*{stored.sentence(one.name)}*\n"
    kept = stored.read(one.name)
    columns = [c for c in one.toml["plot"]["columns"] if c in kept["rows"][0]["measured"]]
    rows = []
    for row in kept["rows"]:
        at = ", ".join(f"{name} {said}" for name, said in row["at"].items())
        values = [stored.number(row["measured"][c]) for c in columns]
        rows.append([plain(f"{row['arm']}{'; ' + at if at else ''}"), *values])
    return table(["", *(f"`{c}`" for c in columns)], rows)


def experiment(one: Experiment) -> str:
    """A page of one experiment."""
    policies_of_all = ", ".join(f"{k} = {v}" for k, v in one.toml.get("policies", {}).items())
    parts = [
        f"# {one.name}\n",
        f"**{plain(one.claim)}**\n",
        f"Source: {plain(one.source)}. {file_link(place(one.path))}\n",
        prose(one.comment),
        "## What is compared\n",
        f"All runs: `{policies_of_all}`.\n" if policies_of_all else "",
        arm_rows(one),
        sweep(one),
        "## The load\n",
        block((one.toml["workload"].get("setup", "") + one.toml["workload"]["commands"]).strip()),
        f"`make experiment E={one.name}` makes these runs in the full size.\n",
        "## What came\n",
        measured(one),
        beside(one),
        "## What was expected\n",
        verdicts(one),
    ]
    return "\n".join(part for part in parts if part)


def experiments() -> str:
    rows = [
        [f"{{doc}}`experiments/{one.name}`", plain(one.claim)] for one in inventory.experiments()
    ]
    names = "\n".join(f"experiments/{one.name}" for one in inventory.experiments())
    return "\n".join(
        [
            "# Experiments\n",
            "`make experiment E=NAME` makes the runs of an experiment. Each is a file in "
            f"{file_link('experiments')}.\n",
            table(["experiment", "what it claims"], rows),
            f"```{{toctree}}\n:hidden:\n\n{names}\n```\n",
        ]
    )


def index(names: list[str]) -> str:
    listed = "\n".join(names)
    return (
        "# Reference\n\nThese pages are made of the tables in the sources, each time the book is "
        f"built.\n\n```{{toctree}}\n:maxdepth: 1\n\n{listed}\n```\n"
    )


def named_pages() -> Iterator[tuple[str, str]]:
    for kind in inventory.kinds():
        yield f"policies-{kind}", policies(kind)
    yield "experiments", experiments()
    yield "arguments", arguments()
    yield "commands", programs()
    yield "make", goals()
    yield "statistics", statistics()
    yield "events", events()
    yield "drives", drives()
    yield "results", results()
    yield "lab-tests", labtests.page()


def pages() -> dict[str, str]:
    """All of them, by name below reference/."""
    found = dict(named_pages())
    single = {f"experiments/{one.name}": experiment(one) for one in inventory.experiments()}
    return {"index": index(list(found)), **found, **single}
