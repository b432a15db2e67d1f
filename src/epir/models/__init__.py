"""The EPIR model, its settings and presets, and its folder on disk."""
