"""Text to documents, and objects to canonical text."""
