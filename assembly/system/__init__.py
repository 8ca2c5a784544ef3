"""The frozen system: the named matrices of an instant and their null space."""
