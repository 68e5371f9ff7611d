"""Grade our own solutions on the twin (sluice/twin), which takes a tenth of the machine's time.

A program in the twin is not confined, and nothing watches it as machine mode watches a kernel. So
this is for the proof of the labs and for `sluice lab fair`, and never for a submission. Two kinds
of scenarios still run on QEMU: those in which writes fail, because this needs QEMU's devices, and
those whose tests measure how long the kernel computes. The twin itself logs writes.
"""

import resource
import shlex
import shutil
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import ClassVar

from grade.definition.lab import Lab, load_given
from grade.engine import answers, evidence, grading, tree
from grade.engine.assertions import Wrong
from grade.engine.scenario import Run, Scenario
from grade.engine.workbench import WRITE_LOG, Workbench, expect_good_end
from grade.trust import sourcefile
from grade.trust.compiler import BuildFailed
from sluice.crash import disk_events, write_log
from sluice.host.paths import BUILT, TREE
from sluice.system import trace
from sluice.system.guest import Guest
from sluice.system.qemu import Config
from sluice.twin import engine

COMPILE = BUILT / "twin" / "kernel.command"
LINK = BUILT / "twin" / "link.command"
OBJECTS = "build/twin/"


def run_compiler(line: list[str]) -> None:
    """Run a command of the host's compiler. Raises BuildFailed with its messages."""
    made = subprocess.run(
        line, cwd=TREE, capture_output=True, text=True, check=False, encoding="utf-8"
    )
    if made.returncode:
        raise BuildFailed(made.stderr)


def build_twin(folder: Path, lab: Lab, files: Mapping[str, str]) -> Path:
    """Build the twin of a pristine tree with these files put in; return its path.

    Raises BuildFailed.
    """
    words = shlex.split(LINK.read_text(encoding="utf-8"))
    objects = {word: word for word in words if word.endswith(".o")}
    plain = len(objects)
    for file, text in files.items():
        if sourcefile.is_source(file) and not tree.is_unchanged(lab, file, text):
            source = folder / "sources" / file
            source.parent.mkdir(parents=True, exist_ok=True)
            source.write_text(text, encoding="utf-8")
            made = str(source.with_suffix(".o"))
            run_compiler(
                [*shlex.split(COMPILE.read_text(encoding="utf-8")), "-c", "-o", made, str(source)]
            )
            objects[OBJECTS + str(Path(file).with_suffix(".o"))] = made
    folder.mkdir(parents=True, exist_ok=True)
    twin = folder / "twin"
    if len(objects) == plain and all(name == made for name, made in objects.items()):
        shutil.copy2(engine.TWIN, twin)
    else:
        in_order = [objects[name] for name in sorted(objects)]
        run_compiler([*(w for w in words if w not in objects), *in_order, "-o", str(twin)])
    return twin


def build_given_twin(lab: Lab, folder: Path) -> Path:
    """Build the twin of the lab's given kernel, which has a planted fault; return its path.

    Raises BuildFailed.
    """
    return build_twin(folder, lab, tree.apply_edits(load_given(lab)))


def refusal(lab: Lab) -> str | None:
    """Return why the twin cannot run a lab's tests, or None if it can."""
    if answers.FORM in lab.files:
        return f"{lab.name} is answered by numbers, which are read off the machine in gdb"
    return engine.host_refusal_reason()


@dataclass
class OnTwin(Workbench):
    """A workbench whose kernels are twins.

    machine_kernel: a function from the path of a twin to the path of the kernel for QEMU that is
    built from the same sources.
    """

    machine_kernel: Callable[[Path], Path] = field(kw_only=True)
    by_qemu: ClassVar[bool] = False
    file_bytes: ClassVar[int] = (
        resource.RLIM_INFINITY
    )  # the twin's memory, with the disks, is a file

    def control_bench(self) -> Workbench:
        """Return a workbench with the reference in the submission's place, in its own folder."""
        plain = super().control_bench()
        return OnTwin(
            plain.kernel,
            plain.reference_kernel,
            plain.folder,
            plain.nonce,
            plain.budget_s,
            files=plain.files,
            machine_kernel=self.machine_kernel,
        )

    def _make_machine(self, scenario: Scenario, kernel: Path, disks: list[Path]) -> Config:
        """Return the configuration; QEMU logs the writes only if a machine runs the scenario."""
        by_qemu = scenario.logged and scenario.computes
        return super()._make_machine(replace(scenario, logged=by_qemu), kernel, disks)

    def _run_machine(
        self, kernel: Path, config: Config, guest: Guest, scenario: Scenario, folder: Path
    ) -> Run:
        """Run a scenario in the twin, or in a machine if the twin cannot run it.

        The trace of the twin is checked.
        """
        if scenario.computes or engine.refusal_reason(config, scenario.script):
            kernel = self.machine_kernel(kernel)
            config = replace(config, kernel=kernel)
            return super()._run_machine(kernel, config, guest, scenario, folder)
        place = (scenario.setting.data, folder / WRITE_LOG) if scenario.logged else None
        log, watch = (None, place) if scenario.flushes else (place, None)
        begin = partial(engine.start_twin, config, guest, twin=kernel, log=log, watch=watch)
        how = self._boot(begin, config, folder, scenario.ends)
        expect_good_end(how)
        if place and scenario.flushes:
            seen = disk_events.parse_events(place[1].read_bytes())
            place[1].write_bytes(write_log.format_log(seen))
        guest.save()
        try:
            lost, events = trace.read_trace(guest.path, engine.ring_address(guest.path))
            run = Run(scenario, folder, events)
            evidence.expect_complete_trace(run, lost)
            evidence.expect_ordered_writes(run, self.cache_is_evidence(scenario))
            evidence.expect_times(run)
        except evidence.UNREADABLE as error:
            raise Wrong("the trace as the disk layer writes it", str(error) or "none") from None
        return run


def make_bench(lab: Lab, twin: Path, runs: Path, nonce: str, files: Mapping[str, str]) -> OnTwin:
    """Return a workbench for a twin that was built from these files in its own folder."""

    def machine_kernel(kernel: Path) -> Path:
        """Return the same kernel for a machine; it is built if it is not there yet."""
        if kernel == engine.TWIN:
            return lab.reference
        made = kernel.with_name("kernel.elf")
        return made if made.exists() else tree.build_kernel(kernel.parent, lab, files)

    budget_s = grading.BUDGET_S
    return OnTwin(
        twin, engine.TWIN, runs, nonce, budget_s, files=files, machine_kernel=machine_kernel
    )
