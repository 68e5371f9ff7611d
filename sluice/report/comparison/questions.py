"""Write the beginning of the comparison: questions, each with an answer from the results, a
picture, and a table of all core sets.

The *champion* is the core set whose longest wait is the shortest under the most loads. The other
questions are about the price of this. Sets that are not significantly different share the least
value.
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from html import escape

from sluice.report import theme
from sluice.report.comparison.core import Load, core_sets
from sluice.report.comparison.rows import MEASURES
from sluice.report.figures import Figure, remove_title
from sluice.report.page import figure_html
from sluice.report.theme import Datum, Spec

UNITS = {measure.name: measure.unit for measure in MEASURES}
ROW = 54  # height of a load in a picture
LETTER = 6.6
MARGIN = 24
ABOUT = (
    "A row is a load, a point a core set: how many times the least value it has. The least is "
    "named above its point, the most below; {champion} is blue. The axis is logarithmic."
)


def smallest_value(load: Load, measure: str) -> tuple[str, float]:
    """Return the set with the smallest value, and that value."""
    return next(iter(load.known_values(measure).items()))


def largest_value(load: Load, measure: str) -> tuple[str, float]:
    """Return the set with the largest value, and that value."""
    return list(load.known_values(measure).items())[-1]


def distinguishing_loads(loads: list[Load], measure: str) -> list[Load]:
    """Return the loads in which the measure distinguishes the sets: values differ, and are above
    0."""
    return [
        load
        for load in loads
        if load.known_values(measure)
        and 0 < smallest_value(load, measure)[1] < largest_value(load, measure)[1]
    ]


def winner_names(load: Load, measure: str) -> str:
    """Return the set with the smallest value, or all sets that share it."""
    return " and ".join(load.best_sets(measure))


def champion(loads: list[Load]) -> str:
    """Return the set whose longest wait is the shortest under the most loads."""
    wins = Counter(
        name for load in distinguishing_loads(loads, "worst") for name in load.best_sets("worst")
    )
    return wins.most_common(1)[0][0]


def ratios(loads: list[Load], measure: str, name: str) -> list[tuple[float, Load]]:
    """Return a set's ratio to the smallest value under each load where it ran, the smallest ratio
    first."""
    found = [
        (load.known_values(measure)[name] / smallest_value(load, measure)[1], load)
        for load in distinguishing_loads(loads, measure)
        if name in load.known_values(measure)
    ]
    return sorted(found, key=lambda row: row[0])


def ratio_words(value: float) -> str:
    """Return a ratio as text."""
    return f"{value:.0f}" if value >= 9.95 else f"{value:.2f}".rstrip("0").rstrip(".")


def ratio_range_words(values: list[float]) -> str:
    """Return the smallest and the largest of ratios as text."""
    low, high = ratio_words(min(values)), ratio_words(max(values))
    return low if low == high else f"{low} to {high}"


def missing_interval_note(loads: list[Load]) -> str:
    """Return a sentence about loads with too few trials for an interval; "" if there are none."""
    few = sum(not load.has_intervals() for load in loads)
    return f" Under {few} of the loads there are too few trials for an interval." if few else ""


def answer_longest_wait(loads: list[Load]) -> str:
    """Return the answer: under how many loads each winner has the shortest wait, and the last set's
    ratio to the shortest."""
    shown = distinguishing_loads(loads, "worst")
    wins: dict[str, list[str]] = {}
    for load in shown:
        wins.setdefault(winner_names(load, "worst"), []).append(load.name)
    order = sorted(wins.items(), key=lambda row: -len(row[1]))
    first, *rest = order
    told = [f"{first[0]} under {len(first[1])} of {len(shown)} loads"]
    told += [f"{name} under {', '.join(where)}" for name, where in rest]
    spread = ratio_range_words(
        [largest_value(load, "worst")[1] / smallest_value(load, "worst")[1] for load in shown]
    )
    answer = f"{'; '.join(told)}. The last set's longest wait is {spread} times the shortest."
    return answer + missing_interval_note(shown)


def cost_answer(does: str, how: str) -> Callable[[list[Load], str], str]:
    """Return the function that answers what the champion costs in a measure: "it `does` N times as
    `how` as another set"."""

    def answer(loads: list[Load], measure: str) -> str:
        """Return the answer for these loads and this measure."""
        best = champion(loads)
        found = ratios(loads, measure, best)
        if not found:
            return f"No load in which {best} ran tells that."
        worst, load = found[-1]
        by = smallest_value(load, measure)[0]
        own = f"{load.format_value(best, measure)} {UNITS[measure]}"
        compared = f"{load.format_value(by, measure)} {UNITS[measure]} of {by}"
        wins = sum(best in here.best_sets(measure) for _, here in found)
        multiples = ratio_range_words([ratio for ratio, _ in found])
        if worst == 1:
            return f"Nothing: {best} has the least of all sets under each of {len(found)} loads."
        itself = f" (it has the least itself under {wins} of {len(found)} loads)" if wins else ""
        said = f"{best} {does} {multiples} times as {how} as the set with the least{itself}."
        return f"{said} The difference is largest under {load.name}: {own}, beside {compared}."

    return answer


def answer_mean_spread(loads: list[Load], measure: str) -> str:
    """Return the answer: how far the sets' means are apart, and under how many loads they are less
    far apart than the longest waits."""

    def spread_ratio(load: Load, of: str) -> float:
        """Return the largest value of a measure divided by the smallest."""
        return largest_value(load, of)[1] / smallest_value(load, of)[1]

    shown = [
        load
        for load in distinguishing_loads(loads, measure)
        if load in distinguishing_loads(loads, "worst")
    ]
    less = sum(spread_ratio(load, measure) < spread_ratio(load, "worst") for load in shown)
    means, waits = (
        ratio_range_words([spread_ratio(load, of) for load in shown]) for of in (measure, "worst")
    )
    return (
        f"Less than the longest wait does under {less} of {len(shown)} loads: the largest mean is "
        f"{means} times the smallest, the longest of the longest waits {waits} times the shortest."
    )


@dataclass(frozen=True)
class Question:
    """A question about a measure, and the function that answers it."""

    text: str
    measure: str
    answer: Callable[[list[Load], str], str]


QUESTIONS = (
    Question(
        "Which set has the shortest longest wait under each load?",
        "worst",
        lambda loads, _: answer_longest_wait(loads),
    ),
    Question("What does that cost in writes?", "writes", cost_answer("writes", "much")),
    Question(
        "How old does a block become before it is written, and is lost in a crash?",
        "oldest",
        cost_answer("lets a block become", "old"),
    ),
    Question("Does the mean response tell the sets apart?", "mean", answer_mean_spread),
    Question("What does it cost in CPU time?", "cpu", cost_answer("takes", "much")),
)


def question_points(loads: list[Load], measure: str) -> list[Datum]:
    """Return a point for each set and load, with texts at the smallest and the largest."""
    found = []
    for load in distinguishing_loads(loads, measure):
        values = load.known_values(measure)
        low = smallest_value(load, measure)[1]
        ends = {smallest_value(load, measure)[0]: "low", largest_value(load, measure)[0]: "high"}
        for name, value in values.items():
            text = f"{name} {load.format_value(name, measure)} {UNITS[measure]}"
            end = ends.get(name, "")
            row = {"load": load.name, "set": name, "times": round(value / low, 4)}
            found.append({**row, "text": text if end else "", "end": end})
    return found


def question_spec(loads: list[Load], measure: str, width: int) -> Spec:
    """Return the specification of a question's picture."""
    values, best = question_points(loads, measure), champion(loads)
    names = list(dict.fromkeys(row["load"] for row in values))
    label = min(max(map(len, names)) * LETTER + 12, 0.34 * width)
    far = max(row["times"] for row in values)
    scale = {"type": "log", "domain": [1, max(far, 1.1)], "nice": False, "padding": 10}
    axis = {**theme.log_axis(1, far), "title": "times the least"}
    rule = f"datum.set == {best!r}"
    colour = {"condition": {"test": rule, "value": theme.ARM_COLOURS[0]}, "value": theme.GREY}
    y: Spec = {"field": "load", "type": "nominal", "sort": names, "title": None}
    y["axis"] = {"labelLimit": label, "grid": True, "ticks": False, "domain": False}
    tips = [{"field": f, "type": "nominal"} for f in ("load", "set", "times")]
    dot = {"type": "point", "filled": True, "size": 110, "opacity": 0.85}
    layers: list[Spec] = [{"mark": dot, "encoding": {"color": colour, "tooltip": tips}}]
    middle = far**0.5
    for rule, side, down in (
        ("datum.end == 'low'", "left", -13),
        (f"datum.end == 'high' && datum.times < {middle}", "left", 15),
        (f"datum.end == 'high' && datum.times >= {middle}", "right", 15),
    ):
        mark = {"type": "text", "align": side, "dy": down, "fontSize": 12}
        text = {"text": {"field": "text"}}
        layers.append({"transform": [{"filter": rule}], "mark": mark, "encoding": text})
    return {
        "data": {"values": values},
        "width": width - label - 2 * MARGIN,
        "height": {"step": ROW},
        "encoding": {
            "x": {"field": "times", "type": "quantitative", "scale": scale, "axis": axis},
            "y": y,
        },
        "layer": layers,
    }


def question_figure(loads: list[Load], question: Question) -> Figure:
    """Return the picture of a question, for wide and narrow pages."""
    title = {"text": question.text, "subtitle": f"core sets under {len(loads)} loads"}
    wide = theme.finish_spec(
        {"title": title, **question_spec(loads, question.measure, theme.WHOLE)}
    )
    narrow = remove_title(question_spec(loads, question.measure, theme.NARROW))
    about = ABOUT.format(champion=champion(loads))
    return Figure(f"question-{question.measure}", about, wide, narrow, live=False)


def answerable_questions(loads: list[Load]) -> list[Question]:
    """Return the questions that the results can answer."""
    if not distinguishing_loads(loads, "worst"):
        return []
    return [question for question in QUESTIONS if distinguishing_loads(loads, question.measure)]


def question_table(loads: list[Load], measure: str) -> str:
    """Return a table of every core set under every load. Sets that were not run are marked."""
    heads = "".join(f"<th>{escape(load.name)}</th>" for load in loads)
    body = ""
    for of in core_sets():
        cells = ""
        for load in loads:
            value = load.known_values(measure).get(of.name)
            best = value is not None and of.name in load.best_sets(measure)
            kind = ' class="best"' if best else ' class="none"' if value is None else ""
            shown = "not run" if value is None else load.format_value(of.name, measure)
            cells += f"<td{kind}>{shown}</td>"
        body += f'<tr><td title="{escape(of.about)}">{escape(of.name)}</td>{cells}</tr>\n'
    return (
        f'<details><summary>All core sets, {UNITS[measure]}</summary><div class="scroll">'
        f'<table class="numbers"><thead><tr><th></th>{heads}</tr></thead>'
        f"<tbody>{body}</tbody></table></div></details>"
    )


def question_section(loads: list[Load], question: Question, picture: str) -> str:
    """Return the section of a question: answer, picture and table."""
    of = question_figure(loads, question)
    answer = escape(question.answer(loads, question.measure))
    shown = figure_html(of, picture).replace("</h3>", f'</h3><p class="answer">{answer}</p>', 1)
    return shown.replace("</figure>", f"{question_table(loads, question.measure)}</figure>")


def sets_table(loads: list[Load]) -> str:
    """Return the table of the core sets that ran, with what each does."""
    ran = {name for load in loads for name in load.values}
    rows = "".join(
        f"<tr><td>{escape(of.name)}</td><td>{escape(of.about)}</td></tr>"
        for of in core_sets()
        if of.name in ran
    )
    return f'<table class="arms">{rows}</table>'
