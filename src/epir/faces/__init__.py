"""Frames -> the face: found once per clip and cut out of all its frames with one square crop."""
