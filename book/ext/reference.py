"""Make the reference pages of what inventory.py reads: `all_pages()` is their Markdown, by name."""

from collections.abc import Iterator
from pathlib import Path

from book.ext import architecture, inventory, labtests, stored
from book.ext.inventory import Experiment, Policy, tree_path
from book.ext.markdown import code_block, escape, format_comment, format_table
from book.ext.sphinx.findings import published_table, verdict_table
from sluice.experiment import result, sets
from sluice.host import reading
from sluice.host.reading import find_lines, format_lines

KINDS = {
    "update": "Update: when do dirty blocks go to the disk?",
    "write": "Write: what does a write do now?",
    "sched": "Scheduling: which request next?",
    "replace": "Replacement: which clean buffer is the victim?",
    "prefetch": "Prefetching: what is read before it is asked for?",
    "place": "Placement: where on the disk does a block live?",
    "order": "Order: how does metadata reach the disk?",
}


def file_link(path: str) -> str:
    """Return a link to a file of the tree."""
    return f"{{file}}`{path}`"


def policy_entry(one: Policy) -> str:
    """Return the entry of a policy: what it does, its source, its tunables and counters."""
    parts = [
        f"(policy-{one.kind}-{one.name})=\n## `{one.name}`\n",
        f"{escape(one.about[0].upper() + one.about[1:])}. {file_link(tree_path(one.path))}\n",
        format_comment(one.algorithm),
        f"Source: {escape(one.source)}\n" if one.source else "",
    ]
    if one.tunables:
        rows = [
            [
                f"`{one.name}.{t.name}`",
                escape(t.unit),
                t.default,
                f"{t.low} to {t.high}",
                escape(t.about),
            ]
            for t in one.tunables
        ]
        parts.append(format_table(["tunable", "unit", "default", "range", "meaning"], rows))
    if one.counters:
        rows = [[f"`{one.name}.{c.name}`", escape(c.unit), escape(c.about)] for c in one.counters]
        parts.append(format_table(["counter", "unit", "meaning"], rows))
    return "\n".join(part for part in parts if part)


def policies_page(kind: str) -> str:
    """Return the page of a kind.

    A kind without a title in KINDS is shown under its name.
    """
    entries = [policy_entry(one) for one in inventory.list_policies() if one.kind == kind]
    names = [one for one in inventory.list_policies() if one.kind == kind]
    head = format_table(
        ["policy", "in one line"],
        [[f"{{ref}}`{p.name} <policy-{p.kind}-{p.name}>`", escape(p.about)] for p in names],
    )
    return "\n".join([f"# {KINDS.get(kind, kind)}\n", head, *entries])


def programs_page() -> str:
    """Return the page of the shell's commands."""
    entries = [
        f"(program-{one.name})=\n## `{one.name}`\n\n{format_comment(one.about)}\n"
        f"{file_link(tree_path(one.path))}\n"
        for one in inventory.list_programs()
    ]
    rows = [[f"`{row.name}`", escape(row.about)] for row in inventory.list_builtins()]
    return "\n".join(
        [
            "# Commands of Sluice's shell\n",
            "Commands of the shell itself; `help` prints them with the shell's grammar:\n",
            format_table(["command", "what it does"], rows),
            "All other commands are programs in `/bin`. Each prints its usage with `-h`.\n",
            *entries,
        ]
    )


def goals_page() -> str:
    """Return the page of make's goals."""
    rows = [[f"`make {row.name}`", escape(row.about)] for row in inventory.list_goals()]
    return "\n".join(
        [
            "# Commands of make\n",
            "`make help` prints this list.\n",
            format_table(["command", "what it does"], rows),
        ]
    )


def arguments_page() -> str:
    """Return the page of boot arguments."""
    rows = [
        [f"`{a.name}=`", escape(a.meaning), escape(a.values), escape(a.default), file_link(a.where)]
        for a in inventory.list_arguments()
    ]
    kinds = " ".join(f"`{kind}=`" for kind in inventory.list_kinds())
    return "\n".join(
        [
            "# Boot arguments\n",
            "`make qemu ARGS='sched=fcfs nbuf=1000'` passes boot arguments to the kernel. An "
            "unknown argument, or a value that is out of range, stops the boot with a message.\n",
            format_table(["argument", "meaning", "values", "default", "read in"], rows),
            f"{kinds} choose the policy of a kind, and `POLICY.TUNABLE=NUMBER` sets a tunable, "
            "as in `pu.interval_ms=1000`.\n",
        ]
    )


def events_page() -> str:
    """Return the page of the trace's events."""
    rows = [[f"`{row.name}`", escape(row.about)] for row in inventory.list_events()]
    return "\n".join(
        [
            "# Events of the trace\n",
            "A machine that is booted with `trace_k=N` keeps its last N * 1024 events. "
            "`cat /dev/trace` prints them, the oldest first, a line each: "
            "`TIME_NS EVENT DISK BLOCK PID ARGUMENT`. The name of a write's event ends in "
            f"`-write`. The events are declared in {file_link('kernel/measure/trace.h')}.\n",
            format_table(["event", "block; argument"], rows),
        ]
    )


def statistics_page() -> str:
    """Return the page of counters, gauges and histograms."""
    rows = inventory.list_statistics()
    parts = ["# Counters, gauges and histograms\n"]
    parts.append(
        "`cat /dev/stat` prints the counters and the gauges, `cat /dev/hist` the histograms. "
        "A counter only grows; a gauge is a state. Counters of policies are on the pages of the "
        "policies. A disk histogram exists once for each disk, as `disk0.queued`. Only a machine "
        "with a network device has the counters of the network.\n"
    )
    for kind in dict.fromkeys(row.kind for row in rows):
        lines = [
            [f"`{r.name}`", escape(r.unit), escape(r.about), file_link(r.where)]
            for r in rows
            if r.kind == kind
        ]
        parts += [
            f"## {kind.capitalize()}s\n",
            format_table(["name", "unit", "meaning", "in"], lines),
        ]
    return "\n".join(parts)


def drives_page() -> str:
    """Return the page of drives."""
    rows = [[f"[`{d.name}`](#drive-{d.name})", escape(d.about)] for d in inventory.list_drives()]
    entries = [
        f"(drive-{d.name})=\n## `{d.name}`\n\n{escape(d.about)}\n\n{code_block(d.row, 'c')}"
        for d in inventory.list_drives()
    ]
    comment = inventory.clang.head_comment(inventory.file_text(inventory.DRIVES / "row.h"))
    return "\n".join(
        [
            "# Drives\n",
            "The boot argument `drive=NAME` chooses the model of a drive. Each is a file of "
            "`drives/`, shown below as it stands, with the source of its figures.\n",
            format_comment(comment),
            format_table(["drive", "what it is"], rows),
            *entries,
        ]
    )


def results_page() -> str:
    """Return the page of the fields of a result."""
    path = tree_path(Path(result.__file__))
    return "\n".join(
        [
            "# Fields of a result\n",
            "`make experiment` writes a line for each run to `results.jsonl`. "
            f"{file_link(path)} says what a line holds:\n",
            code_block(result.__doc__),
        ]
    )


def sweep_table(one: Experiment) -> str:
    """Return the table of an experiment's swept variables; empty if it has none."""
    rows = [
        [f"`{name}`", escape(", ".join(map(str, values)))]
        for name, values in one.toml.get("sweep", {}).items()
    ]
    return format_table(["variable", "values"], rows) if rows else ""


def arm_table(one: Experiment) -> str:
    """Return the table of an experiment's arms."""
    rows = []
    for arm in sets.all_arms(one.toml):
        said = {**arm.get("policies", {}), **arm.get("tunables", {}), **arm.get("variables", {})}
        words = ", ".join(f"{name} = {said[name]}" for name in said)
        rows.append([escape(arm["name"]), f"`{words}`" if words else ""])
    return format_table(["arm", "what it sets"], rows)


def measured_table(one: Experiment) -> str:
    """Return a table of what is stored of an experiment, with a row for each arm and setting."""
    if not stored.is_stored(one.name):
        return f"*{stored.missing_sentence(one.name)}*\n"
    kept = stored.read_results(one.name)
    columns = [c for c in one.toml["plot"]["columns"] if c in kept["rows"][0]["measured"]]
    rows = []
    for row in kept["rows"]:
        at = ", ".join(f"{name} {said}" for name, said in row["at"].items())
        values = [stored.format_number(row["measured"][c]) for c in columns]
        rows.append([escape(f"{row['arm']}{'; ' + at if at else ''}"), *values])
    return format_table(["", *(f"`{c}`" for c in columns)], rows)


def experiment_page(one: Experiment) -> str:
    """Return the page of one experiment."""
    policies_of_all = ", ".join(f"{k} = {v}" for k, v in one.toml.get("policies", {}).items())
    parts = [
        f"# {one.name}\n",
        f"**{escape(one.claim)}**\n",
        f"Source: {escape(one.source)}. {file_link(tree_path(one.path))}\n",
        format_comment(one.comment),
        "## What is compared\n",
        f"All runs: `{policies_of_all}`.\n" if policies_of_all else "",
        arm_table(one),
        sweep_table(one),
        "## The load\n",
        code_block(
            (one.toml["workload"].get("setup", "") + one.toml["workload"]["commands"]).strip()
        ),
        f"`sluice experiment run {one.name}` makes these runs in the full size.\n",
        "## What came\n",
        measured_table(one),
        published_table(one),
        "## What was expected\n",
        verdict_table(one),
    ]
    return "\n".join(part for part in parts if part)


def experiments_page() -> str:
    """Return the page that lists the experiments."""
    rows = [
        [f"{{doc}}`experiments/{one.name}`", escape(one.claim)]
        for one in inventory.list_experiments()
    ]
    names = "\n".join(f"experiments/{one.name}" for one in inventory.list_experiments())
    return "\n".join(
        [
            "# Experiments\n",
            "`sluice experiment run NAME` makes the runs of an experiment. Each is a file in "
            f"{file_link('experiments')}.\n",
            format_table(["experiment", "what it claims"], rows),
            f"```{{toctree}}\n:hidden:\n\n{names}\n```\n",
        ]
    )


def paths() -> str:
    """Return the page of the reading paths: for each question, which lines of which files."""
    parts = [
        "# Reading paths\n",
        f"For each question, the files that answer it, in order: at most {reading.MOST:,} lines "
        "together. The comments that the files open with are counted. The lists are those of "
        f"{file_link('book/paths.toml')}.\n",
    ]
    for path in reading.read_paths().values():
        files = len({step.file for step in path.steps})
        rows = [
            [
                file_link(step.file),
                ", ".join(f"`{part}`" for part in step.parts) or "all of it",
                format_lines(find_lines(step, path.heads)),
                escape(step.look_for),
            ]
            for step in path.steps
        ]
        size = f"{reading.count_lines(path):,} lines in {files} files, {len(rows)} steps.\n"
        parts.append(f"(path-{path.name})=\n## {path.question}\n\n{size}")
        parts.append(format_table(["file", "read", "lines", "look for"], rows))
    return "\n".join(parts)


def index_page(names: list[str]) -> str:
    """Return the page that lists the reference pages."""
    listed = "\n".join(names)
    return (
        "# Reference\n\nThese pages are made of the tables in the sources, each time the book is "
        f"built.\n\n```{{toctree}}\n:maxdepth: 1\n\n{listed}\n```\n"
    )


def named_pages() -> Iterator[tuple[str, str]]:
    """Yield the pages other than those of single experiments, with their names."""
    for kind in inventory.list_kinds():
        yield f"policies-{kind}", policies_page(kind)
    yield "experiments", experiments_page()
    yield "paths", paths()
    yield "rooms", architecture.describe_rooms()
    yield "arguments", arguments_page()
    yield "commands", programs_page()
    yield "make", goals_page()
    yield "statistics", statistics_page()
    yield "events", events_page()
    yield "drives", drives_page()
    yield "results", results_page()
    yield "lab-tests", labtests.format_page()


def all_pages() -> dict[str, str]:
    """Return all pages, by name below reference/."""
    found = dict(named_pages())
    single = {
        f"experiments/{one.name}": experiment_page(one) for one in inventory.list_experiments()
    }
    return {"index": index_page(list(found)), **found, **single}
