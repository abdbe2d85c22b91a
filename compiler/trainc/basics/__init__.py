"""What every room uses: JSON values, caches of pure functions, and regular expressions."""
