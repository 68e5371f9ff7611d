"""The contests: for each measure, how often the contest's arm was the best, and where it was
not."""

from html import escape

from sluice.experiment import contest
from sluice.experiment.contest import Match
from sluice.experiment.summary import format_number
from sluice.experiment.verdict import NO_DIFFERENCE, NOT_JUDGED
from sluice.report.study import Study, variable_words

HEADS = (
    *("experiment", "arm", "measure", "held against", "settings", "won"),
    *(NO_DIFFERENCE, "lost by, at most"),
)
PROMISED = "all that promise as much"


def group_by_metric(matches: list[Match]) -> list[list[Match]]:
    """Return the matches of each metric together, over all settings with a rival."""
    groups: dict[tuple[str, str], list[Match]] = {}
    for of in matches:
        if of.rivals:
            groups.setdefault((of.metric, of.against), []).append(of)
    return list(groups.values())


def loss_share(of: Match) -> str:
    """Return by how many per cent a match was lost, as text."""
    return f"{100 * of.loss_ratio:.1f} %"


def describe_loss(of: Match) -> str:
    """Return a lost match, in words."""
    better = len(of.deciding_rivals)
    best = of.deciding_rivals[0]
    others = f", the best of {better} that are better" if better > 1 else ""
    at = f"{variable_words(of.at)}: " if of.at else ""
    own, theirs = format_number(of.own), f"{best.arm}'s {format_number(best.value)}"
    return f"{at}{own}, by {loss_share(of)} more than {theirs}{others}; {best.less.describe}"


def losses_cell(lost: list[Match]) -> str:
    """Return the cell that says by how much matches were lost. When it is opened, it lists them."""
    if not lost:
        return ""
    lines = "".join(f"<li>{escape(describe_loss(of))}</li>" for of in lost)
    most = max(lost, key=lambda of: of.loss_ratio)
    told = f"{loss_share(most)}, to {escape(most.deciding_rivals[0].arm)}"
    return f"<details><summary>{told}</summary><ul>{lines}</ul></details>"


def contest_row(of: Study, group: list[Match]) -> str:
    """Return the table row for one metric of a contest."""
    first, lost = group[0], [match for match in group if match.is_won is False]
    won = sum(match.is_won is True for match in group)
    unjudged = sum(match.open_word == NOT_JUDGED for match in group)
    more = f" ({unjudged} {NOT_JUDGED}: too few trials for an interval)" if unjudged else ""
    name, told = escape(of.experiment.name), [first.metric, first.against or PROMISED]
    row = of.experiment.contest
    assert row
    cells = [f'<a href="{name}/report.html">{name}</a>', escape(row["arm"])]
    cells += [*map(escape, told), str(len(group)), f"{won}{more}"]
    cells += [str(len(group) - won - len(lost) - unjudged), losses_cell(lost)]
    return "<tr>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>\n"


def contests_table(of: list[Study]) -> str:
    """Return the table of all contests; "" if there is none."""
    rows = [
        contest_row(study, group)
        for study in of
        for group in group_by_metric(contest.play_matches(study.experiment, study.results))
    ]
    if not rows:
        return ""
    heads = "".join(f"<th>{head}</th>" for head in HEADS)
    return (
        "<h2>Contests: the best among all arms with the same promise</h2>\n"
        f'<div class="scroll"><table class="contests"><thead><tr>{heads}</tr></thead>\n'
        f"<tbody>{''.join(rows)}</tbody></table></div>"
    )
