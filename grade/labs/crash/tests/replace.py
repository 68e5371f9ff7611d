"""When a file replaces another, at any moment the name has the old file or the new one."""

from grade.engine.workbench import Workbench

from ..cuts import Cut, each_cut, scenario

DOCUMENTS = ["/here", "/there/document"]


def a_document_is_always_there(bench: Workbench) -> None:
    """A new text is written to a file, synced, and moved over a document: in one directory, and
    from another. The power is cut between any two writes."""
    rng = bench.random("replaced")
    old, new = rng.randbytes(5000), rng.randbytes(7000)
    lines = ["mkdir /data/there"]
    lines += [f"cp /old /data{path}" for path in DOCUMENTS]
    lines += ["sync", "beacon 1"]
    for path in DOCUMENTS:
        lines += ["cp /new /data/part", "sync", f"mv /data/part /data{path}"]
    run = bench.run(scenario("replace", [*lines, "sync", "beacon 2"], {"/old": old, "/new": new}))

    def check(cut: Cut) -> None:
        """Expect each name to have the old text or the new one, as a whole."""
        for path, came in cut.files(DOCUMENTS).items():
            what = "no file" if came is None else f"{len(came)} bytes, not all as written"
            cut.expect(came in (old, new), f"{path} to have the old text or the new one", what)

    each_cut(run, run.beacon(1), 30, check)
