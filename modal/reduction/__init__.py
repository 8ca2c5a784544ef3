"""Certified reduced bases of families of frozen systems."""
