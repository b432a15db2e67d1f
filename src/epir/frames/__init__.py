"""Folders of pictures and video files -> frames."""
