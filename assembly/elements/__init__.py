"""Element families: each turns a mesh and its properties into a body's matrices, one family a file."""
