"""The page of `trainc report`: all jobs of a repository, what they need, and what trainc finds."""
