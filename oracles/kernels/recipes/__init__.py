"""Recipes of kernels: what users write, fitted on training points into a bank."""
