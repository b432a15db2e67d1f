"""Protocols, folds, runs and scores that cannot leak."""
