"""Expressions as Python: see program.py."""
