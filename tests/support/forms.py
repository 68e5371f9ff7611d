"""Read the forms of results back, and check them against their platforms' documentation."""

import csv
import importlib
import io
import json
import pkgutil
from pathlib import Path
from types import ModuleType
from xml.etree import ElementTree

from jsonschema import Draft202012Validator

from grade.engine import formats

HERE = Path(formats.__file__).parent
MACHINES = (".json", ".xml", ".csv")  # the endings of what programs read


def forms() -> list[ModuleType]:
    """Return all forms."""
    names = [found.name for found in pkgutil.iter_modules(formats.__path__)]
    return [importlib.import_module(f"{formats.__name__}.{name}") for name in names]


def schema_of(form: ModuleType) -> Path:
    """Return the file that has what is documented of a form, if there is one."""
    return HERE / f"{form.__name__.rpartition('.')[2]}.schema.json"


def element(node: ElementTree.Element) -> dict:
    """Return an XML element as JSON."""
    children = [element(child) for child in node]
    return {
        "tag": node.tag,
        "attributes": dict(node.attrib),
        "children": children,
        "text": (node.text or "").strip(),
    }


def document(path: Path) -> object:
    """Return a file's contents as JSON: XML's elements, CSV's rows, of a text the last line."""
    text = path.read_text()
    if path.suffix == ".xml":
        return element(ElementTree.fromstring(text))
    if path.suffix == ".csv":
        return list(csv.DictReader(io.StringIO(text)))
    return json.loads(text if path.suffix == ".json" else text.splitlines()[-1])


def complaints(form: ModuleType, path: Path) -> list[str]:
    """Return the parts of a file that are not as its form's documentation says."""
    schema = json.loads(schema_of(form).read_text())
    Draft202012Validator.check_schema(schema)
    found = Draft202012Validator(schema).iter_errors(document(path))
    return [f"{path.name}: {error.json_path}: {error.message}" for error in found]


def expect_all_forms(folder: Path) -> None:
    """Check that every form is in the folder, and as it is documented."""
    for form in forms():
        path = folder / form.FILE
        if path.exists() and schema_of(form).exists():
            assert not complaints(form, path)
    for name in ("result.json", "result.txt", "gradescope/results.json", "autolab.txt"):
        assert (folder / name).exists(), name
