"""The kinds of values that settings hold, each with its bounds and what it is made of. It knows no section."""

from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field


def native_precision() -> str:
    """bfloat16 where this machine computes in it, else float32.

    A CPU without bf16 instructions emulates them, several times slower than float32.
    """
    import torch  # here, so that a wrong setting is told without waiting for torch

    native = (torch.cuda.is_bf16_supported() if torch.cuda.is_available()
              else torch.cpu._is_avx512_bf16_supported() or torch.cpu._is_amx_tile_supported())
    return "bfloat16" if native else "float32"


Auto = BeforeValidator(lambda value: native_precision() if value == "auto" else value)
"""`auto` is replaced on loading, so a run's saved settings say what was computed in."""


def at_home(path: Any) -> Any:
    """`~` is the home folder, as it is for a shell; an empty path is a mistake, not this folder."""
    if path == "":
        raise ValueError("an empty path; write . for the current folder")
    try:
        return str(Path(path).expanduser()) if isinstance(path, str) else path
    except RuntimeError:
        raise ValueError(f"{path} begins with the home folder of somebody who has none here") from None


def whole_above_one(gpus: float) -> float:
    """Ray shares one GPU, and gives several only whole."""
    if gpus > 1 and gpus != int(gpus):
        raise ValueError("more than one GPU must be a whole number")
    return gpus


def each_once(names: tuple[Any, ...]) -> tuple[Any, ...]:
    if len(set(names)) < len(names):
        raise ValueError("one of them is named twice; take one out")
    return names


AtHome = BeforeValidator(at_home)
Cpus = Annotated[float, Field(ge=1e-4, le=1024)]  # Ray counts in steps of 1e-4
Gpus = Annotated[float, Field(ge=0), AfterValidator(whole_above_one)]
Threads = Annotated[int, Field(ge=1, le=1024)]
Seed = Annotated[int, Field(ge=0, lt=2**63)]
Temperature = Annotated[float, Field(ge=0)]
ControlName = Literal["hf-generate", "hf-prompt-lookup", "hf-assisted"]
