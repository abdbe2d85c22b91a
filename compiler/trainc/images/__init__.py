"""What images are made of and how they are written, without touching the world: definitions, pins, layers, SBOMs."""
