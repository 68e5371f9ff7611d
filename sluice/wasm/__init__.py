"""The twin in a page: the kernel and the programs for WebAssembly, in one page that opens offline.

The C files put the machine into a module (place.h says how), machine.js is its host, and scene.js
makes of a run what the theatre shows. `loads` and `assembled` put it all into one file.
"""
