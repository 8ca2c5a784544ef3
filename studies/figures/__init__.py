"""Figures: each function takes a dataset and an `ax`, returns artists, and computes nothing."""
