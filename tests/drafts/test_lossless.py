"""Whatever is drafted, the text is the target's: every draft of the catalogue on the tiny target.

Random weights are nearly always wrong, so the drafts choose tokens of the text itself, each right with
probability 0.7: their sessions go through every number of kept tokens. (The look-up chooses by itself.)
"""

import pytest

from specflash.decoding import generate
from specflash.drafts import DRAFTS
from specflash.drafts.store import make_draft
from tests.decoding.scripted import NEW, SAMPLES, check_account, greedy, unending, with_ends
from tests.drafts.rehearsal import rehearse
from tests.drafts.toy import SETTINGS
from tests.tiny import tiny_target


@pytest.fixture(scope="module")
def target(tmp_path_factory):
    return tiny_target(tmp_path_factory.mktemp("tiny-llava"))


@pytest.fixture(scope="module")
def texts(target):
    return {name: unending(target, target.encode(SAMPLES[name]), NEW + 8) for name in ("text", "two pictures")}


@pytest.mark.parametrize("k", range(1, 9))
@pytest.mark.parametrize("name", [name for name in DRAFTS if name != "vanilla"])
def test_greedy_text_is_vanilla_s(target, texts, name, k):
    """Whole, with the limit inside a block, and with an end token inside one."""
    for sample, text in texts.items():
        prompt = target.encode(SAMPLES[sample])
        made = make_draft(name, {**SETTINGS.get(name, {}), "k": k}, target.width).attach(target.ends).eval()
        made = rehearse(made, text, seed=k)
        ended = text[: text.index(text[6]) + 1]
        for ends, limit, expected in ((with_ends(target), NEW, text[:NEW]), (with_ends(target), 7, text[:7]),
                                      (with_ends(target, text[6]), NEW, ended)):
            done = generate(ends, made, prompt, greedy(limit))
            assert done.ids == expected
            assert max(done.drafted, default=0) <= k
            check_account(done, greedy(limit))


@pytest.mark.parametrize("name", [name for name, kind in DRAFTS.items() if kind.trainable])
def test_those_texts_are_worth_decoding(target, texts, name):
    """There are rounds that keep nothing and rounds that keep all."""
    made = make_draft(name, {**SETTINGS[name], "k": 3}, target.width).attach(target.ends).eval()
    made = rehearse(made, texts["text"], seed=3)
    done = generate(with_ends(target), made, target.encode(SAMPLES["text"]), greedy())
    assert {0, 3} <= set(done.kept)
