"""Painting: textures, light, the canvas and its pen, and the camera that takes the picture."""
