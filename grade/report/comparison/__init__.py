"""The comparison: sets of policies side by side over several experiments.

`rows` takes from each experiment's results what is compared, `matrix` draws it,
`write` makes the page and the pictures.
"""
