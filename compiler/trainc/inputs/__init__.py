"""What a caller gives to the compiler: texts, options, and the settings of trainc.yaml. Plain data."""
