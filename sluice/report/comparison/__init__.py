"""The comparison: sets of policies side by side over several experiments.

`rows` takes the figures to compare from each experiment's results, `matrix` draws them, `questions`
and `core` answer the page's questions, `contests` lists how often each contest's arm was the best,
and `write` makes the page and the pictures.
"""
