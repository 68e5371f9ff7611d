"""The comparison: sets of policies side by side over several experiments.

`rows` takes from each experiment's results what is compared, `matrix` draws it,
`contests` tells who was the best of those that were to be, `write` makes the page and
the pictures.
"""
