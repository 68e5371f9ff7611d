"""A child that must not outlive its parent (sluice/system/qemu.py)."""

import signal
import subprocess
import sys
import textwrap

from sluice.host.limits import HANG_S
from sluice.host.paths import ROOT

# A process that starts `echo`, is killed by the child before exec, and has been reaped when the
# child asks to end with its parent.
PARENT_ENDS_FIRST = textwrap.dedent(
    """
    import os, signal, subprocess
    from sluice.system.qemu import die_with_parent

    def ask_late():
        parent = os.getppid()
        os.kill(parent, signal.SIGKILL)
        while os.getppid() == parent:
            pass
        die_with_parent()

    subprocess.run(["echo", "ran"], preexec_fn=ask_late)
    """
)


def test_a_child_whose_parent_ends_before_it_asks_does_not_run() -> None:
    """What it would print comes over a pipe, which is at its end when the child has ended."""
    made = subprocess.run(
        [sys.executable, "-c", PARENT_ENDS_FIRST],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=HANG_S,
        check=False,
    )
    assert (made.returncode, made.stdout, made.stderr) == (-signal.SIGKILL, "", "")
