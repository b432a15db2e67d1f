"""The web page and its REST API: a server that stores nothing, and worker processes that run the model."""
