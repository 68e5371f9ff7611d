"""The disk can be repaired whatever programs did before the power cut."""

from random import Random

from grade.scoring.workbench import Workbench

from ..cuts import Cut, each_cut, scenario

ROUNDS = 2
FOLDERS = ("", "d/")


class Tree:
    """The names that are there while random commands are made: each command finds what it needs."""

    def __init__(self, rng: Random) -> None:
        self.rng = rng
        self.files: list[str] = []  # each the only name of a file with contents
        self.made = 0

    def free(self) -> str:
        """A name that was never there."""
        self.made += 1
        return f"/data/{self.rng.choice(FOLDERS)}f{self.made}"

    def taken(self) -> str:
        """One of the files, which it loses."""
        return self.files.pop(self.rng.randrange(len(self.files)))

    def new(self) -> str:
        """A free name, which becomes a file."""
        self.files.append(self.free())
        return self.files[-1]

    def step(self, kind: str) -> str:
        """A command of this kind."""
        if kind == "copy":
            return f"cp /text {self.new()}"
        if kind == "move":
            return f"mv {self.taken()} {self.new()}"
        if kind == "replace":
            return f"mv {self.taken()} {self.rng.choice(self.files)}"
        if kind == "remove":
            return f"rm {self.taken()}"
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
    for _ in range(ROUNDS):
        lines += [tree.step(kind) for kind in rng.sample(KINDS, len(KINDS))]
    lines += ["sync", "beacon 2", *(f"rm {file}" for file in tree.files), "sync", "beacon 3"]
    folders = ("/d", "/x", "/y")  # so many that the root still has some if removals alone count
    run = bench.run(scenario("churn", lines, {"/text": text}, folders=folders))
    left = [file.removeprefix("/data") for file in tree.files]

    def check(cut: Cut) -> None:
        if cut.last.completed_ns < run.beacon(2) < cut.until_ns:
            for path, found in cut.files(left).items():
                what = "no file" if found is None else f"{len(found)} bytes"
                cut.expect(found == text, f"{path} to be whole after the sync", what)

    each_cut(run, run.beacon(1), 60, check)
