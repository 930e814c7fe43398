"""What scenes are put together from: land, trees, town, vehicles, furniture."""
