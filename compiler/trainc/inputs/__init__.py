"""The inputs of the compiler: sources, options, and the settings of trainc.yaml. Plain data."""
