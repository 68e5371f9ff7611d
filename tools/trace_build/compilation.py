"""Compiles this kernel into a folder, each program of the compiler a process of its own.

    python -m tools.trace_build.compilation FOLDER

- The flags are those of the Makefile (build/kernel.command and build/link.command). The
  preprocessor is a pass of its own with a temporary file (-no-integrated-cpp), as it was in 1994.
- The kernel's objects are linked as they are. The policies of each kind become an archive.
- FOLDER/times has the CPU time of each program, as gcc -time= writes it. strace slows programs
  down, so the times come from a second build without it.
"""

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

from grade.code.objects import PREFIX
from sluice.host.paths import BUILT, TREE

TIMES, PROGRAM = "times", "kernel.elf"
LIBRARIES = "policies"  # the folder whose folders become archives
CALLS = ("execve", "open", "openat", "creat", "read", "write", "lseek", "close")
CALLS += ("unlink", "unlinkat")


def list_sources() -> list[Path]:
    """Return the sources of the kernel and of the policies, relative to the tree."""
    found = [*TREE.glob("kernel/*/*.c"), *TREE.glob("policies/*/*.c")]
    found += TREE.glob("drives/**/*.c")
    found += [*TREE.glob("kernel/*.c"), *TREE.glob("kernel/*.S"), *TREE.glob("kernel/*/*.S")]
    return sorted(path.relative_to(TREE) for path in found)


def command_words(name: str) -> list[str]:
    """Return the words of one of make's commands, without the objects."""
    said = shlex.split((BUILT / f"{name}.command").read_text(encoding="utf-8"))
    return [word for word in said if not word.endswith(".o")]


def run_timed(times: Path, *command: str | Path) -> None:
    """Run a program and append its CPU time to a file. Raises CalledProcessError."""
    argv = [str(word) for word in command]
    pid = os.posix_spawnp(argv[0], argv, os.environ)
    _, status, used = os.wait4(pid, 0)
    if code := os.waitstatus_to_exitcode(status):
        raise subprocess.CalledProcessError(code, argv)
    with times.open("a", encoding="utf-8") as lines:
        print(f"{used.ru_utime:.6f} {used.ru_stime:.6f} {shlex.join(argv)}", file=lines)


def build(folder: Path) -> None:
    """Compile, archive and link into the folder, which has the temporary files too."""
    os.environ["TMPDIR"] = str(folder)
    os.chdir(TREE)
    times = folder / TIMES
    timed = f"-time={times}"
    linked, folders = [], {}
    for source in list_sources():
        folders.setdefault(source.parent, []).append(source)
    for place, inside in folders.items():
        objects = [folder / ("-".join(source.parts) + ".o") for source in inside]
        for source, made in zip(inside, objects, strict=True):
            compiler = [*command_words("kernel"), "-no-integrated-cpp", timed]
            subprocess.run([*compiler, "-c", "-o", made, source], check=True)
        if place.parts[0] == LIBRARIES:
            archive = folder / ("-".join(place.parts) + ".a")
            run_timed(times, PREFIX + "ar", "rcs", archive, *objects)
            objects = ["-Wl,--whole-archive", archive, "-Wl,--no-whole-archive"]
        linked += objects
    linker = [*command_words("link"), timed, "-o", folder / PROGRAM]
    subprocess.run([*linker, *linked, "-lgcc"], check=True)


def build_in_process(folder: Path, *before: str) -> None:
    """Build in a new folder, in a process that the words `before` start."""
    folder.mkdir()
    words = [*before, sys.executable, "-m", "tools.trace_build.compilation", str(folder)]
    subprocess.run(words, check=True)


def build_under_strace(folder: Path, output: Path) -> None:
    """Build in a new folder under strace, whose output becomes a file."""
    if not shutil.which("strace"):
        raise FileNotFoundError("strace is not installed: install it (apt-get install strace)")
    options = ["-f", "-ttt", "-y", "-s", "0", "--seccomp-bpf", "-e", f"trace={','.join(CALLS)}"]
    build_in_process(folder, "strace", *options, "-o", str(output))


if __name__ == "__main__":
    build(Path(sys.argv[1]).resolve())
