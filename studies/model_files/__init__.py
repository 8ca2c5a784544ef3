"""Model files: from TOML to a model that can be frozen."""
