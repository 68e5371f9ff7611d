"""The pages work in Firefox, too, and say the same there as in Chromium.

`firefox` and `browser` are the two programs, each with a page; value(text) evaluates JavaScript in
it. SLOWEST selects the slowest read in the theatre and returns what the page says of it. SWAPPED
chooses another update policy in the live page and returns the table of figures.
"""

from pathlib import Path

import pytest
from browser import Page
from firefox import Firefox
from test_pictures import make_scene

from sluice.host.paths import BUILD
from sluice.theatre.staging import theatre_page

LIVE = BUILD / "live" / "index.html"
SLOWEST = """(() => {
  at("worst").click();
  drawAll();
  return [at("chain").textContent, at("now").textContent, at("told").textContent].join("\\n");
})()"""
SWAPPED = """new Promise(done => {
  const figures = () => [...at("figures").rows].map(r => [...r.cells].map(c => c.textContent));
  whenRun = () => done(JSON.stringify(figures()));
  const update = at("choose-update");
  update.value = "aipu";
  update.onchange();
})"""


@pytest.fixture(scope="module")
def firefox(tmp_path_factory: pytest.TempPathFactory):
    """Yield a page of Firefox."""
    with Firefox(tmp_path_factory.mktemp("firefox")) as page:
        yield page


def test_the_theatre_says_what_it_says_in_chromium(
    firefox: Firefox, browser: Page, tmp_path: Path
) -> None:
    """The page has two made-up runs: a burst of 48 writes, and eight writes each half second."""
    html = tmp_path / "theatre.html"
    ripples = dict.fromkeys(range(1000, 4000, 500), 8)
    html.write_text(theatre_page([make_scene("PU", 1, {2000: 48}), make_scene("AIPU", 2, ripples)]))
    firefox.open(html)
    browser.open(html)
    here, there = firefox.value(SLOWEST), browser.value(SLOWEST)
    assert here == there and "slow read 1 of" in here
    assert firefox.errors == []


def test_the_live_page_makes_the_same_runs_as_in_chromium(firefox: Firefox, browser: Page) -> None:
    if not LIVE.exists():
        pytest.skip("make live has not been made")
    firefox.open(LIVE)
    browser.open(LIVE)
    here, there = firefox.value(SWAPPED), browser.value(SWAPPED)
    # The last cell of the head is that of the run that was made.
    assert here == there and '["","update pu","update aipu"]' in here
    assert firefox.errors == []
