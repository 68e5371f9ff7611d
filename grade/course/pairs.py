"""Find the pairs of submissions in a class that are alike in text or in behaviour.

A person should look at these pairs. Decisions of the solution and of the lab's known mistakes do
not count, so these programs are graded with the class's nonce like submissions: the solution
always, the mistakes only if a pair decides alike. A pair that is still alike is graded with
MORE_NONCES other nonces, too. Its likeness is then computed over all these disks and loads
together.
"""

from collections.abc import Callable, Mapping

from grade.course import behaviour
from grade.course.behaviour import Decisions
from grade.definition.lab import Lab, load_mistakes
from grade.engine import answers, tree
from grade.trust import likeness
from grade.trust.likeness import Pair
from sluice.host.paths import ROOT

REFERENCE = "the reference solution"
MORE_NONCES = 4

Files = Mapping[str, str]
# A function that grades programs, given as pairs of files and nonce by name, and returns their
# decisions by name.
Look = Callable[[dict[str, tuple[Files, str]]], dict[str, Decisions]]


def skeleton(lab: Lab) -> dict[str, str]:
    """Return the lab's files as students receive them."""
    reference, cut = tree.lab_files(lab), tree.cut_holes(lab, {})
    return {file: cut.get(file, reference[file]) for file in lab.files}


def find_pairs_by_text(lab: Lab, handed_in: Mapping[str, Files]) -> list[Pair]:
    """Return the pairs whose files are nearly identical. The solution may be one of a pair."""
    if answers.FORM in lab.files:
        return answers.find_similar_pairs(
            {name: files[answers.FORM] for name, files in handed_in.items()}
        )
    headers = [path.read_text(encoding="utf-8") for path in sorted(ROOT.glob("[kp]*/**/*.h"))]
    return likeness.find_similar_pairs(
        {**handed_in, REFERENCE: tree.lab_files(lab)}, skeleton(lab), headers
    )


def reference_decisions(
    lab: Lab, handed_in: Mapping[str, Files], made: Mapping[str, Decisions], nonce: str, look: Look
) -> Decisions:
    """Return the solution's decisions.

    If a student handed in the solution, its decisions are taken from there.
    """
    files = tree.lab_files(lab)
    same = next((name for name in made if handed_in[name] == files), None)
    return made[same] if same else look({"solution": (files, nonce)})["solution"]


def mistake_decisions(lab: Lab, nonce: str, look: Look) -> Decisions:
    """Return all decisions of the lab's known mistakes and of its skeleton, as one set."""
    asked = {
        f"wrong-{m.name}": (tree.solution_files(lab, m.edits), nonce) for m in load_mistakes(lab)
    }
    return frozenset().union(*look({**asked, "skeleton": (skeleton(lab), nonce)}).values())


def decisions_with_more_nonces(
    lab: Lab, handed_in: Mapping[str, Files], suspects: list[Pair], nonce: str, look: Look
) -> dict[str, Decisions]:
    """Return the decisions of all suspects and of the solution with MORE_NONCES other nonces."""
    names = sorted({name for pair in suspects for name in (pair.one, pair.other)})
    files = {name: handed_in[name] for name in names} | {REFERENCE: tree.lab_files(lab)}
    found: dict[str, Decisions] = {}
    for i, (name, texts) in enumerate(files.items()):
        asked = {f"again-{i}-{j}": (texts, f"{nonce}-{j}") for j in range(MORE_NONCES)}
        found[name] = frozenset().union(*look(asked).values())
    return found


def find_pairs_by_behaviour(
    lab: Lab,
    handed_in: Mapping[str, Files],
    decisions: Mapping[str, Decisions],
    nonce: str,
    look: Look,
) -> list[Pair]:
    """Return the pairs that make the same decisions where the solution makes others.

    handed_in, decisions: of all submissions, by name.
    """
    made = {name: seen for name, seen in decisions.items() if seen}
    if len(made) < 2 or answers.FORM in lab.files:  # a form: machines differ by student
        return []
    reference = reference_decisions(lab, handed_in, made, nonce, look)
    if not behaviour.find_similar_pairs(made, reference):
        return []
    known = mistake_decisions(lab, nonce, look)
    suspects = behaviour.find_similar_pairs(made, reference, known)
    if not suspects:
        return []
    more = decisions_with_more_nonces(lab, handed_in, suspects, nonce, look)
    whole = {name: (made[name] - known) | seen for name, seen in more.items() if name in made}
    return behaviour.find_similar_pairs(whole, reference | more[REFERENCE])
