"""Test the tests with mutants: small random changes of the kernel's sources.

The tests must notice them. `sluice dev mutants` (tools/mutants/command.py) runs a campaign.
change.py makes the changes, equivalent.toml lists those that change nothing, with the reason, and
campaign.py builds and tests them one after another.
"""
