"""The formats: a file each (sluice/export/__init__.py)."""
