"""Who compiles the jobs of a run: processes on one machine (``forked.py``), or MPI ranks on many (``mpi.py``).

Every executor gives the same jobs as ``in_order``; only their order of arrival differs, and no result has it.
"""
