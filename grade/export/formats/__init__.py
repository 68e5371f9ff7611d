"""The formats: a file each (grade/export/__init__.py)."""
