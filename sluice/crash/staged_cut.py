"""`sluice crash theatre`: writes the page of one cut. It needs the packages of reports."""

from pathlib import Path

from sluice.crash.campaign_run import CampaignRequest
from sluice.crash.laboratory import Laboratory
from sluice.crash.one_cut import use_story
from sluice.crash.story import Story, list_commands
from sluice.crash.theatre import cut_page
from sluice.experiment.files import write_atomically
from sluice.host.paths import BUILD

PAGE = BUILD / "crash" / "theatre.html"  # of the cut that was shown last


def stage_cut(
    request: CampaignRequest,
    name: str,
    number: int | None,
    fault: str = "",
    out: Path | None = None,
) -> bool:
    """Write the page of a workload's simplest failure, or of its cut with this number. Returns
    true. out: the file, if not the usual one."""

    def stage(story: Story, laboratory: Laboratory, options: str) -> bool:
        """Write the page of the cut."""
        path = out or PAGE
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, cut_page(story, laboratory, list_commands(story, options)))
        print(f"theatre: {path}")
        return True

    return use_story(request, name, number, fault, stage)
