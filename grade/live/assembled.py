"""Puts the modules, the loads and the scripts into a page that needs nothing else."""

import base64
import json
import zlib
from dataclasses import asdict
from html import escape
from pathlib import Path
from string import Template

from grade.host.paths import BUILT, TREE
from grade.live.loads import LOADS, Store, facts
from grade.machine.trace import event_names
from grade.measure.known import known
from grade.report import page
from grade.theatre import staging

HERE = Path(__file__).parent
WASM = BUILT / "live" / "wasm"
COSTS = TREE / "grade" / "twin" / "costs.txt"
TITLE = "Sluice, live"
WORKER = ("machine", "scene", "worker")  # its scripts, in this order


def deflated(data: bytes) -> str:
    """Bytes as text, which inflated() of theatre.js takes back."""
    return base64.b64encode(zlib.compress(data, 9)).decode()


def parts() -> dict[str, object]:
    """All that the page has: the modules, what the kernel knows, and the loads."""
    store, has = Store(), known()
    loads = [facts(load, store, has.drives) for load in LOADS]
    modules = sorted((WASM / "bin").glob("*.wasm"))
    return {
        "kernel": deflated((WASM / "kernel.wasm").read_bytes()),
        "programs": {path.stem: deflated(path.read_bytes()) for path in modules},
        "tool": deflated((WASM / "drive_parts.wasm").read_bytes()),
        "costs": COSTS.read_text(),
        "pages": deflated(store.bytes()),
        "events": event_names(),
        "policies": has.policies,
        "tunables": {name: asdict(row) for name, row in has.tunables.items()},
        "loads": loads,
    }


def assembled() -> str:
    """The page."""
    data = json.dumps(parts(), separators=(",", ":")).replace("</", "<\\/")
    theatre = Path(staging.__file__).parent
    return Template((HERE / "live.html").read_text()).substitute(
        title=escape(TITLE),
        style=page.STYLE.read_text()
        + (theatre / "theatre.css").read_text()
        + (HERE / "live.css").read_text(),
        colours=staging.colours(staging.LIGHT),
        dark=staging.colours(staging.DARK),
        stage=(theatre / "stage.html").read_text(),
        parts=data,
        worker="".join(
            (HERE / f"{name}.js").read_text() for name in ("machine", "scene", "worker")
        ),
        theatre=(theatre / "theatre.js").read_text(),
        script=(HERE / "live.js").read_text(),
    )
