"""The files of a project: reads jobs/, runtimes/, policies/ and trainc.yaml, and writes out/."""
