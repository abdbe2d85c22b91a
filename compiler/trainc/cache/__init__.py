"""What a run leaves for the next one: results by content, and how files looked. Safe to delete at any time.

``store.py`` is the file and its folder, ``stamps.py`` how a file is known to be unchanged, ``jobs.py`` what is known
of jobs, ``memory.py`` how a run goes with it, ``whole.py`` that nothing is to be done, ``snapshot.py`` and ``looks.py``
what that takes, ``changes.py`` what is to be done after all, ``facts.py`` and ``abridged.py`` how a run does only that,
``results.py`` what a command printed, ``tool.py`` what makes results another program's.
"""
