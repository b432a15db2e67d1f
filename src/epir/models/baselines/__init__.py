"""The methods that the paper compares itself with; `epir.models.registry` lists them."""
