"""A page to explore: tracks and maps whose points show the mode shape moving on the machine."""
