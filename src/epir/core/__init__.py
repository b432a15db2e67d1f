"""Shared by all packages: errors, records, settings, seeds, files, processes, progress."""
