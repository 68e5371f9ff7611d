"""Put the modules, the loads and the scripts into a page that needs no other file."""

import json
from dataclasses import asdict
from html import escape
from pathlib import Path
from string import Template

from sluice.experiment.catalogue import load_catalogue
from sluice.host.paths import BUILT
from sluice.report.columns import UNPACKER, deflate_text
from sluice.report.head import SCRIPT, page_head
from sluice.system.trace import event_names
from sluice.theatre import staging
from sluice.wasm.loads import LOADS, Store, load_facts

HERE = Path(__file__).parent
WASM = BUILT / "live" / "wasm"
TITLE = "Sluice, live"
# The page's permissions: run scripts, compile the kernel, and run it in a worker.
MAY = (f"{SCRIPT} 'wasm-unsafe-eval' blob:", "worker-src blob:")


def page_parts() -> dict[str, object]:
    """Return all parts of the page: the modules, the kernel's lists, and the loads."""
    store, has = Store(), load_catalogue()
    loads = [load_facts(load, store, has.drives) for load in LOADS]
    modules = sorted((WASM / "bin").glob("*.wasm"))
    return {
        "kernel": deflate_text((WASM / "kernel.wasm").read_bytes()),
        "programs": {path.stem: deflate_text(path.read_bytes()) for path in modules},
        "tool": deflate_text((WASM / "drive_parts.wasm").read_bytes()),
        "pages": deflate_text(store.bytes()),
        "events": event_names(),
        "policies": has.policies,
        "abouts": has.abouts,
        "tunables": {name: asdict(row) for name, row in has.tunables.items()},
        "loads": loads,
    }


def live_page() -> str:
    """Return the page in which a reader runs the kernel, as HTML."""
    data = json.dumps(page_parts(), separators=(",", ":")).replace("</", "<\\/")
    theatre = Path(staging.__file__).parent
    return Template((HERE / "live.html").read_text(encoding="utf-8")).substitute(
        title=escape(TITLE),
        head=page_head(
            TITLE, staging.page_style((HERE / "live.css").read_text(encoding="utf-8")), *MAY
        ),
        stage=(theatre / "stage.html").read_text(encoding="utf-8"),
        parts=data,
        worker="".join(
            (HERE / f"{name}.js").read_text(encoding="utf-8")
            for name in ("machine", "scene", "worker")
        ),
        theatre=UNPACKER.read_text(encoding="utf-8")
        + (theatre / "theatre.js").read_text(encoding="utf-8"),
        script=(HERE / "live.js").read_text(encoding="utf-8"),
    )
