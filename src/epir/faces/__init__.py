"""Frames -> the face: found once per clip, one square crop for all its frames."""
