"""Mutation testing: small random changes of the kernel's sources that the tests must notice.

`make mutants` runs a campaign (__main__). change.py makes the changes, equivalent.toml lists
those that change nothing, with the reason, and campaign.py builds and tests one after another.
"""
