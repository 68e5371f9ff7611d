"""Stored results: a short form of each experiment's last full results, which documents quote.

`sluice results store NAME` writes NAME.json. A test compares the figures in documents with it.
"""
