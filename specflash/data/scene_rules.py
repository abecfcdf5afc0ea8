"""What may be where in a drawn scene, doing what, in which colour. It draws nothing.

These tables decide which scenes exist; `scenes.py` picks among them.
"""

from specflash.data.scene_paint import COLOURS

KINDS = ("dog", "cat", "bird", "fish", "person", "car", "boat", "ball", "kite", "tree", "house",
         "chair", "cup", "lamp", "book", "flower")
COLOUR_NAMES = tuple(COLOURS)
PLACES = ("beach", "park", "street", "kitchen", "snowy field", "desert")

WEATHERS = {
    "beach": ("sunny", "cloudy", "sunset"), "park": ("sunny", "cloudy", "rainy"),
    "street": ("sunny", "rainy", "night"), "kitchen": ("sunny", "rainy", "night"),
    "snowy field": ("sunny", "snowing", "night"), "desert": ("sunny", "sunset", "night"),
}
_FLYERS = ("bird", "kite")
INHABITANTS: dict[str, dict[str, tuple[str, ...]]] = {
    "beach": {"sky": _FLYERS, "back": ("boat", "fish"),
              "front": ("dog", "cat", "person", "ball", "chair", "cup", "book", "boat")},
    "park": {"sky": _FLYERS, "back": ("tree", "person", "dog", "chair", "lamp", "flower", "ball"),
             "front": ("dog", "cat", "person", "ball", "chair", "flower", "book", "bird", "fish")},
    "street": {"sky": ("bird",), "back": ("house", "tree", "lamp", "person", "flower"),
               "front": ("car", "dog", "cat", "person", "ball", "bird")},
    "kitchen": {"back": ("cup", "book", "lamp", "flower", "fish", "cat"),
                "front": ("dog", "cat", "chair", "person", "ball")},
    "snowy field": {"sky": _FLYERS, "back": ("house", "tree", "person", "dog", "lamp"),
                    "front": ("dog", "cat", "person", "ball", "chair", "car", "cup")},
    "desert": {"sky": _FLYERS, "back": ("house", "tree", "car", "person", "flower"),
               "front": ("car", "dog", "person", "ball", "chair", "book", "cup", "bird")},
}
ACTIONS: dict[str, tuple[str | None, ...]] = {
    "dog": ("running", "jumping", "sitting", "sleeping"), "cat": ("walking", "sitting", "sleeping"),
    "person": ("standing", "running", "waving", "jumping"), "car": ("driving", "parked"),
    "ball": ("bouncing", "lying"), "lamp": ("shining", "off"), "cup": ("steaming", None),
    "book": ("open", "closed"), "house": ("smoking", None),
}
TREE_COLOURS = ("green", "green", "green", "orange", "yellow", "red", "pink")
HIDDEN = {"snowy field": ("white",)}  # colours that would not stand out
BASELINE = {"back": 206, "front": 320}
SKY_SHARE = 0.4  # of a ground cell's chance: only two kinds live up there
LIMITS = {"small": (64, 72), "large": (98, 106)}
ROWS = ("sky", "back", "front")
