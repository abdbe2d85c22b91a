"""The compiler: documents in, objects and findings out (``compile.py``), one job at a time (``job.py``). Pure."""
