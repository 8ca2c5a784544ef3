"""Following modes over a parameter or time."""
