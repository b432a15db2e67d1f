"""The MEGC protocol: spotted intervals in a folder, their scores, tables and submission files."""
