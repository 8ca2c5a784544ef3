"""Element families: each turns a mesh and its properties into matrices, one family a file."""
