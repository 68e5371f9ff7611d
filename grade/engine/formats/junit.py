"""Write JUnit XML, for CI systems: one suite, with a case for each test.

A test without all its points is a failure; a submission that was not graded is an error.
"""

import re
from xml.etree import ElementTree

from grade.engine.formats import describe_for_student
from grade.engine.record import Record

FILE = "junit.xml"
NOT_XML = re.compile("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def add_element(
    parent: ElementTree.Element, tag: str, text: str = "", **words: str
) -> ElementTree.Element:
    """Add a child element, without characters that XML cannot hold, and return it."""
    clean = {key: NOT_XML.sub("?", value) for key, value in words.items()}
    child = ElementTree.SubElement(parent, tag, clean)
    child.text = NOT_XML.sub("?", text) or None
    return child


def text(record: Record) -> str:
    """Return the suite as XML."""
    failed = sum(not test.has_all_points for test in record.tests)
    graded = record.status == "graded"
    root = ElementTree.Element("testsuites")
    counts = {"tests": str(len(record.tests) or 1), "failures": str(failed)}
    counts["errors"] = "0" if graded else "1"
    suite = add_element(root, "testsuite", name=record.lab, **counts)
    for test in record.tests:
        case = add_element(
            suite, "testcase", classname=f"{record.lab}.{test.group}", name=test.name
        )
        if not test.has_all_points:
            message = f"{test.points:g} of {test.most:g} points"
            add_element(case, "failure", describe_for_student(test), message=message, type="points")
    if not graded:
        case = add_element(suite, "testcase", classname=record.lab, name="build")
        add_element(case, "error", record.message, message=record.status, type=record.status)
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=True) + "\n"
