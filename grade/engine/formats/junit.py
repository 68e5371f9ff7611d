"""JUnit XML, for CI systems: a suite, a case each test.

A test without all its points is a failure; a submission that was not graded, an error.
"""

import re
from xml.etree import ElementTree

from grade.engine.formats import shown
from grade.engine.record import Record

FILE = "junit.xml"
NOT_XML = re.compile("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def add(parent: ElementTree.Element, tag: str, text: str = "", **words: str) -> ElementTree.Element:
    """Add a child element, without characters that XML cannot hold."""
    clean = {key: NOT_XML.sub("?", value) for key, value in words.items()}
    child = ElementTree.SubElement(parent, tag, clean)
    child.text = NOT_XML.sub("?", text) or None
    return child


def text(record: Record) -> str:
    failed = sum(not test.passed for test in record.tests)
    graded = record.status == "graded"
    root = ElementTree.Element("testsuites")
    counts = {"tests": str(len(record.tests) or 1), "failures": str(failed)}
    counts["errors"] = "0" if graded else "1"
    suite = add(root, "testsuite", name=record.lab, **counts)
    for test in record.tests:
        case = add(suite, "testcase", classname=f"{record.lab}.{test.group}", name=test.name)
        if not test.passed:
            message = f"{test.points:g} of {test.most:g} points"
            add(case, "failure", shown(test), message=message, type="points")
    if not graded:
        case = add(suite, "testcase", classname=record.lab, name="build")
        add(case, "error", record.message, message=record.status, type=record.status)
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=True) + "\n"
