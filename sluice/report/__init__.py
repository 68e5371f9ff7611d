"""Reports: one self-contained page, and every figure as PNG and SVG, made of results.

A report depends on results.jsonl and the experiment's file alone. Each file in
figures/ is one figure; a further figure is a further file there.
"""
