"""Puts the modules, the loads and the scripts into a page that needs nothing else."""

import json
from dataclasses import asdict
from html import escape
from pathlib import Path
from string import Template

from sluice.experiment.catalogue import known
from sluice.host.paths import BUILT, TREE
from sluice.report.head import SCRIPT, head
from sluice.system.trace import event_names
from sluice.theatre import staging
from sluice.theatre.columns import deflated
from sluice.wasm.loads import LOADS, Store, facts

HERE = Path(__file__).parent
WASM = BUILT / "live" / "wasm"
COSTS = TREE / "sluice" / "twin" / "costs.txt"
TITLE = "Sluice, live"
# What the page may do: run scripts, compile the kernel, and run it beside itself.
MAY = (f"{SCRIPT} 'wasm-unsafe-eval' blob:", "worker-src blob:")


def parts() -> dict[str, object]:
    """All that the page has: the modules, what the kernel knows, and the loads."""
    store, has = Store(), known()
    loads = [facts(load, store, has.drives) for load in LOADS]
    modules = sorted((WASM / "bin").glob("*.wasm"))
    return {
        "kernel": deflated((WASM / "kernel.wasm").read_bytes()),
        "programs": {path.stem: deflated(path.read_bytes()) for path in modules},
        "tool": deflated((WASM / "drive_parts.wasm").read_bytes()),
        "costs": COSTS.read_text(encoding="utf-8"),
        "pages": deflated(store.bytes()),
        "events": event_names(),
        "policies": has.policies,
        "abouts": has.abouts,
        "tunables": {name: asdict(row) for name, row in has.tunables.items()},
        "loads": loads,
    }


def assembled() -> str:
    """The page."""
    data = json.dumps(parts(), separators=(",", ":")).replace("</", "<\\/")
    theatre = Path(staging.__file__).parent
    return Template((HERE / "live.html").read_text(encoding="utf-8")).substitute(
        title=escape(TITLE),
        head=head(TITLE, staging.style((HERE / "live.css").read_text(encoding="utf-8")), *MAY),
        stage=(theatre / "stage.html").read_text(encoding="utf-8"),
        parts=data,
        worker="".join(
            (HERE / f"{name}.js").read_text(encoding="utf-8")
            for name in ("machine", "scene", "worker")
        ),
        theatre=(theatre / "theatre.js").read_text(encoding="utf-8"),
        script=(HERE / "live.js").read_text(encoding="utf-8"),
    )
