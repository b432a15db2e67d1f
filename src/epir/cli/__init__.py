"""The command `epir`: one small file per verb."""
