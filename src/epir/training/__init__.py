"""Labelled maps -> a trained model."""
