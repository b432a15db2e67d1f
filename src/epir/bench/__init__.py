"""Speed of this machine as ratios within one run: the only form in which speed is ever claimed."""
