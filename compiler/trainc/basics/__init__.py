"""Basics for all rooms: JSON values and their differences, caches of pure functions, and regular expressions."""
