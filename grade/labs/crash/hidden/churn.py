"""The disk can be repaired whatever programs did before the power cut."""

from grade.scoring.workbench import Workbench

from ..cuts import Cut, each_cut, scenario

STEPS = 30
NAMES = 6


def the_disk_can_be_repaired_after_random_changes(bench: Workbench) -> None:
    """Random files are made, written, linked, renamed, replaced and removed."""
    rng = bench.random("churn")

    def name() -> str:
        return f"/data/{rng.choice(['', 'd/'])}f{rng.randrange(NAMES)}"

    def step() -> str:
        return rng.choice(
            [
                f"cp /text {name()}",
                f"mv {name()} {name()}",
                f"ln {name()} {name()}",
                f"rm {name()}",
                f"mkdir /data/m{rng.randrange(NAMES)}",
                f"rmdir /data/m{rng.randrange(NAMES)}",
                f"ln -s text {name()}",
            ]
        )

    lines = ["mkdir /data/d", "beacon 1", *(f"{step()} 2> /dev/null" for _ in range(STEPS))]
    run = bench.run(scenario("churn", [*lines, "sync", "beacon 2"], {"/text": bytes(20_000)}))

    def check(_cut: Cut) -> None:
        """The repair alone is checked."""

    each_cut(run, run.beacon(1), 2 * STEPS, check)
