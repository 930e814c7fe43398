"""The parts of scenes: land, trees, town, vehicles, furniture."""
