"""The kinds of disk on which faults of the sources are looked for, by name."""

from pathlib import Path

from sluice.crash.laboratory import Laboratory
from sluice.crash.machine import Setup
from sluice.crash.oracle import promise_of
from sluice.crash.replayed_disk import LogLaboratory, fit_setup
from sluice.twin.engine import TWIN

FILES, LOG, JOURNAL = "files", "log", "journal"
KINDS = (FILES, LOG, JOURNAL)
# A drive that takes time: else no process waits, and none is at work while another one is.
JOURNAL_ARGS = "order=journal drive=cheetah4lp drive_volatile=1"
JOURNAL_SIZES = {"1K": "1M", "2K": "2M", "4K": "4M"}  # the smallest journal, by the size of a block


def open_laboratory(kind: str, block: str, twin: Path = TWIN) -> Laboratory:
    """Return the laboratory of a disk: an ext2 disk with files; one of ext3 whose log has to be
    replayed, which it is under each cut; or one of ext3 under order=journal."""
    if kind == LOG:
        return LogLaboratory(fit_setup(Setup(block=block, twin=twin)))
    if kind == FILES:
        return Laboratory(Setup(block=block, twin=twin))
    setup = Setup(JOURNAL_ARGS, block=block, twin=twin, journal=JOURNAL_SIZES[block])
    return Laboratory(setup, promise_of("prefix"), tear_older=True)


def describe_options(kind: str, block: str) -> str:
    """Return the options of `sluice crash show` for a disk."""
    said = f" --block {block}" if block != "4K" else ""
    if kind == JOURNAL:
        return f" --args '{JOURNAL_ARGS}'{said} --order prefix --journal"
    return " --log" if kind == LOG else said
