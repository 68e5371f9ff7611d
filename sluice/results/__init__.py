"""The last full results of experiments, in short, and the figures of documents that quote them.

`make results E=NAME` writes NAME.json. A test compares the figures in documents with it.
"""
