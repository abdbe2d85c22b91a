"""Tests of admission policies: reads them and runs them."""
