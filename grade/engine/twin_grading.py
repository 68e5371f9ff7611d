"""Grades solutions of our own on the twin (sluice/twin), which takes a tenth of the machine's time.

Nothing shuts in what runs in the twin, and nobody watches it as machine mode watches a kernel. So
this is for the proof of the labs and for `make fair`, and never for a submission. A scenario that
needs QEMU's devices, because writes are to fail, has a machine here, too; and so has one whose test
looks at how long the kernel computes. The twin itself logs writes.
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

from grade.definition.lab import Lab
from grade.engine import answers, evidence, grading, tree
from grade.engine.assertions import Wrong
from grade.engine.scenario import Run, Scenario
from grade.engine.workbench import WRITE_LOG, Workbench, expect_good_end
from grade.trust import sourcefile
from grade.trust.compiler import BuildFailed
from sluice.host.paths import BUILT, TREE
from sluice.system import trace
from sluice.system.guest import Guest
from sluice.system.qemu import Config
from sluice.twin import engine

COMPILE = BUILT / "twin" / "kernel.command"
LINK = BUILT / "twin" / "link.command"
OBJECTS = "build/twin/"


def command(line: list[str]) -> None:
    """Run a command of the host's compiler. Raises BuildFailed with what it says."""
    made = subprocess.run(
        line, cwd=TREE, capture_output=True, text=True, check=False, encoding="utf-8"
    )
    if made.returncode:
        raise BuildFailed(made.stderr)


def build(folder: Path, lab: Lab, files: Mapping[str, str]) -> Path:
    """The twin of a pristine tree with these files put in. Raises BuildFailed."""
    words = shlex.split(LINK.read_text(encoding="utf-8"))
    objects = {word: word for word in words if word.endswith(".o")}
    plain = len(objects)
    for file, text in files.items():
        if sourcefile.is_source(file) and not tree.is_here(lab, file, text):
            source = folder / "sources" / file
            source.parent.mkdir(parents=True, exist_ok=True)
            source.write_text(text, encoding="utf-8")
            made = str(source.with_suffix(".o"))
            command(
                [*shlex.split(COMPILE.read_text(encoding="utf-8")), "-c", "-o", made, str(source)]
            )
            objects[OBJECTS + str(Path(file).with_suffix(".o"))] = made
    folder.mkdir(parents=True, exist_ok=True)
    twin = folder / "twin"
    if len(objects) == plain and all(name == made for name, made in objects.items()):
        shutil.copy2(engine.TWIN, twin)
    else:
        in_order = [objects[name] for name in sorted(objects)]
        command([*(w for w in words if w not in objects), *in_order, "-o", str(twin)])
    return twin


def refusal(lab: Lab) -> str | None:
    """Why a lab's tests cannot ask the twin, or None."""
    if answers.FORM in lab.files:
        return f"{lab.name} is answered by numbers, which are read off the machine in gdb"
    return engine.host_refusal()


@dataclass
class OnTwin(Workbench):
    """A workbench whose kernels are twins.

    machine_kernel: the kernel for the machine that is made of the same sources as a twin.
    """

    machine_kernel: Callable[[Path], Path] = field(kw_only=True)
    by_qemu: ClassVar[bool] = False
    file_bytes: ClassVar[int] = resource.RLIM_INFINITY  # the memory with the disks is a file

    def _machine(self, scenario: Scenario, kernel: Path, disks: list[Path]) -> Config:
        by_qemu = scenario.logged and scenario.computes
        return super()._machine(replace(scenario, logged=by_qemu), kernel, disks)

    def _ran(
        self, kernel: Path, config: Config, guest: Guest, scenario: Scenario, folder: Path
    ) -> Run:
        if scenario.computes or engine.refusal(config, scenario.script):
            kernel = self.machine_kernel(kernel)
            config = replace(config, kernel=kernel)
            return super()._ran(kernel, config, guest, scenario, folder)
        log = (scenario.setting.data, folder / WRITE_LOG) if scenario.logged else None
        begin = partial(engine.start, config, guest, twin=kernel, log=log)
        how = self._boot(begin, config, folder, scenario.ends)
        expect_good_end(how)
        guest.save()
        try:
            lost, events = trace.read(guest.path, engine.ring_phys(guest.path))
            run = Run(scenario, folder, events)
            evidence.expect_whole(run, lost)
            evidence.expect_writes_in_turn(run, self.cache_too)
            evidence.expect_times(run)
        except evidence.UNREADABLE as error:
            raise Wrong("the trace as the disk layer writes it", str(error) or "none") from None
        return run


def bench(lab: Lab, twin: Path, runs: Path, nonce: str, files: Mapping[str, str]) -> OnTwin:
    """A workbench for a twin that was built in a folder of its own from these files."""

    def machine_kernel(of: Path) -> Path:
        if of == engine.TWIN:
            return lab.reference
        made = of.with_name("kernel.elf")
        return made if made.exists() else tree.build(of.parent, lab, files)

    budget_s = grading.BUDGET_S
    return OnTwin(
        twin, engine.TWIN, runs, nonce, budget_s, files=files, machine_kernel=machine_kernel
    )
