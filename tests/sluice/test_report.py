"""Reports: a pure function of results, whole, offline, and right.

SWEPT is the experiment of most tests: the arms PU (periodic update) and AIPU (each block is written
when it is old enough), with intervals (wait_s) of 1 and 2 s and two seeds, so eight runs. Fixtures:
`made` is the folder with SWEPT's results, report and pictures; `experiment` and `results` are
loaded from there; `shown` is the study, which is what figures are made of. A specification
(`specs`) is a picture in the language of Vega-Lite.
"""

import json
import re
import shutil
import struct
import subprocess
from dataclasses import replace
from html.parser import HTMLParser
from itertools import product
from pathlib import Path
from xml.etree import ElementTree

import pytest
import vl_convert
from page_specs import specs_text
from pixels import decoded
from small_experiment import reads_beside_writes
from typed import LINE

from sluice.experiment import metrics, result, summary
from sluice.experiment.catalogue import kernel_compiler, load_catalogue
from sluice.experiment.load import load, read_toml
from sluice.experiment.schema import COUNTED, Experiment
from sluice.experiment.selection import experiment_file, twin_variant
from sluice.host.clone import find_tool
from sluice.host.experiments import experiment_files
from sluice.host.limits import HANG_S
from sluice.host.paths import ROOT
from sluice.report import figures, lead, page, picture, study, theme, wording, write
from sluice.report.columns import unpack_column
from sluice.report.figures import lead as lead_figure
from sluice.report.figures import timeline
from sluice.report.png import shrink
from sluice.report.study import Study

pytestmark = pytest.mark.xdist_group("report")  # its runs are made once
SWEPT = """\
claim = "The longer the interval, the larger <the bursts>"
source = "this test"

[machine]
nbuf = 100
cluster_kb = 0

[machine.data]
drive = "rz58"
size = "16M"
files = {"/read" = "4M", "/write" = "2M"}

[policies]
sched = "fcfs"
write = "delayed"

[[arms]]
name = "PU"
policies = {update = "pu"}
tunables = {"pu.interval_ms" = "{wait_s} s"}

[[arms]]
name = "AIPU"
policies = {update = "aipu"}
tunables = {"aipu.age_ms" = "{wait_s} s"}

[workload]
commands = \"\"\"
iogen seed={seed} name=read rw=randread filename=/data/read nr=300 -- \\
    name=write rw=write filename=/data/write rate_iops=20 until=read
\"\"\"

[sweep]
wait_s = [1, 2]
seed = [1, 2]

[plot]
columns = ["read.p99_ms", "stat.disk.writes"]
histogram = "read"
distribution = "hist.bio.burst"

[[published]]
arm = "PU"
metric = "read.p99_ms"
value = "about 31"

[[expectations]]
says = "few writes"
metric = "stat.disk.writes"
arm = "AIPU"
op = "<"
value = 1000

[[expectations]]
says = "hardly any"
metric = "stat.disk.writes"
arm = "AIPU"
op = "<"
value = 1
"""
MODULE = '<script type="module">'
CLOCK = f'clock = "{COUNTED}"'
EMPTY_SVG = '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"></svg>'
PICTURES = {"lead", "tails", "histogram", "percentiles", "distribution", "sweep-wait_s", "timeline"}


def command(verb: str, *words: object) -> subprocess.CompletedProcess[str]:
    """Run a verb's work to its end."""
    line = [*LINE, *verb.split(), *map(str, words)]
    return subprocess.run(line, cwd=ROOT, capture_output=True, text=True, check=False)


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of SWEPT's file, where `make experiment` has put all it makes."""
    folder = tmp_path_factory.mktemp("report")
    (folder / "swept.toml").write_text(SWEPT)
    done = command("experiment run", folder / "swept.toml", "--folder", folder)
    assert done.returncode == 1, done.stdout + done.stderr  # one expectation is not met
    assert f"report: {folder}/swept/report.html" in done.stdout
    return folder


@pytest.fixture(scope="session")
def experiment(made: Path) -> Experiment:
    """Return the loaded experiment SWEPT."""
    return load(made / "swept.toml")


@pytest.fixture
def results(made: Path) -> list[dict]:
    """Return the eight results of SWEPT, which a test may change."""
    return result.read(made / "swept" / "results.jsonl")


@pytest.fixture
def shown(experiment: Experiment, results: list[dict]) -> Study:
    """Return the study of SWEPT."""
    return study.build_study(experiment, results)


def specs(shown: Study) -> dict[str, dict]:
    """Return the specification of each figure by the figure's name."""
    return {figure.name: figure.spec for figure in figures.all_figures(shown)}


class Page(HTMLParser):
    """A page: the files it loads, its links, its text, and its ids."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.loads, self.links, self.ids, self.words, self.policy = [], [], [], "", ""
        self.inside = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note the element's links, ids and loads."""
        values = dict(attrs)
        self.inside = tag
        self.ids += [values["id"]] if "id" in values else []
        if tag == "a":
            self.links.append(values.pop("href"))
        for name in ("src", "href", "srcset", "data"):
            if values.get(name) and not values[name].startswith("data:"):
                self.loads.append(name)
        if values.get("http-equiv") == "Content-Security-Policy":
            self.policy = values["content"]

    def handle_data(self, data: str) -> None:
        """Keep the words that a reader sees; a style must load nothing."""
        if self.inside not in ("script", "style"):
            self.words += data
        if self.inside == "style":
            assert "url(" not in data and "@import" not in data


# ---- the whole ----


def test_the_page_shows_claim_table_arms_and_verdicts(made: Path):
    """Of SWEPT's two expectations one is met; "hardly any" writes is not."""
    text = (made / "swept" / "report.html").read_text()
    page = Page(text)
    said = ["larger <the bursts>", "this test", "drive rz58", "seeds 1, 2", "sched fcfs"]
    said += ["update pu, pu.interval_ms swept", "update aipu, aipu.age_ms swept"]
    said += ["PU wait_s=1", "AIPU wait_s=2", "about 31", "few writes", "hardly any"]
    said += ["1 of 2 expectations were met."]
    for words in said:
        assert words in page.words, words
    assert text.count('class="met"') == text.count('class="unmet"') == 1
    assert set(page.ids) >= PICTURES


def test_page_and_terminal_say_of_which_clock_the_times_are(
    made: Path, experiment: Experiment, results: list[dict]
):
    """In counted time the times depend on the compiler, so the note names all compilers that the
    results have."""
    words = " ".join(Page((made / "swept" / "report.html").read_text()).words.split())
    assert "Times are virtual, of the charged clock: the same on every machine," in words
    assert "of the charged clock" in " ".join(summary.summary_text(experiment, results).split())
    counted = [
        one | {"config": one["config"] | {"clock": COUNTED}, "compiler": compiler}
        for one, compiler in zip(results, ["GCC 12.2.0", "clang 19.1.7"] * 4, strict=False)
    ]
    assert summary.clock_note(counted).endswith("(GCC 12.2.0 and clang 19.1.7)")
    assert summary.clock_note([{"config": counted[0]["config"]}]).endswith("(an unknown compiler)")


def test_a_result_in_counted_time_names_the_kernel_s_compiler(tmp_path: Path):
    """The name is that of the compiler on this host."""
    (tmp_path / "counted.toml").write_text(reads_beside_writes("slow", 3, machine=CLOCK))
    words = (tmp_path / "counted.toml", "--folder", tmp_path, "--no-report")
    assert command("experiment run", *words).stdout
    (one,) = result.read(tmp_path / "counted" / "results.jsonl")
    gcc = find_tool("prefix") + "gcc"
    version = subprocess.run([gcc, "-dumpfullversion"], capture_output=True, text=True, check=True)
    assert one["compiler"] == f"GCC {version.stdout.strip()}"


@pytest.mark.parametrize(
    ("text", "name"),
    [
        (b"GCC: (Debian 14.2.0-19) 14.2.0\0", "GCC 14.2.0"),
        (b"\0Debian clang version 19.1.7 (3+b1)\0", "clang 19.1.7"),
        (b"\x7fELF", "an unknown compiler"),
    ],
)
def test_a_kernel_s_file_names_its_compiler(tmp_path: Path, text: bytes, name: str):
    (tmp_path / name).write_bytes(text)
    assert kernel_compiler(tmp_path / name) == name


def test_the_page_has_the_commands_that_show_a_run_of_each_arm(made: Path, experiment: Experiment):
    """The theatre's two runs have the same variables and different arms."""
    said = Page((made / "swept" / "report.html").read_text()).words
    [[name, first, second]] = re.findall(
        r"sluice theatre (\S+) --run=(\d+) --second=(\d+)(?!\d| --animation)", said
    )
    assert name == str(made / "swept.toml")
    one, other = (experiment.runs[int(n) - 1] for n in (first, second))
    assert one.variables == other.variables
    assert {one.arm, other.arm} == {"PU", "AIPU"}
    assert f"sluice why {name} --run={first} --read=longest" in said
    assert f"sluice debug {name} --run={first} --at=read:longest" in said


@pytest.fixture(scope="module")
def mogul() -> Experiment:
    """Return an experiment that has sizes; no run of it is made here."""
    return load(experiment_file("mogul-4.1-fast"), "quick")


def remove_figures(experiment: Experiment) -> Study:
    """Return a study of the experiment's runs without results, for what needs only their names."""
    runs = [{"arm": run.arm, "variables": run.variables} for run in experiment.runs]
    return Study(replace(experiment, plot={"columns": []}, expectations=[], contest=None), runs)


def test_the_commands_have_the_size_of_the_experiment(mogul: Experiment):
    """The page's commands have --size=quick only if the results are of the quick size."""
    study = remove_figures(mogul)
    full = remove_figures(load(mogul.path))
    assert re.fullmatch(
        r"mogul-4.1-fast --size=quick --run=\d+ --second=\d+", page.run_arguments(study)
    )
    assert re.fullmatch(r"mogul-4.1-fast --run=\d+ --second=\d+", page.run_arguments(full))
    assert page.has_theatre(study)


def test_of_counted_runs_of_the_twin_the_commands_show_those_of_a_machine(mogul: Experiment):
    """The theatre always shows a machine's run. In counted time it has other times than the twin's
    run, so there is no theatre with the report."""
    counted = load(experiment_file("mogul-4.4"), "quick")
    twin = remove_figures(twin_variant(counted))
    assert page.run_arguments(twin) == page.run_arguments(remove_figures(counted))
    said = Page(page.commands_section(twin))
    assert "The twin made these runs." in said.words
    assert "sluice theatre mogul-4.4 --size=quick --run=" in said.words
    assert not said.links and not page.has_theatre(twin)
    assert page.has_theatre(remove_figures(twin_variant(mogul)))  # in charged time they are equal


def test_of_runs_with_a_policy_more_there_are_no_commands(mogul: Experiment):
    """The runs were made with --with=sstf, an option that `sluice theatre` lacks."""
    study = remove_figures(load(mogul.path, "quick", "sstf"))
    assert (
        page.example_runs(study)
        and page.commands_section(study) == ""
        and not page.has_theatre(study)
    )


def remove_reads(results: list[dict]) -> list[dict]:
    """Return these results changed to those of a load that only writes. One read, of the file
    system's own blocks, is left."""
    for row in results:
        disk = result.disk_series(row)
        disk["reads"] = [1] + [0] * (len(disk["reads"]) - 1)
        disk["writes"][0] = 1000
        disk["read_heat"] = [[0, 160, 1]]
        for job in row["jobs"]:
            job["reads"] = 0
    return results


def test_of_a_load_that_only_writes_no_slowest_read_is_offered(
    experiment: Experiment, results: list[dict]
):
    """The command `sluice why --read=longest` would find no read."""
    shown = study.build_study(experiment, results)
    assert "--read=longest" in page.commands_section(shown)
    silent = page.commands_section(study.build_study(experiment, remove_reads(results)))
    assert "longest" not in silent
    assert "This load only writes, so no read of it waits." in silent


def test_the_page_opens_the_theatre_or_says_how_to_make_it(made: Path):
    """The report links to the theatre's page, whose command is also in the report."""
    assert '<a href="theatre.html">Open in the theatre</a>' in (
        (made / "swept" / "report.html").read_text()
    )
    there = Page((made / "swept" / "theatre.html").read_text()).words
    said = re.search(r"sluice theatre \S+ --run=\d+ --second=\d+", there)
    assert said
    assert said[0] in Page((made / "swept" / "report.html").read_text()).words


def test_the_page_loads_nothing_and_may_load_nothing(made: Path):
    """No element names a file or an address, and the page's content security policy forbids all
    loading."""
    text = (made / "swept" / "report.html").read_text()
    page = Page(text)
    assert page.loads == []
    assert page.links == ["theatre.html"]
    allowed = dict(part.split(maxsplit=1) for part in page.policy.split("; "))
    assert allowed["default-src"] == "'none'"
    sources = {word for words in allowed.values() for word in words.split()}
    assert sources <= {"'none'", "'unsafe-inline'", "'unsafe-eval'", "data:", "blob:"}
    specs = specs_text(text)
    assert set(json.loads(specs)) == PICTURES
    assert "http" not in specs


def test_every_figure_is_there_as_picture_and_tells_what_it_is_of(made: Path):
    """Each picture, as PNG and as SVG, is at least 400 pixels wide and high and names the
    experiment, the drive and the seeds."""
    folder = made / "swept" / "figures"
    names = {f"{name}.{kind}" for name in PICTURES for kind in ("png", "svg")}
    assert {path.name for path in folder.iterdir()} == names
    for name in PICTURES:
        png = (folder / f"{name}.png").read_bytes()
        assert png.startswith(b"\x89PNG\r\n\x1a\n") and png.endswith(b"IEND\xaeB`\x82")
        assert min(struct.unpack(">II", png[16:24])) > 400
        svg = ElementTree.parse(folder / f"{name}.svg").getroot()
        assert svg.tag == "{http://www.w3.org/2000/svg}svg"
        words = " ".join(svg.itertext())
        notes = ["swept", "drive rz58", "seeds 1, 2"]
        for part in notes:
            assert part in words, (name, part)
        assert name != "timeline" or "wait_s = 1, seed = 1" in words


def test_the_same_results_give_the_same_bytes(made: Path, tmp_path: Path):
    """A report made again from the results in another folder is equal to the byte, and removes
    pictures of an earlier experiment."""
    (tmp_path / "swept").mkdir()
    (tmp_path / "swept" / "results.jsonl").write_bytes(
        (made / "swept" / "results.jsonl").read_bytes()
    )
    stale = tmp_path / "swept" / "figures" / "old.png"
    stale.parent.mkdir()
    stale.write_text("of an earlier experiment of this name")
    done = command("experiment report", made / "swept.toml", "--folder", tmp_path)
    assert done.returncode == 0, done.stderr
    for part in ("report.html", *(f"figures/{p.name}" for p in (made / "swept/figures").iterdir())):
        assert (tmp_path / "swept" / part).read_bytes() == (made / "swept" / part).read_bytes()
    assert not stale.exists()


def test_a_picture_is_drawn_without_what_answers_the_pointer_and_shows_the_same(shown: Study):
    """What reacts to the mouse is removed before drawing, which makes the timeline's text 10 %
    shorter at least. The pixels stay the same."""
    for figure in figures.all_figures(shown):
        still = picture.remove_pointer_parts(figure.spec)
        assert "tooltip" not in json.dumps(still), figure.name
        pngs = [
            vl_convert.svg_to_png(vl_convert.vegalite_to_svg(spec)) for spec in (figure.spec, still)
        ]
        assert pngs[0] == pngs[1], figure.name
        if figure.name == "timeline":
            assert len(json.dumps(still)) < len(json.dumps(figure.spec)) * 0.9
            assert "pointed" not in json.dumps(still)


def test_a_large_picture_has_the_same_pixels_in_fewer_bytes(shown: Study):
    """shrink() saves a fifth at least, and leaves a picture alone that is not in the form that it
    knows."""
    large = vl_convert.svg_to_png(picture.draw_svg(specs(shown)["lead"]), scale=0.5)
    small = shrink(large)
    assert len(small) < len(large) * 0.8
    assert (decoded(small) == decoded(large)).all()
    assert shrink(small) == small  # a picture that is small already stays as it is


# ---- the order of the page, and its words ----


def test_the_sentence_and_its_picture_come_before_every_table(made: Path):
    """`order` has the places in the page: the answer, the first picture, the first table, the
    rest."""
    text = (made / "swept" / "report.html").read_text()
    order = [text.index(f) for f in ('class="answer"', 'id="lead"', "<table", "<h2>More figures")]
    assert order == sorted(order)
    assert text.index("<h2>What was run") > text.index("<figcaption>", text.index('id="timeline"'))


def test_the_sentence_has_the_numbers_of_the_metric_on_which_most_rests(shown: Study):
    """The lead sentence is about the metric with the most expectations, at the setting where the
    arms differ most."""
    assert lead.lead_metric(shown) == "stat.disk.writes"
    writes = dict.fromkeys(product(("PU", "AIPU"), (1, 2)), 0.0)  # means of two trials
    for one in shown.results:
        writes[one["arm"], one["variables"]["wait_s"]] += one["counters"]["disk.writes"][0] / 2
    ratios = {}
    for wait_s in (1, 2):
        few, many = sorted((writes["PU", wait_s], writes["AIPU", wait_s]))
        ratios[wait_s] = many / few
    at = max(ratios, key=ratios.get)
    sentence = lead.lead_sentence(shown)
    assert sentence.startswith(f"Writes to the disk (at wait_s = {at}): ")
    for arm in ("PU", "AIPU"):
        said = wording.metric_words("stat.disk.writes").value(writes[arm, at])
        assert f"{said} with {arm}" in sentence


def test_a_file_may_say_which_metric_comes_first(shown: Study):
    plot = {**shown.experiment.plot, "lead": "read.p99_ms"}
    other = replace(shown, experiment=replace(shown.experiment, plot=plot))
    assert lead.lead_sentence(other).startswith("99th percentile of response of job read")
    assert specs(other)["lead"]["title"]["text"] == "99th percentile of response of job read"


@pytest.mark.parametrize("size", ["full", "quick"])
def test_mogul_s_report_begins_with_the_two_arms_of_its_claim(size: str):
    """The experiment has more arms; its lead sentence compares these two."""
    mogul = load(experiment_file("mogul-4.1-fast"), size)
    made = Study(mogul, [{"arm": arm} for arm in mogul.arms])
    assert lead.lead_metric(made) == "read.max_ms"
    assert lead.lead_pair(made, "read.max_ms") == ("delayed+PU", "delayed+AIPU")


def metrics_of_all() -> set[str]:
    """Return every metric that the experiments here show."""
    shown = [read_toml(path)[0] for path in experiment_files()]
    columns = {name for e in shown for name in e.get("plot", {}).get("columns", [])}
    return columns | {row["metric"] for e in shown for row in e.get("expectations", [])}


def test_every_metric_has_words():
    """No heading has the syntax of a metric's name, such as hist. or an underscore."""
    for name in metrics_of_all():
        heading = wording.metric_words(name).heading
        assert not re.search(r"hist\.|stat\.|job\.|\w_\w|\w\.[a-z]", heading), (name, heading)


def test_counters_have_the_units_that_the_kernel_has():
    """A unit in a heading is the kernel's own, or `times` or `requests`."""
    units = load_catalogue().counters
    asked = {part for name in metrics_of_all() for part in name.split(metrics.RATIO)}
    for name in asked:
        counter = name.removeprefix("stat.")
        if counter in units and not metrics.IN_UNIT.fullmatch(counter):
            assert wording.metric_words(name).unit or counter.startswith("cpu."), name
    for counter, (_, unit) in wording.COUNTERS.items():
        assert unit in ("", units[counter], "times", "requests"), counter
    assert wording.metric_words("stat.flash.written").unit == "pages"
    moved = wording.metric_words("stat.flash.moved / job.update.ios")
    assert moved.text == "pages moved / requests of job update"


def test_a_job_is_called_one():
    """A job that is called `update` is not taken for an update policy."""
    assert wording.metric_words("update.mean_ms").text == "mean response of job update"
    assert wording.metric_words("job.update.elapsed_s").text == "time that job update took"
    assert wording.metric_words("job.*.reads").text == "reads of all jobs"
    assert wording.metric_words("hist.disk1.queued.max").text == "longest queue of disk1"


def test_no_heading_is_the_raw_name_of_a_metric(made: Path):
    text = (made / "swept" / "report.html").read_text()
    heads = re.findall(r"<(?:th|h1|h2|h3)\b[^>]*>(.*?)</(?:th|h1|h2|h3)>", text)
    assert "99th percentile of response of job read<small>ms</small>" in heads
    for head in heads:
        assert not re.search(r"hist\.|stat\.|read\.p99", head), head


def test_wide_tables_and_figures_scroll_in_boxes_of_their_own(made: Path):
    """The page itself never scrolls sideways."""
    text = (made / "swept" / "report.html").read_text()
    for table in re.finditer(r"<table class=\"(numbers|arms)\">", text):
        assert text[: table.start()].endswith('<div class="scroll">')
    style = re.sub(r"\s+", " ", text[text.index("<style>") : text.index("</style>")])
    assert ".scroll, figure { overflow-x: auto; }" in style
    assert ".plot { overflow-x: auto; }" in style
    assert ".still > * { display: block; max-width: 100%;" in style
    assert ".numbers :is(th, td):first-child { position: sticky; left: 0;" in style


def test_the_first_pictures_are_drawn_for_a_narrow_page_too(shown: Study):
    """Only the pictures `lead` and `tails` have a narrow form, for telephones."""
    for figure in figures.all_figures(shown):
        assert (figure.narrow is not None) == (figure.name in ("lead", "tails")), figure.name
        if figure.narrow:
            assert picture.svg_size(picture.draw_svg(figure.narrow))[0] <= theme.NARROW + 10


def test_a_page_shows_its_pictures_without_scripts_and_their_ids_are_their_own(made: Path):
    """Each picture is in the page as an image or as SVG, before any script."""
    text = (made / "swept" / "report.html").read_text()
    body = text[: text.index("<script")]
    for name in PICTURES:
        assert re.search(rf'id="{name}" class="plot"><div class="still \w+"><(svg|img) ', body)
    ids = re.findall(r' id="([^"]+)"', body)
    assert len(ids) == len(set(ids))


def test_two_pictures_of_a_page_share_no_id():
    """The renderer gives both pictures the id clip0."""
    drawn = '<svg width="9" height="9"><clipPath id="clip0"/><g clip-path="url(#clip0)"/></svg>'
    one, other = (picture.inline_svg(drawn, name, "a title") for name in ("one", "other"))
    assert 'id="one-clip0"' in one and "url(#one-clip0)" in one
    assert 'id="other-clip0"' in other and "url(#other-clip0)" in other


def test_in_a_crowd_no_colour_stands_for_two_arms(shown: Study):
    """With 17 arms there are fewer colours than arms. Grey stands for all arms without their own;
    labels name each arm."""
    many = [f"arm {i}" for i in range(17)]
    results = [{**r, "arm": many[i]} for i in range(17) for r in shown.results if r["arm"] == "PU"]
    crowd = Study(replace(shown.experiment, arms=many, expectations=[]), results)
    own = [colour for colour in theme.colours_by_arm(crowd).values() if colour != theme.GREY]
    assert own and len(own) == len(set(own))
    few = theme.colours_by_arm(shown)
    assert len(set(few.values())) == len(few)
    found = specs(crowd)
    for name in ("lead", "tails", "percentiles", "timeline"):
        words = picture.draw_svg(found[name])
        assert all(f">{arm}<" in words for arm in many), name
        assert picture.svg_size(words)[0] < 1200, name
    curves = found["percentiles"]
    assert [*curves["datasets"]] == ["points"]
    assert not any("values" in json.dumps(panel["data"]) for panel in curves["concat"])


def test_names_of_arms_make_no_picture_wider_than_the_page(shown: Study):
    named = {"PU": "PU", "AIPU": "AIPU, delayed, clustered"}
    results = [{**r, "arm": named[r["arm"]]} for r in shown.results]
    found = specs(
        Study(replace(shown.experiment, arms=list(named.values()), expectations=[]), results)
    )
    for name in ("lead", "tails", "histogram"):
        assert picture.svg_size(picture.draw_svg(found[name]))[0] <= 1100, name


def test_who_writes_reports_hears_how_far_it_is(
    shown: Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """A report's writer gets a message for each figure. Here no figure is really drawn."""
    monkeypatch.setattr(picture, "draw_svg", lambda spec: EMPTY_SVG)
    notes: list[str] = []
    write.write_report(shown.experiment, shown.results, tmp_path, notes.append)
    assert notes == [f"figure {i} of {len(PICTURES)}" for i in range(1, len(PICTURES) + 1)]


# ---- the numbers in the figures ----


def test_the_histogram_has_every_response(shown: Study, results: list[dict]):
    """The counts of an arm's bars sum to its reads, and the last bar reaches beyond the longest
    read."""
    rows = [row for row in specs(shown)["histogram"]["data"]["values"] if "count" in row]
    for arm in ("PU", "AIPU"):
        found = sum(row["count"] for row in rows if row["arm"] == arm)
        assert found == sum(metrics.evaluate(r, "read.count") for r in results if r["arm"] == arm)
    assert max(row["to_ms"] for row in rows) > max(
        metrics.evaluate(r, "read.max_ms") for r in results
    )


def test_the_tails_are_the_metrics(shown: Study):
    """The longest read in the figure is the longest of all trials."""
    panels = specs(shown)["tails"]["concat"]
    rows = {(r["arm"], r["at"]): r for panel in panels for r in panel["data"]["values"]}
    for system in shown.systems:
        row = rows[system.arm, study.variable_words(system.setting)]
        longest = max(metrics.evaluate(trial, "read.max_ms") for trial in system.trials)
        assert row["max_ms"] == pytest.approx(longest, abs=0.001)
        assert row["p50_ms"] <= row["p99_ms"] <= row["max_ms"]


def test_the_histogram_marks_the_longest_response_of_each_arm(shown: Study):
    """Rows with a text are the marks."""
    rows = [row for row in specs(shown)["histogram"]["data"]["values"] if "text" in row]
    for arm in ("PU", "AIPU"):
        longest = [metrics.evaluate(r, "read.max_ms") for r in shown.arm_results(arm)]
        assert max(row["from_ms"] for row in rows if row["arm"] == arm) == pytest.approx(
            max(longest), abs=0.001
        )


def test_the_percentiles_are_the_metrics(shown: Study, results: list[dict]):
    """The figure's points for one run."""
    alone = replace(shown, results=results[:1])
    values = specs(alone)["percentiles"]["data"]["values"]
    # inverse: one response of so many is longer, such as 100 for the 99th percentile
    by_inverse = {row["inverse"]: row["ms"] for row in values}
    for percent, inverse in (("90", 10), ("99", 100)):
        expected = metrics.evaluate(results[0], f"read.p{percent}_ms")
        assert by_inverse[inverse] == pytest.approx(expected, rel=1e-3)
    assert max(by_inverse) <= 300  # 300 responses tell nothing of rarer ones


def test_the_distribution_is_that_of_all_trials(shown: Study, results: list[dict]):
    """The curve of bursts gives the percentage of bursts up to a size, and the curve of blocks the
    percentage of blocks in them."""
    panels = specs(shown)["distribution"]["concat"]
    assert len(panels) == 4
    [bursts, blocks] = panels[:2]
    assert [p["encoding"]["y"]["field"] for p in (bursts, blocks)] == ["number", "total"]
    rows = [row for row in bursts["data"]["values"] if row["arm"] == "PU"]
    trials = [r for r in results if r["arm"] == "PU" and r["variables"]["wait_s"] == 1]
    # The size of each burst, in blocks: a bucket has a lowest size and a count of bursts.
    sizes: list[int] = []
    for trial in trials:
        for low, _, n in metrics.series(trial, "hist.bio.burst").buckets:
            sizes += [low] * n
    assert rows[0]["number"] == 0 and rows[-1]["number"] == rows[-1]["total"] == 100
    for row in rows[1:]:
        smaller = [size for size in sizes if size <= row["value"]]
        assert row["number"] == pytest.approx(100 * len(smaller) / len(sizes), abs=0.01)
        assert row["total"] == pytest.approx(100 * sum(smaller) / sum(sizes), abs=0.01)


Rows = list[dict[str, int]]


def timeline_rows(shown: Study, point: int) -> dict[str, Rows]:
    """Return the rows of each table of the timeline at a point, as a page has them."""
    found = {}
    for table, points in timeline.packed_tables(shown).items():
        columns = {name: unpack_column(text) for name, text in points[point].items()}
        rows = zip(*columns.values(), strict=True)
        found[table] = [dict(zip(columns, row, strict=True)) for row in rows]
    return found


def evaluate_fields(shown: Study, table: str, rows: Rows) -> list[list[str]]:
    """Return what the expressions of a table give for each row, as the pictures' renderer prints
    it."""
    steps = timeline.Tables(shown).data(table, None)["transform"]
    words = " + ' ' + ".join(f"datum.{step['as']}" for step in steps)
    spec = {
        "data": {"values": [{**row, "row": i} for i, row in enumerate(rows)]},
        "transform": [*steps, {"calculate": f"'= ' + {words}", "as": "words"}],
        "mark": "text",
        "encoding": {
            "text": {"field": "words", "type": "nominal"},
            "y": {"field": "row", "type": "quantitative"},
        },
    }
    return [line.split() for line in re.findall(">= (.*?)<", vl_convert.vegalite_to_svg(spec))]


def test_the_time_line_has_every_bin_of_every_run(shown: Study):
    """The figure's rows are compared with the results: counts, places of the disk (sectors), and
    the cells of the heat map. A place n is 0 for none, and otherwise 1 + the distance from the
    lowest place in units. A row's `a` is the number of its arm."""
    tables = timeline.Tables(shown)
    for point, at in enumerate(shown.points):
        rows = timeline_rows(shown, point)
        for arm, name in enumerate(shown.arms):
            [one] = [r for r in shown.arm_results(name) if r["variables"] == at]
            disk = result.disk_series(one)
            mine = [row for row in rows["bins"] if row["a"] == arm]
            cells = [row for row in rows["heat"] if row["a"] == arm]
            assert [row["written"] for row in mine] == disk["writes"]
            assert [row["done"] for row in mine] == disk["reads"]
            assert [row["queue"] for row in mine] == disk["queue_max"]
            for field, sectors in (
                ("read_at", disk["read_sector"]),
                ("write_at", disk["write_sector"]),
            ):
                places = [row[field] for row in mine]
                assert [
                    tables.lowest + (n - 1) * tables.unit if n else None for n in places
                ] == sectors
            width = one["series"]["bin_ms"]
            assert [row["ms"] for row in mine] == [i * width for i in range(len(mine))]
            assert [
                [row["ms"] // width, tables.lows_us[row["bucket"]], row["cell"]] for row in cells
            ] == disk["read_heat"]


def test_what_the_time_line_draws_follows_from_its_columns(
    experiment: Experiment, results: list[dict]
):
    """One bin of 5 s has 7 writes, one read and a place of a read: sector 12345, which is 6.03 MiB.
    The other numbers are the bin's begin and end in s, writes and reads in a second, and no place
    of a write."""
    series, disk = results[0]["series"], result.disk_series(results[0])
    series["bin_ms"] = 5000
    disk["writes"][1], disk["reads"][1] = 7, 1
    disk["read_sector"][1], disk["write_sector"][1] = 12345, None
    disk["read_heat"] = [[1, 0, 2], [1, 1280, 1]]
    shown = study.build_study(experiment, results)
    rows = timeline_rows(shown, 0)
    [_, second_bin, *_] = evaluate_fields(shown, "bins", rows["bins"])
    assert second_bin == ["5", "10", "1.4", "0.2", "6.03", "null"]
    assert evaluate_fields(shown, "heat", rows["heat"])[:2] == [
        ["5", "10", "0.001", "0.001"],
        ["5", "10", "1.28", "1.536"],
    ]


def test_bins_of_which_events_were_lost_are_left_out(experiment: Experiment, results: list[dict]):
    """The first run's events of bins 0 and 1, which are its first 2000 ms, were lost."""
    results[0]["series"] |= {"from_bin": 2, "lost": 7}
    rows = timeline_rows(study.build_study(experiment, results), 0)
    of_first = [row for row in rows["bins"] if row["a"] == 0]
    assert len(of_first) == results[0]["series"]["bins"] - 2
    assert {row["ms"] >= 2000 for row in rows["heat"] if row["a"] == 0} == {True}


# A page's script runs in node, which has no window: these objects stand for its parts, and the
# timeline comes near the screen at once.
WINDOW = """{
const nothing = () => null;
class Part {
  children = []; childNodes = []; attributes = []; style = {}; dataset = {};
  classList = {add: nothing, remove: nothing, contains: () => false};
  constructor(id) { this.id = id; }
  get ownerDocument() { return document; }
  getRootNode() { return document; }
  appendChild(part) { return part; }
}
for (const name of ["append", "replaceChildren", "setAttribute", "addEventListener",
  "removeEventListener", "querySelector", "hasAttribute", "closest"])
  Part.prototype[name] = nothing;
class Observer {
  constructor(seen) { this.seen = seen; }
  observe(target) { if (target.id === "timeline") this.seen([{isIntersecting: true, target}]); }
  unobserve() {}
}
Object.assign(globalThis, {
  window: globalThis, addEventListener: nothing, removeEventListener: nothing,
  Element: Part, HTMLElement: Part, ShadowRoot: class {},
  IntersectionObserver: Observer, CSS: {escape: (text) => text},
  matchMedia: (asked) => ({matches: asked.includes("width"), addEventListener: nothing}),
  document: {
    head: new Part(), body: new Part(), createElement: () => new Part(),
    querySelector: () => new Part(), getElementById: (id) => new Part(id),
    addEventListener: nothing, removeEventListener: nothing, dispatchEvent: nothing,
  },
});
}"""
# Draw into no window: the pictures are taken as SVG text.
EMBED = """
const embedInPage = vegaEmbed;
globalThis.vegaEmbed = (place, spec, options) =>
  embedInPage(place, spec, {...options, renderer: "none", actions: false});
"""
# Print for each trial the page's picture and the one drawn from the whole specification.
DRAW_TRIALS = """
const {view} = await drawn.timeline, pictures = [];
for (const [trial, spec] of wholes.entries()) {
  if (trial) {
    const changed = new Promise((done) => view.addDataListener("heat", done));
    await view.signal("trial", trial).runAsync();
    await changed;
    await view.resize().runAsync();
  }
  const whole = (await vegaEmbed("", spec, {mode: "vega-lite", logLevel: 1})).view;
  await whole.signal("trial", trial).runAsync();
  pictures.push([await view.toSVG(), await whole.toSVG()]);
}
console.log(JSON.stringify(pictures));
"""


def page_script(path: Path) -> tuple[str, str]:
    """Return the script of a page: the library that draws, and the rest."""
    text = path.read_text()
    script = text[text.index(MODULE) + len(MODULE) : text.rindex("</script>")]
    library, begin, rest = script.partition("\nconst specs = ")
    return library, begin + rest


def test_the_page_s_script_draws_each_trial_from_the_packed_columns(
    made: Path, shown: Study, tmp_path: Path
):
    """Each picture equals the picture of a specification that has the trial's rows as text."""
    node = shutil.which("node")
    if not node:
        pytest.skip("there is no node, which runs the page's script")
    library, script = page_script(made / "swept" / "report.html")
    tables = timeline.Tables(shown)
    [figure] = [f for f in figures.all_figures(shown) if f.name == "timeline"]
    wholes = [
        {**figure.bare, "datasets": {name: tables.csv(name, at) for name in tables.shown}}
        for at in shown.points
    ]
    own = f"const wholes = {page.script_value(wholes)};"
    (tmp_path / "page.mjs").write_text(
        "\n".join([WINDOW, library, EMBED, script, own, DRAW_TRIALS])
    )
    ran = subprocess.run(
        [node, tmp_path / "page.mjs"], capture_output=True, text=True, check=True, timeout=HANG_S
    )
    assert ran.stderr == ""
    pictures = json.loads(re.sub(r"\b(clip|gradient_)\d+", r"\1", ran.stdout))
    assert len({whole for _, whole in pictures}) == len(shown.points) == 4
    assert all(drawn == whole for drawn, whole in pictures)


def axis_titles(spec: object) -> set[str]:
    """Return the titles of all axes of a specification."""
    if isinstance(spec, list):
        return set().union(*map(axis_titles, spec))
    if not isinstance(spec, dict):
        return set()
    own = spec.get("axis")
    title = {own["title"]} if isinstance(own, dict) and own.get("title") else set()
    return title.union(*map(axis_titles, spec.values()))


def test_the_time_line_of_a_load_that_only_writes_has_no_panel_of_reads(
    experiment: Experiment, results: list[dict]
):
    """That panel's axis is the only one missing."""
    read = "read response, ms"
    shown = specs(study.build_study(experiment, results))["timeline"]
    assert read in axis_titles(shown)
    silent = specs(study.build_study(experiment, remove_reads(results)))["timeline"]
    assert axis_titles(shown) - axis_titles(silent) == {read}
    assert "heat-0" not in json.dumps(silent)
    vl_convert.vegalite_to_vega(silent)


def test_the_axis_of_responses_has_values_even_if_all_are_alike(
    experiment: Experiment, results: list[dict]
):
    """All responses are 160 us long."""
    for row in results:
        result.disk_series(row)["read_heat"] = [[0, 160, 1]]
    alike = study.build_study(experiment, results)
    low, high = timeline.scale_domains(alike)["low"]
    assert low < 0.160 < high
    assert len(theme.log_axis(low, high)["values"]) >= 2


def test_the_time_line_says_which_dots_are_reads_and_which_writes(shown: Study):
    """A drive of flash chips has no head, and a dot is where a request was."""
    spec = specs(shown)["timeline"]
    assert "place, MiB" in axis_titles(spec)
    assert "head, MiB" not in axis_titles(spec)
    svg = picture.draw_svg(spec)
    for words in ("● last write", "● last read"):
        drawn = re.findall(f"<g ([^>]*)><text [^>]*>{words}<", svg)
        assert len(drawn) == len(shown.arms)
        assert not any("clip-path" in group for group in drawn), "they are above the panel"


def test_a_moment_without_a_read_has_no_dot_of_one(experiment: Experiment, results: list[dict]):
    """The only dot of an arm is that of its one write."""
    for row in results:
        disk = result.disk_series(row)
        disk["read_sector"] = [None] * len(disk["read_sector"])
        disk["write_sector"] = [4096] + [None] * (len(disk["write_sector"]) - 1)
    shown = study.build_study(experiment, results)
    svg = picture.draw_svg(specs(shown)["timeline"])
    # the colours of the circles with a radius of 1.5
    dots = re.findall('<path [^>]*d="M1.5,0A1.5,1.5[^>]*fill="(#\\w+)"', svg)
    assert dots == [theme.colours_by_arm(shown)[arm] for arm in shown.arms]


def test_a_label_at_a_bar_stays_within_the_frame(shown: Study):
    """The longest bar, a gap and the five letters of its label, each at most LETTER wide, fit into
    the picture."""
    found = [{"arm": arm, "v": 4.244, "text": "4.244"} for arm in shown.arms]
    said = wording.metric_words("stat.flash.moved / job.update.ios")
    spec = lead_figure.setting_bars(shown, found, [], said, theme.WHOLE)
    _, end = spec["encoding"]["x"]["scale"]["domain"]
    longest = spec["width"] * 4.244 / end
    dx = spec["layer"][-1]["mark"]["dx"]
    assert longest + dx + 5 * lead_figure.LETTER < spec["width"]


def test_the_sweep_shows_what_the_table_shows(shown: Study):
    """The points "all trials" are the table's means. The panel of writes is looked at."""
    spec = specs(shown)["sweep-wait_s"]
    [writes] = [p for p in spec["concat"] if p["title"]["text"] == ["writes to the disk, requests"]]
    rows = writes["data"]["values"]
    together = {(r["arm"], r["x"]): r["value"] for r in rows if r["trial"] == "all trials"}
    for system in shown.systems:
        expected = metrics.aggregate(system.trials, "stat.disk.writes")
        assert together[system.arm, system.setting["wait_s"]] == expected
    assert len(rows) == 4 + 8  # a mean for each arm and interval, and each run


def test_an_arm_has_the_same_colour_everywhere(experiment: Experiment, results: list[dict]):
    """A study with the results of one arm only gives it the colour that it has among all."""
    whole = theme.colours_by_arm(study.build_study(experiment, results))
    part = study.build_study(experiment, [r for r in results if r["arm"] == "AIPU"])
    assert theme.colours_by_arm(part)["AIPU"] == whole["AIPU"]
    for name, spec in specs(part).items():
        assert whole["AIPU"] in json.dumps(spec), name
        assert whole["PU"] not in json.dumps(spec), name


def test_what_there_is_nothing_for_is_left_out(experiment: Experiment, results: list[dict]):
    """Without columns, expectations, series and a swept variable there is no figure."""
    bare = replace(experiment, plot={"columns": []}, expectations=[])
    for row in results:
        row["series"]["disks"] = {}
        row["variables"] = {"wait_s": 1, "seed": row["variables"]["seed"]}
    assert specs(study.build_study(bare, results)) == {}


# ---- refusals ----


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda row: row.pop("series"), '3: result lacks "series"'),
        (lambda row: row.update(arm="PUA"), "result 3 (PUA, wait_s = 2, seed = 1) belongs to no"),
        (lambda row: row["variables"].update(seed=9), "seed = 9) belongs to no run"),
        (
            lambda row: row["jobs"].clear(),
            'swept: result 3: PU: no job "read" printed a line; there is none',
        ),
    ],
)
def test_results_that_are_not_whole_are_refused_and_nothing_is_written(
    made: Path, results: list[dict], tmp_path: Path, change, said
):
    """change: makes the third result unusable; said: words of the refusal."""
    change(results[2])
    (tmp_path / "swept").mkdir()
    path = tmp_path / "swept" / "results.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in results))
    done = command("experiment report", made / "swept.toml", "--folder", tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr
    assert [p.name for p in path.parent.iterdir()] == ["results.jsonl"]


def test_without_results_there_is_no_report(made: Path, tmp_path: Path):
    """The file of results is missing, or empty."""
    done = command("experiment report", made / "swept.toml", "--folder", tmp_path)
    assert done.returncode == 2
    assert "there are no results" in done.stderr
    (tmp_path / "swept").mkdir()
    (tmp_path / "swept" / "results.jsonl").write_text("")
    done = command("experiment report", made / "swept.toml", "--folder", tmp_path)
    assert done.returncode == 2
    assert "swept: no run of it has a result" in done.stderr


def test_the_script_that_draws_is_bundled_once_in_a_tree(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The library is made by vl_convert once, kept in the folder build, and its end tag is
    escaped."""
    bundled = ["<script></script>"]
    monkeypatch.setattr(page, "LIBRARY", tmp_path / "build" / "drawing.js")
    monkeypatch.setattr(vl_convert, "javascript_bundle", bundled.pop)
    first, second = (page.drawing_script.__wrapped__() for _ in range(2))
    assert first == second == "<script><\\/script>"
    assert [path.name for path in (tmp_path / "build").iterdir()] == ["drawing.js"]
