"""What a run writes: output folders and tables."""
