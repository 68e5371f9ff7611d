"""The commands about labs: hand out, grade, class, teach, compare."""
