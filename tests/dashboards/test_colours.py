"""Colours that are the same everywhere, stand out on both pages, and differ to colour-blind eyes."""

from itertools import combinations, pairwise

import numpy as np
import pytest

from dashboards.colours import METHODS, PHASES, SPARE, colours
from tests.dashboards.report.contrast import contrast, linear

PAGES = {"light": "#ffffff", "dark": "#1b1f25"}
# Machado, Oliveira and Fernandes 2009, severity 1, on linear RGB
EYES = {
    "usual": np.eye(3),
    "protanopia": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deuteranopia": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
    "tritanopia": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]],
}
XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])


def lab(rgb):
    x, y, z = XYZ @ np.clip(rgb, 0, 1) / [0.9505, 1, 1.089]
    x, y, z = (np.cbrt(v) if v > 0.008856 else 7.787 * v + 16 / 116 for v in (x, y, z))
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


def distance(one, other, eye):
    """CIE 1976; about 2 is just noticeable side by side."""
    return np.linalg.norm(lab(np.array(EYES[eye]) @ linear(one)) - lab(np.array(EYES[eye]) @ linear(other)))


@pytest.mark.parametrize("colour", [*METHODS.values(), *SPARE, *PHASES.values()])
def test_a_colour_stands_out_on_either_page(colour):
    assert min(contrast(colour, page) for page in PAGES.values()) >= 2.99


@pytest.mark.parametrize("eye", EYES)
def test_methods_look_different_to_every_eye(eye):
    assert min(distance(one, other, eye) for one, other in combinations(METHODS.values(), 2)) > 15


@pytest.mark.parametrize("eye", EYES)
def test_phases_that_touch_look_different(eye):
    assert min(distance(one, other, eye) for one, other in pairwise(PHASES.values())) > 8


def test_a_method_has_its_colour_in_whatever_company():
    few, many = colours(["vanilla", "specflash"]), colours(["vanilla", "eagle", "mine", "specflash"])
    assert few["specflash"] == many["specflash"]


def test_methods_without_a_colour_of_their_own_get_different_ones():
    found = colours(["vanilla", "mine", "yours", "eagle", "theirs"])
    assert len(set(found.values())) == 5
