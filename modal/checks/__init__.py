"""Properties of frozen systems; frozen against unfrozen."""
