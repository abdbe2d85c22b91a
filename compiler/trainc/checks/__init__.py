"""Checks that upstream lacks, one file a subject: what is accepted all the way and yet never runs, or runs badly."""
