"""Build the live page: the kernel and the programs for WebAssembly, in one page that opens offline.

The C files put the machine into a module (place.h says how), machine.js is its host, and scene.js
turns a run into what the theatre shows. `loads` and `assembled` put everything into one file.
"""
