"""Mutation testing: small random changes of the kernel's sources, which the tests must notice.

`make mutants` (tools/mutants/command.py) runs a campaign. change.py makes the changes,
equivalent.toml lists those that change nothing, with the reason, and campaign.py builds and tests
them one after another.
"""
