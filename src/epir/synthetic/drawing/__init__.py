"""Synthetic faces: what a person looks like, drawn at any size."""
