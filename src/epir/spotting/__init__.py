"""Frames -> the movements of a face that are short enough to be micro-expressions."""
