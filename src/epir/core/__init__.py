"""What all packages share: errors, records, settings, seeds, files, processes, progress."""
