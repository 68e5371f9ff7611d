"""The beginning of the comparison: questions, each with an answer from the results, a picture, and
a table of all core sets.

The *champion* is the core set that has the shortest longest wait under the most loads. The other
questions are about what this costs. Sets that trials do not tell apart share the least value.
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from html import escape

from sluice.report import theme
from sluice.report.comparison.core import Load, core
from sluice.report.comparison.rows import MEASURES
from sluice.report.figures import Figure, without_title
from sluice.report.page import place

UNITS = {measure.name: measure.unit for measure in MEASURES}
ROW = 54  # height of a load in a picture
LETTER = 6.6
MARGIN = 24
ABOUT = (
    "A row is a load, a point a core set: how many times the least value it has. The least is "
    "named above its point, the most below; {champion} is blue. The axis is logarithmic."
)


def least(load: Load, measure: str) -> tuple[str, float]:
    """The set with the smallest value."""
    return next(iter(load.of(measure).items()))


def most(load: Load, measure: str) -> tuple[str, float]:
    return list(load.of(measure).items())[-1]


def having(loads: list[Load], measure: str) -> list[Load]:
    """The loads in which the measure distinguishes the sets: values differ, and are above 0."""
    return [
        load
        for load in loads
        if load.of(measure) and 0 < least(load, measure)[1] < most(load, measure)[1]
    ]


def winners(load: Load, measure: str) -> str:
    """The set with the smallest value, or all that share it."""
    return " and ".join(load.least(measure))


def champion(loads: list[Load]) -> str:
    """The set with the shortest longest wait under the most loads."""
    wins = Counter(name for load in having(loads, "worst") for name in load.least("worst"))
    return wins.most_common(1)[0][0]


def ratios(loads: list[Load], measure: str, name: str) -> list[tuple[float, Load]]:
    """How many times the smallest value a set has, under each load where it ran, the smallest
    first."""
    found = [
        (load.of(measure)[name] / least(load, measure)[1], load)
        for load in having(loads, measure)
        if name in load.of(measure)
    ]
    return sorted(found, key=lambda row: row[0])


def times(value: float) -> str:
    """A ratio in words."""
    return f"{value:.0f}" if value >= 9.95 else f"{value:.2f}".rstrip("0").rstrip(".")


def span(values: list[float]) -> str:
    """The smallest to the largest of ratios, in words."""
    low, high = times(min(values)), times(max(values))
    return low if low == high else f"{low} to {high}"


def without_interval(loads: list[Load]) -> str:
    """A sentence about loads whose trials are too few to tell sets apart; "" if there are none."""
    few = sum(not load.sure() for load in loads)
    return f" Under {few} of the loads there are too few trials for an interval." if few else ""


def who_waits_least(loads: list[Load]) -> str:
    """How many loads each winner has, and how far the last set is behind."""
    shown = having(loads, "worst")
    wins: dict[str, list[str]] = {}
    for load in shown:
        wins.setdefault(winners(load, "worst"), []).append(load.name)
    order = sorted(wins.items(), key=lambda row: -len(row[1]))
    first, *rest = order
    told = [f"{first[0]} under {len(first[1])} of {len(shown)} loads"]
    told += [f"{name} under {', '.join(where)}" for name, where in rest]
    spread = span([most(load, "worst")[1] / least(load, "worst")[1] for load in shown])
    answer = f"{'; '.join(told)}. The last set's longest wait is {spread} times the shortest."
    return answer + without_interval(shown)


def cost(does: str, how: str) -> Callable[[list[Load], str], str]:
    """The answer to the question what the champion costs in a measure: it `does` so many times as
    `how` as another set."""

    def told(loads: list[Load], measure: str) -> str:
        best = champion(loads)
        found = ratios(loads, measure, best)
        if not found:
            return f"No load in which {best} ran tells that."
        worst, load = found[-1]
        by = least(load, measure)[0]
        own = f"{load.shown(best, measure)} {UNITS[measure]}"
        compared = f"{load.shown(by, measure)} {UNITS[measure]} of {by}"
        wins = sum(best in here.least(measure) for _, here in found)
        multiples = span([ratio for ratio, _ in found])
        if worst == 1:
            return f"Nothing: {best} has the least of all sets under each of {len(found)} loads."
        itself = f" (it has the least itself under {wins} of {len(found)} loads)" if wins else ""
        said = f"{best} {does} {multiples} times as {how} as the set with the least{itself}."
        return f"{said} The difference is largest under {load.name}: {own}, beside {compared}."

    return told


def little_apart(loads: list[Load], measure: str) -> str:
    """How far the sets are apart in the mean, and under how many loads that is less than in the
    longest wait."""

    def apart(load: Load, of: str) -> float:
        return most(load, of)[1] / least(load, of)[1]

    shown = [load for load in having(loads, measure) if load in having(loads, "worst")]
    less = sum(apart(load, measure) < apart(load, "worst") for load in shown)
    means, waits = (span([apart(load, of) for load in shown]) for of in (measure, "worst"))
    return (
        f"Less than the longest wait does under {less} of {len(shown)} loads: the largest mean is "
        f"{means} times the smallest, the longest of the longest waits {waits} times the shortest."
    )


@dataclass(frozen=True)
class Question:
    """A question about a measure, and how it is answered."""

    text: str
    measure: str
    answer: Callable[[list[Load], str], str]


QUESTIONS = (
    Question(
        "Which set has the shortest longest wait under each load?",
        "worst",
        lambda loads, _: who_waits_least(loads),
    ),
    Question("What does that cost in writes?", "writes", cost("writes", "much")),
    Question(
        "How old does a block become before it is written, and is lost in a crash?",
        "oldest",
        cost("lets a block become", "old"),
    ),
    Question("Does the mean response tell the sets apart?", "mean", little_apart),
    Question("What does it cost in CPU time?", "cpu", cost("takes", "much")),
)


def points(loads: list[Load], measure: str) -> list[dict]:
    """A point for each set and load, with texts at the smallest and the largest."""
    found = []
    for load in having(loads, measure):
        values = load.of(measure)
        low = least(load, measure)[1]
        ends = {least(load, measure)[0]: "low", most(load, measure)[0]: "high"}
        for name, value in values.items():
            text = f"{name} {load.shown(name, measure)} {UNITS[measure]}"
            end = ends.get(name, "")
            row = {"load": load.name, "set": name, "times": round(value / low, 4)}
            found.append({**row, "text": text if end else "", "end": end})
    return found


def spec(loads: list[Load], measure: str, width: int) -> dict:
    """The picture of a question."""
    values, best = points(loads, measure), champion(loads)
    names = list(dict.fromkeys(row["load"] for row in values))
    label = min(max(map(len, names)) * LETTER + 12, 0.34 * width)
    far = max(row["times"] for row in values)
    scale = {"type": "log", "domain": [1, max(far, 1.1)], "nice": False, "padding": 10}
    axis = {**theme.log_axis(1, far), "title": "times the least"}
    rule = f"datum.set == {best!r}"
    colour = {"condition": {"test": rule, "value": theme.ARM_COLOURS[0]}, "value": theme.GREY}
    y = {"field": "load", "type": "nominal", "sort": names, "title": None}
    y["axis"] = {"labelLimit": label, "grid": True, "ticks": False, "domain": False}
    tips = [{"field": f, "type": "nominal"} for f in ("load", "set", "times")]
    dot = {"type": "point", "filled": True, "size": 110, "opacity": 0.85}
    layers = [{"mark": dot, "encoding": {"color": colour, "tooltip": tips}}]
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


def figure(loads: list[Load], question: Question) -> Figure:
    """The picture of a question, for wide and narrow pages."""
    title = {"text": question.text, "subtitle": f"core sets under {len(loads)} loads"}
    wide = theme.finished({"title": title, **spec(loads, question.measure, theme.WHOLE)})
    narrow = without_title(spec(loads, question.measure, theme.NARROW))
    about = ABOUT.format(champion=champion(loads))
    return Figure(f"question-{question.measure}", about, wide, narrow, live=False)


def asked(loads: list[Load]) -> list[Question]:
    """The questions that the results can answer."""
    if not having(loads, "worst"):
        return []
    return [question for question in QUESTIONS if having(loads, question.measure)]


def table(loads: list[Load], measure: str) -> str:
    """Every core set under every load. What was not run is marked."""
    heads = "".join(f"<th>{escape(load.name)}</th>" for load in loads)
    body = ""
    for of in core():
        cells = ""
        for load in loads:
            value = load.of(measure).get(of.name)
            best = value is not None and of.name in load.least(measure)
            kind = ' class="best"' if best else ' class="none"' if value is None else ""
            cells += (
                f"<td{kind}>{'not run' if value is None else load.shown(of.name, measure)}</td>"
            )
        body += f'<tr><td title="{escape(of.about)}">{escape(of.name)}</td>{cells}</tr>\n'
    return (
        f'<details><summary>All core sets, {UNITS[measure]}</summary><div class="scroll">'
        f'<table class="numbers"><thead><tr><th></th>{heads}</tr></thead>'
        f"<tbody>{body}</tbody></table></div></details>"
    )


def section(loads: list[Load], question: Question, picture: str) -> str:
    """A question, its answer, its picture and its table."""
    of = figure(loads, question)
    answer = escape(question.answer(loads, question.measure))
    shown = place(of, picture).replace("</h3>", f'</h3><p class="answer">{answer}</p>', 1)
    return shown.replace("</figure>", f"{table(loads, question.measure)}</figure>")


def sets_table(loads: list[Load]) -> str:
    """The core sets that ran, and what each does."""
    ran = {name for load in loads for name in load.values}
    rows = "".join(
        f"<tr><td>{escape(of.name)}</td><td>{escape(of.about)}</td></tr>"
        for of in core()
        if of.name in ran
    )
    return f'<table class="arms">{rows}</table>'
