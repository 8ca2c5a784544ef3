"""Elastic and rigid bodies, and the functions that build them."""
