"""Hand out labs and score them.

The labs are data, a folder each under grade/labs. This package reads them and contains no lab's
name. `make skeleton` cuts a lab's holes into the reference solution, which is the tree itself
(grade/code/source, tree), and makes it a git repository (repository). `make grade` takes the files
that a student may edit from a submission (submission), compiles them separately and links them with
the staff's (tree, compiler, sandbox), checks each step (sourcefile, objectfile, linked_kernel),
boots the kernel (workbench), runs the lab's tests (grading), and writes one record (record) in many
forms (formats), with pictures of what the machines did (pictures, drawing). `sluice lab class` does
this for many submissions (classroom). `sluice lab bundle` packs everything that Gradescope needs to
grade submissions (bundle).
"""
