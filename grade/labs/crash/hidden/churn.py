"""The disk can be repaired whatever programs did before the power cut."""

from random import Random

from grade.engine.workbench import Workbench

from ..cuts import Cut, each_cut, scenario

FOLDERS = ("", "d/")
AWAY = (True, False)  # a file is moved, and replaces one, in each way once: a round each


def folder_of(file: str) -> str:
    """Return which of the two folders a file is in."""
    return FOLDERS[1] if file.startswith(f"/data/{FOLDERS[1]}") else FOLDERS[0]


class Tree:
    """The names that exist while random commands are made, so that each command finds its files."""

    def __init__(self, rng: Random) -> None:
        self.rng = rng
        self.files: list[str] = []  # each the only name of a file with contents
        self.made = 0
        self.away = {kind: rng.sample(AWAY, len(AWAY)) for kind in ("move", "replace")}

    def free(self, folder: str | None = None) -> str:
        """Return a name that never existed, in this folder or (None) in a random one."""
        self.made += 1
        return f"/data/{self.rng.choice(FOLDERS) if folder is None else folder}f{self.made}"

    def take_file(self) -> str:
        """Remove a random file from the list, and return its name."""
        return self.files.pop(self.rng.randrange(len(self.files)))

    def new(self, folder: str | None = None) -> str:
        """Add a file with a free name to the list, and return the name."""
        self.files.append(self.free(folder))
        return self.files[-1]

    def goal(self, file: str, kind: str) -> str:
        """Return the folder that this file is to be in after a move: another one, or its own."""
        here = folder_of(file)
        there = next(folder for folder in FOLDERS if folder != here)
        return there if self.away[kind].pop() else here

    def step(self, kind: str) -> str:
        """Return a command of this kind."""
        if kind == "copy":
            return f"cp /text {self.new()}"
        if kind == "move":
            file = self.take_file()
            return f"mv {file} {self.new(self.goal(file, kind))}"
        if kind == "replace":
            file = self.take_file()
            folder = self.goal(file, kind)
            there = [one for one in self.files if folder_of(one) == folder]
            made = "" if there else f"cp /text {self.new(folder)}\n"
            return f"{made}mv {file} {self.rng.choice(there or self.files[-1:])}"
        if kind == "remove":
            return f"rm {self.take_file()}"
        name = self.free()
        return {
            "link": f"ln {self.rng.choice(self.files)} {name}l\nrm {name}l",
            "symlink": f"ln -s text {name}",
            "folder": f"mkdir /data/m{self.made}\nrmdir /data/m{self.made}",
        }[kind]


KINDS = ("copy", "copy", "move", "replace", "remove", "link", "symlink", "folder")


def the_disk_can_be_repaired_after_random_changes(bench: Workbench) -> None:
    """Random files are made, written, linked, renamed, replaced, and in the end all removed."""
    rng = bench.random("churn")
    tree, text = Tree(rng), rng.randbytes(20_000)
    lines = [*(tree.step("copy") for _ in range(3)), "beacon 1"]
    for _ in AWAY:
        lines += [tree.step(kind) for kind in rng.sample(KINDS, len(KINDS))]
    lines += ["sync", "beacon 2", *(f"rm {file}" for file in tree.files), "sync", "beacon 3"]
    folders = ("/d", "/x", "/y")  # so many that the root still has some if removals alone count
    run = bench.run(scenario("churn", lines, {"/text": text}, folders=folders))
    left = [file.removeprefix("/data") for file in tree.files]

    def check(cut: Cut) -> None:
        """Expect all files to be whole if the power goes right after the first sync."""
        if cut.last.completed_ns < run.beacon(2) < cut.until_ns and not cut.torn:
            for path, found in cut.files(left).items():
                what = "no file" if found is None else f"{len(found)} bytes"
                cut.expect(found == text, f"{path} to be whole after the sync", what)

    each_cut(run, run.beacon(1), 60, check)
