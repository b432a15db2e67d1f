"""The methods that the paper compares with, and the register of every model by name."""
