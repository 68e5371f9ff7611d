"""The formats of traces, a module for each.

A module has:

ABOUT      what the format is, in a line
SOURCE     where it is described
looks_like(name, head)   does a file of this name, which begins with these bytes, look like it?
                         A text does if its first request can be read (reads_as)
read(path, stream, left) tables (common.py) of the file's requests, in its order; what is left out
                         is added to `left` (stream.py); raises BadTraceFile with the line or the
                         byte that is wrong
SEVERAL    True if a file may have several disks: then a request's place is that of units.py; may be
           left out
TIMELESS   True if its requests have no times; may be left out
UNIT       what --time-unit has to be if only this tells the format from others; may be left out
LAST_RESORT  True if it is taken only for what looks like no other format; may be left out
bind(word, path, head)   the format for this file, with the options that --columns and --time-unit
           give (format_words.py, bound.py); only if it takes such options
"""
