"""What happens to findings once they are made: silenced, given another severity, and told once."""
