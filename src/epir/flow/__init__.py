"""Two faces -> optical flow -> a map of u, v and strain; corpora -> map sets."""
