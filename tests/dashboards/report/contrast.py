"""How well colours are told apart, as WCAG 2 measures it."""

import numpy as np

LUMINANCE = np.array([0.2126, 0.7152, 0.0722])


def linear(colour: str) -> np.ndarray:
    """#rrggbb -> linear RGB [3]"""
    values = np.array([int(colour[place:place + 2], 16) for place in (1, 3, 5)]) / 255
    return np.where(values <= 0.04045, values / 12.92, ((values + 0.055) / 1.055) ** 2.4)


def contrast(one: str, other: str) -> float:
    """Ratio of relative luminances, 1 … 21."""
    low, high = sorted(float(linear(colour) @ LUMINANCE) for colour in (one, other))
    return (high + 0.05) / (low + 0.05)
