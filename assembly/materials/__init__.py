"""Materials and sections, and the values that are plausible for them."""
