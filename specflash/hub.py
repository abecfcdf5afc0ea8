"""A model named as the hub names it, `owner/name` or `owner/name@revision`, as a folder on this machine.

It knows no target. The hub's own library keeps the files in its cache, fetches what is missing, and reads `HF_HOME`,
`HF_TOKEN` and `HF_HUB_OFFLINE`.
"""

import re
from functools import cache
from pathlib import Path

from specflash.errors import UserError, one_line

NAME = re.compile(r"\w[\w.-]*/\w[\w.-]*(@[\w.-]+)?")
NEEDED = ("*.json", "*.safetensors", "*.model", "*.txt", "*.jinja")
"""What is fetched: weights as safetensors alone, never a pickle."""


def is_hub_name(weights: str) -> bool:
    """Whether it is a name of the hub's, and no folder of this name is here."""
    return NAME.fullmatch(weights) is not None and not Path(weights).exists()


@cache
def hub_folder(name: str) -> Path:
    """The model's files, fetched if they are not here yet. A process asks once.

    Raises UserError where the hub does not give it and the cache has none.
    """
    from huggingface_hub import snapshot_download  # here, because most never need it

    repository, _, revision = name.partition("@")
    try:
        return Path(snapshot_download(repository, revision=revision or None, allow_patterns=list(NEEDED)))
    except (OSError, ValueError) as error:
        raise UserError(f"target.weights: {name} is no folder here, and the model hub does not give it: check the "
                        "name, log in with `hf auth login` if it is gated, or name a folder "
                        f"({one_line(error)})") from None
