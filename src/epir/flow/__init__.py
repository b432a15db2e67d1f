"""Two faces -> optical flow -> a map of u, v and strain."""
