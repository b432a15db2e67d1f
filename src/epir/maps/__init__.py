"""Map sets: the joint between pixels and tensors."""
