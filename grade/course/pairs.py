"""The pairs of submissions in a class that a person should look at: alike in text or in behaviour.

Behaviour is compared with the solution's and with that of the lab's known mistakes. So these are
graded with the class's nonce, as if they were handed in: the solution always, the mistakes only if
a pair decides alike. A pair that still does is graded with MORE_NONCES other nonces, too, and its
likeness is that of all these disks and loads together.
"""

from collections.abc import Callable, Mapping

from grade.course import behaviour
from grade.course.behaviour import Decisions
from grade.definition.lab import Lab, mistakes
from grade.engine import answers, tree
from grade.trust import likeness
from grade.trust.likeness import Pair
from sluice.host.paths import ROOT

REFERENCE = "the reference solution"
MORE_NONCES = 4

Files = Mapping[str, str]
# Grades files with nonces, each under a name of its own; returns their decisions by these names.
Look = Callable[[dict[str, tuple[Files, str]]], dict[str, Decisions]]


def skeleton(lab: Lab) -> dict[str, str]:
    """The lab's files as students get them."""
    reference, cut = tree.here(lab), tree.cut(lab, {})
    return {file: cut.get(file, reference[file]) for file in lab.files}


def by_text(lab: Lab, handed_in: Mapping[str, Files]) -> list[Pair]:
    """The pairs whose files are nearly identical; one of a pair may be the solution."""
    if answers.FORM in lab.files:
        return answers.alike({name: files[answers.FORM] for name, files in handed_in.items()})
    headers = [path.read_text(encoding="utf-8") for path in sorted(ROOT.glob("[kp]*/**/*.h"))]
    return likeness.alike({**handed_in, REFERENCE: tree.here(lab)}, skeleton(lab), headers)


def of_reference(
    lab: Lab, handed_in: Mapping[str, Files], made: Mapping[str, Decisions], nonce: str, look: Look
) -> Decisions:
    """The solution's decisions. If somebody handed it in, they are known already."""
    files = tree.here(lab)
    same = next((name for name in made if handed_in[name] == files), None)
    return made[same] if same else look({"solution": (files, nonce)})["solution"]


def of_mistakes(lab: Lab, nonce: str, look: Look) -> Decisions:
    """The decisions of the lab's known mistakes, and of its skeleton."""
    asked = {f"wrong-{m.name}": (tree.solution(lab, m.edits), nonce) for m in mistakes(lab)}
    return frozenset().union(*look({**asked, "skeleton": (skeleton(lab), nonce)}).values())


def looked_at_again(
    lab: Lab, handed_in: Mapping[str, Files], suspects: list[Pair], nonce: str, look: Look
) -> dict[str, Decisions]:
    """What the two of each pair and the solution decide with other nonces."""
    names = sorted({name for pair in suspects for name in (pair.one, pair.other)})
    files = {name: handed_in[name] for name in names} | {REFERENCE: tree.here(lab)}
    found: dict[str, Decisions] = {}
    for i, (name, texts) in enumerate(files.items()):
        asked = {f"again-{i}-{j}": (texts, f"{nonce}-{j}") for j in range(MORE_NONCES)}
        found[name] = frozenset().union(*look(asked).values())
    return found


def by_behaviour(
    lab: Lab,
    handed_in: Mapping[str, Files],
    decisions: Mapping[str, Decisions],
    nonce: str,
    look: Look,
) -> list[Pair]:
    """The pairs that make the same decisions where the solution makes others.

    handed_in, decisions: of all submissions, by name.
    """
    made = {name: seen for name, seen in decisions.items() if seen}
    if len(made) < 2 or answers.FORM in lab.files:  # each student has a machine of their own
        return []
    reference = of_reference(lab, handed_in, made, nonce, look)
    if not behaviour.alike(made, reference):
        return []
    known = of_mistakes(lab, nonce, look)
    suspects = behaviour.alike(made, reference, known)
    if not suspects:
        return []
    more = looked_at_again(lab, handed_in, suspects, nonce, look)
    whole = {name: (made[name] - known) | seen for name, seen in more.items() if name in made}
    return behaviour.alike(whole, reference | more[REFERENCE])
