"""The commands that the goals of the Makefile start: a module for each, `labs` for all about labs.

A command reads what was typed, calls the packages below, and prints the outcome. It may import any
of them, and none of them imports a command.
"""
