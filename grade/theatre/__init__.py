"""The theatre: one page, which opens offline, that shows one run or two as they went.

`scene` takes from a run's trace what is shown, as columns of numbers; `columns` packs these; and
`staging` puts them, with theatre.html, theatre.css and theatre.js, into one file.
"""
