"""Whatever is drafted, the text is the target's: every draft of the catalogue on the tiny target."""

import pytest

from specflash.decoding import generate
from specflash.drafts import DRAFTS
from specflash.drafts.store import make_draft
from tests.decoding.scripted import SAMPLES, VANILLA, check_account, greedy
from tests.drafts.toy import SETTINGS
from tests.tiny import tiny_target


@pytest.fixture(scope="module")
def target(tmp_path_factory):
    return tiny_target(tmp_path_factory.mktemp("tiny-llava"))


@pytest.mark.parametrize("name", [name for name in DRAFTS if name != "vanilla"])
def test_greedy_text_is_vanilla_s(target, name):
    """Random weights are nearly always wrong; the look-up is right now and then."""
    for sample in ("text", "two pictures"):
        prompt = target.encode(SAMPLES[sample])
        text = generate(target, VANILLA, prompt, greedy()).ids
        for k in range(1, 5):
            made = make_draft(name, {**SETTINGS.get(name, {}), "k": k}, target.width)
            done = generate(target, made.attach(target.ends).eval(), prompt, greedy())
            assert done.ids == text
            assert max(done.drafted, default=0) <= k
            check_account(done, greedy())
