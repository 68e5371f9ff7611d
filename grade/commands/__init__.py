"""What the goals of the Makefile start: one module a goal, `labs` for those about labs.

A command reads what was typed, calls the packages below, and prints what came. It imports
any of them, and none of them imports a command.
"""
