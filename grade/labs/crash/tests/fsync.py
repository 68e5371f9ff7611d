"""A file that was fsynced is there, whole, from the moment when fsync returns."""

from grade.engine.workbench import Workbench

from ..cuts import ON_DEMAND, Cut, each_cut, scenario

SIZES = (3000, 70_000, 4096, 9000)


def what_was_fsynced_is_kept(bench: Workbench) -> None:
    """Files are written and fsynced, one after the other; nothing else flushes."""
    rng = bench.random("fsynced")
    texts = {f"/in{i}": rng.randbytes(size) for i, size in enumerate(SIZES)}
    lines = ["mkdir /data/d"]
    for i in range(len(SIZES)):
        lines.append(f"dd if=/in{i} of=/data/d/f{i} bs=16k conv=fsync 2> /dev/null")
        lines.append(f"beacon {i + 1}")
    run = bench.run(scenario("fsync", lines, texts, ON_DEMAND))

    def check(cut: Cut) -> None:
        """Expect each file that was fsynced before this cut to be whole."""
        synced = [i for i in range(len(SIZES)) if run.beacon(i + 1) < cut.until_ns]
        found = cut.files([f"/d/f{i}" for i in synced])
        for i, (path, came) in zip(synced, found.items(), strict=True):
            what = "no file" if came is None else f"{len(came)} bytes, not all as written"
            cut.expect(came == texts[f"/in{i}"], f"{path} to be whole, as it was fsynced", what)

    each_cut(run, run.beacon(1), 30, check)
