"""Encode stored results in a compact form: the same figures in a fifth of the bytes.

A file of results/ is JSON with a line for each arm, verdict and setting of a contest:

    experiment, commit, kernel, same, trials    as in store.py
    at, columns     the names of a row's values: the variables, then the metrics; "model ..." and
                    "published ..." are figures of the model and of the source
    rows            an arm's name, and a list of values for each setting of the line. A value with
                    an interval is [value, low, high]
    verdicts        key, word, why. The key identifies an expectation of the experiment's file. In
                    place of the key, a verdict of a contest has "* " and its sentence, in which "#"
                    stands for the metric and "%" for the setting, or "*" alone if its sentence is
                    that of the line above. Any other verdict has [says, paper] in place of the key
    contest         the values of a setting, then a list for each metric, in the order of CONTEST.
                    Empty values at the end are left out, and so is an empty contest. A metric is
                    given by its index among the columns, or by its name if it is no column
    sampled         the names of the variables of a sample
    samples         for each arm, in the order of the rows: the values of a run's variables, and the
                    run's mark, a hash of everything that it measured (store.py)

A verdict's sentence (why) is shortened. SHORT lists abbreviations of frequent words. "=" or ":" at
the beginning stands for the arm and the metric of the expectation, and "@" for the arm that they
are compared with. The number of trials is left out. `decode` is the inverse of `encode`.
"""

import json
import re
from collections.abc import Iterator, Sequence
from hashlib import sha256
from itertools import groupby
from typing import Any, Literal

from sluice.experiment.records import Unchecked, Variables
from sluice.experiment.result import BadResult
from sluice.experiment.verdict import AS_SAID, AS_THE_PAPER, NO_DIFFERENCE, setting_words
from sluice.results.stored_records import StoredMatch, StoredResults, StoredRow, StoredVerdict

Expectation = Unchecked  # a table of [[expectations]], as the experiment's file has it

Other = Literal["model", "published"]
OTHERS: tuple[Other, ...] = ("model", "published")  # kinds of figures that were not measured
STAR = "*"  # marks the sentence of a contest's verdict
MatchKey = Literal["metric", "won", "best", "behind", "behind_ends", "against"]
CONTEST: tuple[MatchKey, ...] = ("metric", "won", "best", "behind", "behind_ends", "against")
EMPTY = ["-", None, "", None, None, ""]  # values of CONTEST that may be left out; metric has none
SHORT = [
    ("; expected each to be less than the one before it", "; each <"),
    ("; expected each to be more than the one before it", "; each >"),
    (f"; {NO_DIFFERENCE}: ", "; open: "),
    ("; expected less than ", "; < "),
    ("; expected more than ", "; > "),
    ("; expected at least ", "; >= "),
    ("; expected at most ", "; <= "),
    ("; expected ", "; = "),
    ("; difference ", "; d "),
    (" (the mean of ", " (mean/"),
    (" (the largest of ", " (max/"),
    (" (the smallest of ", " (min/"),
    (" (the sum of ", " (sum/"),
    (" (the worst of ", " (worst/"),
    (" runs, 95 %: ", "~"),
    (" (95 %: ", " (~"),
]
ENDS = re.compile(r"(\d) to (?=-?\d)")  # of an interval
WORDS = {"said": AS_SAID, "paper": AS_THE_PAPER, "open": NO_DIFFERENCE}


def abbreviated_words(trials: int) -> list[tuple[str, str]]:
    """Return pairs of frequent words in verdicts' sentences and their abbreviations.

    trials: how many trials an arm has.
    """
    return [
        (f" (the mean of {trials} runs, 95 %: ", " (mean "),
        (f" (the largest of {trials} runs, ", " (max "),
        *SHORT,
    ]


def key(row: Expectation) -> str:
    """Return the key of an expectation, a hash of those of its fields that a stored verdict leaves
    out."""
    parts = [str(row.get(name) or "") for name in ("says", "paper", "arm", "metric", "than")]
    return sha256("\n".join(parts).encode()).hexdigest()[:6]


def heads(row: Expectation) -> list[tuple[str, str]]:
    """Return the beginnings of sentences about an expectation, each with the sign that stands for
    it."""
    head = f"{row.get('arm')}: {row.get('metric')} "
    return [("=", f"{head}is "), (":", head)] if row else []


def shorten(why: str, row: Expectation, trials: int) -> str:
    """Return a verdict's sentence in short, or "!" and the sentence if `lengthen` could not restore
    it. row: the expectation, or {}. trials: of an arm in a setting."""
    short = why
    for sign, head in heads(row):
        if short.startswith(head):
            short = sign + short.removeprefix(head)
    if row.get("than"):
        short = short.replace(f"{row['than']}'s", "@")
    for long, sign in abbreviated_words(trials):
        short = short.replace(long, sign)
    short = ENDS.sub(r"\1..", short)
    return short if lengthen(short, row, trials) == why else f"!{why}"


def lengthen(short: str, row: Expectation, trials: int) -> str:
    """Return the sentence that `shorten` made short."""
    if short.startswith("!"):
        return short[1:]
    why = short.replace("..", " to ")
    for long, sign in reversed(abbreviated_words(trials)):
        why = why.replace(sign, long)
    if row.get("than"):
        why = why.replace("@", f"{row['than']}'s")
    for sign, head in heads(row):
        if why.startswith(sign):
            return head + why.removeprefix(sign)
    return why


def other_figures(row: StoredRow, kind: str) -> dict[str, float]:
    """Return the figures of the model or of the source, by metric. kind: one of OTHERS."""
    return row["model"] if kind == "model" else row["published"]


def cell(row: StoredRow, column: str) -> float | list[float] | None:
    """Return a figure of a row, with its interval if there is one; None if the row lacks it."""
    kind, _, metric = column.partition(" ")
    if kind in OTHERS:
        return other_figures(row, kind).get(metric)
    value, ends = row["measured"].get(column), row["interval"].get(column)
    return [value, *ends] if ends and value is not None else value


def columns_of(rows: list[StoredRow]) -> list[str]:
    """Return the columns for which at least one row has a figure."""
    found: dict[str, None] = {}
    for row in rows:
        found |= dict.fromkeys(row["measured"])
        for kind in OTHERS:
            found |= dict.fromkeys(f"{kind} {metric}" for metric in row[kind])
    return list(found)


def row_of(
    arm: str, at: list[str], columns: list[str], trials: int, values: list[Any]
) -> StoredRow:
    """Return a stored row in the full form (store.py) from its values in the compact form."""
    row: StoredRow = {
        "arm": arm,
        "at": dict(zip(at, values, strict=False)),
        "trials": trials,
        "measured": {},
        "interval": {},
        "model": {},
        "published": {},
    }
    for column, value in zip(columns, values[len(at) :], strict=True):
        kind, _, metric = column.partition(" ")
        if value is None:
            continue
        if kind in OTHERS:
            other_figures(row, kind)[metric] = value
        elif isinstance(value, list):
            row["measured"][column], *row["interval"][column] = value
        else:
            row["measured"][column] = value
    return row


def abbreviations(match: StoredMatch | None) -> list[tuple[str, str]]:
    """Return the words that a contest's verdict repeats from its match, each with its sign."""
    if not match:
        return []
    setting = [(setting_words(match["at"]), "%")] if match["at"] else []
    return [*setting, (f" {match['metric']} ", " # ")]


def abbreviate(says: str, match: StoredMatch | None) -> str:
    """Return the sentence of a contest's verdict in short, or "!" and the sentence if `spell_out`
    could not restore it."""
    short = says
    for long, sign in abbreviations(match):
        short = short.replace(long, sign)
    return short if spell_out(short, match) == says else f"!{says}"


def spell_out(short: str, match: StoredMatch | None) -> str:
    """Return the sentence that `abbreviate` made short."""
    if short.startswith("!"):
        return short[1:]
    says = short
    for long, sign in abbreviations(match):
        says = says.replace(sign, long)
    return says


def encode_verdict(
    one: StoredVerdict, expected: dict[str, Expectation], match: StoredMatch | None, trials: int
) -> list[str | list[str]]:
    """Return the line of a verdict. match: the match of a contest's verdict, or None."""
    if one["contest"]:
        return [f"{STAR} {abbreviate(one['says'], match)}", *word_and_why(one, {}, trials)]
    names = {(row["says"], row.get("paper", "")): row for row in expected.values()}
    row = names.get((one["says"], one["paper"]), {})
    name = key(row) if row else [one["says"], *filter(None, [one["paper"]])]
    return [name, *word_and_why(one, row, trials)]


def word_and_why(one: StoredVerdict, row: Expectation, trials: int) -> list[str]:
    """Return the word and the sentence of a verdict in short. row: the expectation, or {}."""
    word = next((sign for sign, word in WORDS.items() if word == one["word"]), one["word"])
    return [word, shorten(one["why"], row, trials)]


def encode_verdicts(
    kept: StoredResults, expected: dict[str, Expectation], trials: int
) -> Iterator[list[str | list[str]]]:
    """Yield the lines of all verdicts.

    The sentence of a contest's verdict is STAR alone if it is that of the line above.
    """
    matches = iter(kept["contest"])
    above: str | list[str] = ""
    for one in kept["verdicts"]:
        match = next(matches) if one["contest"] else None
        name, *others = encode_verdict(one, expected, match, trials)
        yield [STAR if match and name == above else name, *others]
        above = name


def spell_word(word: str, row: Expectation) -> str:
    """Return the word of a stored verdict. A check's is never "as the paper"."""
    whole = WORDS.get(word, word)
    return AS_SAID if row.get("check") and whole == AS_THE_PAPER else whole


def decode_verdict(
    line: list[Any], expected: dict[str, Expectation], match: StoredMatch | None, trials: int
) -> StoredVerdict:
    """Return a stored verdict in the full form (store.py).

    If the experiment's file no longer has the expectation, the verdict says so. match: the match of
    a contest's verdict.
    """
    name, word, why = line
    row: Expectation = {}
    if match:
        says, paper = spell_out(name.removeprefix(f"{STAR} "), match), ""
    elif isinstance(name, list):
        says, paper = name[0], (*name, "")[1]
    else:
        row = expected.get(name, {"says": f"(no longer expected: {name})", "arm": "", "metric": ""})
        says, paper = row["says"], row.get("paper", "")
    read: StoredVerdict = {
        "says": says,
        "word": spell_word(word, row),
        "why": lengthen(why, row, trials),
        "paper": paper,
        "contest": match is not None,
    }
    if row.get("finding"):
        read["finding"] = row["finding"]
    if row.get("check"):
        read["check"] = row["check"]
    return read


def decode_verdicts(
    lines: list[list[Any]],
    expected: dict[str, Expectation],
    contest: list[StoredMatch],
    trials: int,
) -> Iterator[StoredVerdict]:
    """Yield the stored verdicts of all lines."""
    matches = iter(contest)
    above = ""
    for name, *others in lines:
        of_contest = isinstance(name, str) and name.startswith(STAR)
        above = above if name == STAR else name
        yield decode_verdict(
            [above, *others], expected, next(matches) if of_contest else None, trials
        )


def encode_match(match: StoredMatch, columns: list[str]) -> list[Any]:
    """Return the values of a match in the order of CONTEST, without empty values at the end.

    columns: the names of the rows' columns.
    """
    values: list[Any] = [match[name] for name in CONTEST]
    if match["metric"] in columns:
        values[0] = columns.index(match["metric"])
    while values[-1] == EMPTY[len(values) - 1]:
        values.pop()
    return values


def decode_match(at: Variables, line: list[Any], columns: list[str]) -> StoredMatch:
    """Return the stored row of a match in a setting, from its values in the order of CONTEST."""
    metric, won, best, behind, ends, against = line + EMPTY[len(line) :]
    return {
        "at": at,
        "metric": columns[metric] if isinstance(metric, int) else metric,
        "won": won,
        "best": best,
        "behind": behind,
        "behind_ends": ends,
        "against": against,
    }


def line(value: object) -> str:
    """Return JSON without spaces."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def block(name: str, rows: Sequence[object]) -> str:
    """Return a list as JSON, a line for each of its rows."""
    return f'"{name}":[' + ",".join("\n" + line(row) for row in rows) + "]"


def arms_of(rows: list[StoredRow]) -> list[str]:
    """Return the arms of rows, each once, in their order."""
    return list(dict.fromkeys(row["arm"] for row in rows))


def encode(kept: StoredResults, expectations: list[Expectation]) -> str:
    """Return the text of a file of results/. Raises BadResult if the rows do not form a table."""
    expect_tables(kept)
    rows = kept["rows"]
    at, columns, trials = list(rows[0]["at"]), columns_of(rows), rows[0]["trials"]
    about: dict[str, object] = {
        "experiment": kept["experiment"],
        "commit": kept["commit"],
        "kernel": kept["kernel"],
    }
    about |= {"same": kept["same"]} if "same" in kept else {}
    about |= {"trials": trials, "at": at, "columns": columns}
    expected = {key(row): row for row in expectations}
    verdicts = [*encode_verdicts(kept, expected, trials)]
    contest = [
        [list(setting.values()), *(encode_match(match, columns) for match in matches)]
        for setting, matches in groupby(kept["contest"], key=lambda match: match["at"])
    ]
    samples = [[*row["variables"].values(), row["mark"]] for row in kept["samples"]]
    sampled = list(kept["samples"][0]["variables"])
    parts = [
        line(about)[:-1],  # without the brace that closes it
        block("rows", row_lines(rows, at, columns)),
        block("verdicts", verdicts),
        *([block("contest", contest)] if contest else []),
        f'"sampled":{line(sampled)}',
        f'"samples":{line(samples)}' + "}\n",
    ]
    return ",\n".join(parts)


def expect_tables(kept: StoredResults) -> None:
    """Raise BadResult unless all rows have the same columns, all samples, too, and there is one
    sample for each arm of the rows, in their order."""
    rows, samples = kept["rows"], kept["samples"]
    if len({(tuple(row["at"]), row["trials"]) for row in rows}) > 1:
        raise BadResult(f"{kept['experiment']}: its rows have other variables or numbers of trials")
    if len({tuple(sample["variables"]) for sample in samples}) > 1:
        raise BadResult(f"{kept['experiment']}: its samples have other variables")
    if [sample["arm"] for sample in samples] != arms_of(rows):
        raise BadResult(f"{kept['experiment']}: its samples are not of the arms of its rows")


def row_lines(rows: list[StoredRow], at: list[str], columns: list[str]) -> list[list[Any]]:
    """Return the lines of `rows`. A line has an arm's settings that differ in the last variable
    only. at: the names of the variables."""
    lines: list[list[Any]] = []
    for arm, of_arm in groupby(rows, key=lambda row: row["arm"]):
        values = [[*row["at"].values(), *(cell(row, c) for c in columns)] for row in of_arm]
        all_but_last = max(len(at) - 1, 0)
        for _, of_line in groupby(values, key=lambda row: row[:all_but_last]):
            lines.append([arm, *of_line])
    return lines


def decode(text: str, expectations: list[Expectation]) -> StoredResults:
    """Return the stored results in a file (store.py).

    Raises BadResult for a file of the previous form, whose samples had names.
    """
    found = json.loads(text)
    if isinstance(found["samples"], dict):
        name = found["experiment"]
        raise BadResult(f"{name}: stored in an older form: sluice results store {name}")
    at, columns, trials = (found.pop(name) for name in ("at", "columns", "trials"))
    expected = {key(row): row for row in expectations}
    contest = [
        decode_match(dict(zip(at, values, strict=True)), match, columns)
        for values, *here in found.get("contest", [])
        for match in here
    ]
    rows = [
        row_of(arm, at, columns, trials, values) for arm, *here in found["rows"] for values in here
    ]
    kept: StoredResults = {
        "experiment": found["experiment"],
        "commit": found["commit"],
        "kernel": found["kernel"],
        "rows": rows,
        "verdicts": [*decode_verdicts(found["verdicts"], expected, contest, trials)],
        "contest": contest,
        "samples": [
            {"arm": arm, "variables": dict(zip(found["sampled"], at, strict=True)), "mark": mark}
            for arm, (*at, mark) in zip(arms_of(rows), found["samples"], strict=True)
        ],
    }
    if "same" in found:
        kept["same"] = found["same"]
    return kept
