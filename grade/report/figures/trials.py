"""Mean against standard deviation of the response times, one point a trial."""

from grade.measure import metrics
from grade.report import theme
from grade.report.study import Study, words

ORDER = 1
ABOUT = (
    "Each point is one trial. Towards the bottom left is better: shorter waiting to the left, "
    "more even waiting further down."
)
SHAPES = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down")
ROOM = 1.1  # above the highest point
FIELDS = ("mean_ms", "std_ms", "p99_ms", "max_ms")


def rows(study: Study) -> list[dict]:
    """The figures of each trial."""
    return [
        {
            "arm": result["arm"],
            "trial": words(result["variables"]),
            **{f: round(metrics.of(result, f"{study.job}.{f}"), 3) for f in FIELDS},
        }
        for result in study.results
    ]


def axis(field: str, title: str, **scale: object) -> dict:
    """A position that shows milliseconds."""
    return {"field": field, "type": "quantitative", "scale": scale, "title": title}


def specs(study: Study) -> dict[str, dict]:
    """The picture, if there is a job to show."""
    if not study.job:
        return {}
    shapes = {"domain": study.arms, "range": [SHAPES[i % 6] for i in range(len(study.arms))]}
    tips = [{"field": name, "type": "nominal"} for name in ("arm", "trial", *FIELDS)]
    values = rows(study)
    most_ms = max(row["std_ms"] for row in values)
    spec = {
        "title": theme.title(study, f"Response times of “{study.job}”: mean and spread"),
        "width": theme.WIDTH,
        "height": 380,
        "data": {"values": values},
        "params": [{"name": "grid", "select": "interval", "bind": "scales"}],
        "mark": {"type": "point", "size": 170, "strokeWidth": 2.5, "opacity": 0.85},
        "encoding": {
            "x": axis("mean_ms", "mean response, ms", zero=False, padding=16),
            "y": axis("std_ms", "standard deviation, ms", domain=[0, ROOM * most_ms], nice=False),
            "color": theme.arm_colour(study),
            "shape": {"field": "arm", "type": "nominal", "scale": shapes, "title": None},
            "tooltip": tips,
        },
    }
    return {"trials": spec}
