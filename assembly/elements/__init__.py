"""Element families: each turns a mesh and its properties into the matrices of a body, one family a file."""
