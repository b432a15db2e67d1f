"""Benchmarks: speed as ratios within one run, and the accuracy of flow, spotting and weights."""
