"""Reads the reports of a run's programs: lines `PROGRAM {JSON}` in their output.

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

from sluice.experiment.records import JobLine, RunFigures
from sluice.experiment.result import BadResult
from sluice.system.devtext import BadText

LINE = re.compile(r'(\w+) (\{".*\})')
NAMED = re.compile(r"\bname=([\w-]+)")
TIME = "_ns"
EVERY = "*"  # in the place of a job's name: all jobs together


def parse_job_lines(said: str) -> list[JobLine]:
    """Return the job lines in a run's output, each as a dict with its `program`. Raises BadText for
    a wrong one."""
    found: list[JobLine] = []
    for program, text in filter(None, map(split_job_line, said.splitlines())):
        try:
            row: JobLine = json.loads(text)
        except json.JSONDecodeError as error:
            raise BadText(f"a line of {program} is not JSON: {error}") from None
        if not isinstance(row.get("job"), str):
            raise BadText(f'a line of {program} lacks the name of its "job": {text[:60]}')
        found.append({"program": program, **row})
    return found


def split_job_line(line: str) -> tuple[str, str] | None:
    """Return the program and the JSON text of a job's line, or None for another line."""
    match = LINE.fullmatch(line)
    return (match[1], match[2]) if match else None


def job_names(commands: str) -> list[str]:
    """Return the names of the jobs in a file's commands."""
    return NAMED.findall(commands)


def job_lines(result: RunFigures, job: str) -> list[JobLine]:
    """Return the lines of a job's processes, or those of all jobs. Raises BadResult if there are
    none."""
    rows = [row for row in result["jobs"] if job in (row["job"], EVERY)]
    if not rows:
        there = ", ".join(sorted({row["job"] for row in result["jobs"]})) or "none"
        raise BadResult(f'{result["arm"]}: no job "{job}" printed a line; there is {there}')
    return rows


def numbers_by_name(row: JobLine) -> dict[str, float]:
    """Return the numbers in a job's line by name, with those in its summaries of times."""
    found = {
        name: value
        for name, value in row.items()
        if isinstance(value, int | float) and not isinstance(value, bool)
    }
    for name, part in row.items():
        if isinstance(part, dict) and name.endswith(TIME):
            base = name.removesuffix(TIME)
            found |= {f"{base}_{field}{TIME}": value for field, value in part.items()}
    if "reads" in found and "bs" in found:
        found["read_bytes"] = found["reads"] * found["bs"]
    return found


def job_number(result: RunFigures, job: str, name: str) -> float:
    """Return a number that a job printed: of a time the longest of its processes, of other numbers
    the sum. Raises BadResult."""
    found = [(row["job"], numbers_by_name(row)) for row in job_lines(result, job)]
    for one, row in found:
        if name not in row:
            there = ", ".join(row)
            said = f'job "{one}" printed no number "{name}"; it has {there}'
            raise BadResult(f"{result['arm']}: {said}")
    rows = [row for _, row in found]
    return (max if name.endswith(TIME) else sum)(row[name] for row in rows)


def response_counts(result: RunFigures, job: str) -> Counter[int]:
    """Return the number of response times of all processes in each bucket, by the bucket's start in
    ns."""
    counts: Counter[int] = Counter()
    for row in job_lines(result, job):
        if "histogram" not in row:
            raise BadResult(f'{result["arm"]}: job "{job}" printed no response times')
        counts.update(dict(row["histogram"]))
    return counts
