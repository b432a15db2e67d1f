"""The coder's desk: from recordings to a coded corpus."""
