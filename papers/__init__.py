"""The experiments of five papers, our figures beside the printed ones: ``python -m papers NAME`` from a clone.

No part of the library: what is installed has no `papers`, and no file of the library imports it.
"""
