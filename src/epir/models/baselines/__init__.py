"""The methods that the paper compares with; `epir.models.registry` lists them."""
