"""The Sphinx extension of the book: how its pages name parts of the tree and stored results.

    {file}`kernel/cache/bio.c`        a link to a file or folder of the tree
    {c}`bread`                        a link to the file that defines a function
    {result}`from=..., arm=..., ...`  a number of the stored results
    {results}, {chart}                a table and a chart of them
    {measured} EXPERIMENT ...         shown only once the results of all of these are stored
    {frontier} LOAD                   what a power cut loses beside what reads wait, of each policy
    {findings} TEXT                   what the experiments whose source contains TEXT found
    {comparison} PAPER                a paper's findings in its order, with our figures and causes
    {published} PAPER                 its tables and figures, cell by cell, with ours
    {tally}                           how many findings of each paper the stored results confirm
    {contest}                         where one arm is at least as good as all others, and where not
    {drawing} NAME.svg                a drawing of pages/, in the page's own colours
    {typed}                           commands for Sluice's shell, with what it answered
    (a word of the glossary)          its first use on a page leads to the glossary
    {lab}, {hints}, {example}         a lab's handout, hints and worked example

A page that names what is not there is an error with the page's name and line.
"""

from sphinx.application import Sphinx

from book.ext.sphinx import (
    comparison,
    drawing,
    findings,
    frontier,
    labs,
    measured,
    navigation,
    places,
    published,
    search,
    typed,
    words,
)

PARTS = (
    *(comparison, drawing, findings, frontier, labs, measured, navigation, places, published),
    *(search, typed, words),
)


def setup(app: Sphinx) -> dict[str, object]:
    """Register all parts of the extension with Sphinx; called by Sphinx."""
    for part in PARTS:
        part.setup(app)
    return {"parallel_read_safe": False, "parallel_write_safe": True}
