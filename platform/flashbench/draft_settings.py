"""The drafts that an experiment names: known, and with settings they have.

It knows no draft by name, loads no weights and decodes nothing.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from flashbench.settings import Settings, explain
from specflash.catalogue import nearest, pick
from specflash.drafts import DRAFTS
from specflash.drafts.base import DraftConfig
from specflash.errors import UserError

ANY_WIDTH = 1
"""Stands for the target's, which the settings do not say."""


def check_drafts(settings: Settings, path: str | Path) -> None:
    """Raises UserError for unknown drafts and methods, for wrong settings of a draft, and for
    benchmarked drafts that the settings say nothing about.
    """
    wrong = [*_wrong_sections(settings), *_wrong_methods(settings)]
    if wrong:
        raise UserError(f"{path}: {'; '.join(wrong)}")


def with_methods(settings: Settings, names: Sequence[str], path: str | Path) -> Settings:
    """The same experiment, of vanilla and these drafts alone. Raises UserError as `check_drafts` does."""
    methods = tuple(dict.fromkeys(("vanilla", *names)))
    chosen = settings.model_copy(update={"bench": settings.bench.model_copy(update={"methods": methods})})
    check_drafts(chosen, path)
    return chosen


def draft_config(name: str, section: dict[str, Any], width: int) -> DraftConfig:
    """The settings of a draft with what they leave to defaults. Raises UserError where they are wrong."""
    kind = pick(DRAFTS, name, "draft").Config
    if "width" in section:
        raise UserError(f"`drafts.{name}.width` cannot be set: it is the target's; leave it out")
    try:
        return kind.model_validate({**section, "width": width})
    except ValidationError as error:
        raise UserError(explain(error, kind, f"drafts.{name}")) from None


def section_for(settings: Settings, name: str, inner: int | None) -> dict[str, Any]:
    """The draft's section with what its features give it.

    inner  the layer whose hidden states come with the features; None: they come alone

    Raises UserError where the draft looks into the target, and the features hold no such layer or another one.
    """
    section = settings.drafts[name]
    if "inner_layer" not in pick(DRAFTS, name, "draft").Config.given:
        return section
    wanted = section.get("inner_layer")
    if inner is None:
        raise UserError(f"`{name}` looks into the target, and these features hold no inner layer: set dump.inner="
                        f"{'auto' if wanted is None else wanted} and `run` to another folder, and run `specflash dump`")
    if wanted not in (None, inner):
        raise UserError(f"drafts.{name}.inner_layer={wanted}, but these features hold layer {inner}: leave it out, or "
                        f"set dump.inner={wanted} and `run` to another folder, and run `specflash dump`")
    return section | {"inner_layer": inner}


def _wrong_sections(settings: Settings) -> Iterator[str]:
    for name, section in settings.drafts.items():
        try:
            draft_config(name, section, ANY_WIDTH)
        except UserError as error:
            yield str(error)


def _wrong_methods(settings: Settings) -> Iterator[str]:
    for key, methods in (("bench.methods", settings.bench.methods), ("serve.methods", settings.serve.methods)):
        for name in methods:
            if name not in DRAFTS:
                yield f"`{key}`: unknown method `{name}`{nearest(name, DRAFTS)}; known: {', '.join(sorted(DRAFTS))}"
    for name in settings.bench.methods:
        if name in DRAFTS and DRAFTS[name].trainable and name not in settings.drafts:
            yield f"`bench.methods` names `{name}`, which has no section: add drafts.{name}, or take it out"
        lender = name in DRAFTS and DRAFTS[name].weights_of
        if lender and lender not in settings.drafts:
            yield (f"`bench.methods` names `{name}`, which drafts with the weights of `{lender}`: add drafts.{lender}, "
                   "or take it out")
