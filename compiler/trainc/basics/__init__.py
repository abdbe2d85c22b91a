"""Basics for all rooms: JSON values, caches of pure functions, and regular expressions."""
