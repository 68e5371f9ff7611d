"""The theatre: one page, which opens offline, that shows one run or two as they went.

`scene` takes from a run's trace what is shown, as columns of numbers; `packing` leaves out what
follows from the rest; `columns` packs the numbers; and `staging` puts them, with theatre.html,
theatre.css and theatre.js, into one file.
"""
