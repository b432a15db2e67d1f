"""What every folder speaks: errors, records, settings, seeds, files, progress."""
