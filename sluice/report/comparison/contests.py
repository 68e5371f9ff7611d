"""The contests: for each measure, how often the contest's arm was the best, and where it was
not."""

from html import escape

from sluice.experiment import contest
from sluice.experiment.contest import Match
from sluice.experiment.summary import number
from sluice.report.study import Study, words

HEADS = (
    *("experiment", "arm", "measure", "held against", "settings", "won"),
    *("not told apart", "lost by, at most"),
)
PROMISED = "all that promise as much"


def in_groups(matches: list[Match]) -> list[list[Match]]:
    """The matches of one measure together, in all settings with a rival."""
    groups: dict[tuple[str, str], list[Match]] = {}
    for of in matches:
        if of.rivals:
            groups.setdefault((of.metric, of.against), []).append(of)
    return list(groups.values())


def share(of: Match) -> str:
    """By how much a match was lost."""
    return f"{100 * of.behind:.1f} %"


def loss(of: Match) -> str:
    """A lost match, in words."""
    better = len(of.decides)
    best = of.decides[0]
    others = f", the best of {better} that are better" if better > 1 else ""
    at = f"{words(of.at)}: " if of.at else ""
    own = f"{at}{number(of.own)}, by {share(of)} more than {best.arm}'s {number(best.value)}"
    return f"{own}{others}; {best.less.told}"


def losses(lost: list[Match]) -> str:
    """The cell that says by how much matches were lost; opened, it lists them."""
    if not lost:
        return ""
    lines = "".join(f"<li>{escape(loss(of))}</li>" for of in lost)
    most = max(lost, key=lambda of: of.behind)
    told = f"{share(most)}, to {escape(most.decides[0].arm)}"
    return f"<details><summary>{told}</summary><ul>{lines}</ul></details>"


def row(of: Study, group: list[Match]) -> str:
    """The result of a measure of a contest."""
    first, lost = group[0], [match for match in group if match.won is False]
    won = sum(match.won is True for match in group)
    sure = "" if all(match.sure for match in group) else " (too few trials for an interval)"
    name, told = escape(of.experiment.name), [first.metric, first.against or PROMISED]
    cells = [f'<a href="{name}/report.html">{name}</a>', escape(of.experiment.contest["arm"])]
    cells += [*map(escape, told), str(len(group)), f"{won}{sure}"]
    cells += [str(len(group) - won - len(lost)), losses(lost)]
    return "<tr>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>\n"


def table(of: list[Study]) -> str:
    """All contests; nothing if there is none."""
    rows = [
        row(study, group)
        for study in of
        for group in in_groups(contest.matches(study.experiment, study.results))
    ]
    if not rows:
        return ""
    heads = "".join(f"<th>{head}</th>" for head in HEADS)
    return (
        "<h2>Contests: the best among all arms with the same promise</h2>\n"
        f'<div class="scroll"><table class="contests"><thead><tr>{heads}</tr></thead>\n'
        f"<tbody>{''.join(rows)}</tbody></table></div>"
    )
