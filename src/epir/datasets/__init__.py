"""Corpora as released: annotation sheets and folders -> clips. No pixels, no torch."""
