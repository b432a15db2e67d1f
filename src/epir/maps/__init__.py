"""Map sets: where the pixel side of the pipeline hands over to the tensor side."""
