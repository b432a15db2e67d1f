"""The web page and its REST interface: a server that keeps nothing, and a child process that does the work."""
