"""Scoring: labs handed out and marked.

The labs themselves are data, a folder each under grade/labs; this package is the
machinery that reads them, and knows none by name. `make skeleton` cuts the holes of a
lab out of the reference solution, which is the tree itself (grade/code/source, tree). `make grade`
takes the files a student may edit from a submission (submission), compiles them apart and
links them with the staff's (tree, compiler, sandbox), checked at each step (sourcefile,
objectfile, linked), boots what comes out (workbench), asks the lab's tests (grading), and
writes one record (record) in many forms (formats), with pictures of what the machines did
(pictures, drawing). `make class` does so for many (classroom); `make bundle` packs all that
Gradescope needs to do it there (bundle).
"""
