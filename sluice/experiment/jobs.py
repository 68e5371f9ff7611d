"""What programs of a run report: lines `PROGRAM {JSON}` among all that was printed.

Any program may print such lines, one for each process of each job it did. In the
object are

    job               the job's name: how metrics call it
    response_ns       {min, max, mean, std} of its response times, and with them
    histogram         [[low_ns, count], ...], the buckets of user/lib/histogram.h
    NAME, NAME_ns     any numbers and times, which are metrics too; of a summary as
                      that of response_ns, they are response_mean_ns and so on.
                      With reads and bs, bytes of each, there is read_bytes

Only `job` must be there. A name in a file's commands is written `name=JOB`.
"""

import json
import re
from collections import Counter

from sluice.experiment.result import BadResult
from sluice.system.devtext import BadText

LINE = re.compile(r'(\w+) (\{".*\})')
NAMED = re.compile(r"\bname=([\w-]+)")
TIME = "_ns"
EVERY = "*"  # in the place of a job's name: all jobs together


def lines(said: str) -> list[dict]:
    """The jobs' lines in what a run printed, each with its `program`."""
    found = []
    for program, text in filter(None, map(parts, said.splitlines())):
        try:
            row = json.loads(text)
        except json.JSONDecodeError as error:
            raise BadText(f"a line of {program} is not JSON: {error}") from None
        if not isinstance(row.get("job"), str):
            raise BadText(f'a line of {program} lacks the name of its "job": {text[:60]}')
        found.append({"program": program, **row})
    return found


def parts(line: str) -> tuple[str, str] | None:
    """The program and the object, if it is a job's line."""
    match = LINE.fullmatch(line)
    return match and match.groups()


def named(commands: str) -> list[str]:
    """The jobs that commands name."""
    return NAMED.findall(commands)


def of(result: dict, job: str) -> list[dict]:
    """The lines of a job's processes, or of all jobs. Raises BadResult if there are none."""
    rows = [row for row in result["jobs"] if job in (row["job"], EVERY)]
    if not rows:
        there = ", ".join(sorted({row["job"] for row in result["jobs"]})) or "none"
        raise BadResult(f'{result["arm"]}: no job "{job}" printed a line; there is {there}')
    return rows


def numbers(row: dict) -> dict[str, float]:
    """The numbers in a line by name, with those in its summaries of times."""
    found = {name: value for name, value in row.items() if type(value) in (int, float)}
    for name, part in row.items():
        if isinstance(part, dict) and name.endswith(TIME):
            base = name.removesuffix(TIME)
            found |= {f"{base}_{field}{TIME}": value for field, value in part.items()}
    if "reads" in found and "bs" in found:
        found["read_bytes"] = found["reads"] * found["bs"]
    return found


def number(result: dict, job: str, name: str) -> float:
    """A number that a job printed: its processes' longest time, or the sum of other numbers."""
    found = [(row["job"], numbers(row)) for row in of(result, job)]
    for one, row in found:
        if name not in row:
            there = ", ".join(row)
            said = f'job "{one}" printed no number "{name}"; it has {there}'
            raise BadResult(f"{result['arm']}: {said}")
    rows = [row for _, row in found]
    return (max if name.endswith(TIME) else sum)(row[name] for row in rows)


def response_counts(result: dict, job: str) -> Counter[int]:
    """The number of response times of all processes in each bucket, by its start in ns."""
    counts: Counter[int] = Counter()
    for row in of(result, job):
        if "histogram" not in row:
            raise BadResult(f'{result["arm"]}: job "{job}" printed no response times')
        counts.update(dict(row["histogram"]))
    return counts
