"""The files of a project: reading jobs/, runtimes/, policies/ and trainc.yaml, and writing out/."""
