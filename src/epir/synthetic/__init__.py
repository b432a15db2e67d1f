"""Synthetic faces that move as real ones do: a corpus that needs no licence."""
