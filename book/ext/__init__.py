"""Build the book about Sluice (`make book`) as a site that opens offline, in build/book/.

- pages/ holds what people wrote: chapters in Markdown (MyST), drawings as SVG.
- inventory.py reads tables out of the tree (policies, experiments, goals, ...), and reference.py
  makes pages of them, so that a new file has its entry without a list being edited.
- stored.py looks numbers up in results: no page has a figure that was typed in.
- sessions.py types the commands that pages show into a machine in virtual time and keeps the
  answers.
- sphinx/ is the Sphinx extension by which pages name files, functions, figures and results.
"""
