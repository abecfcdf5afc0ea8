"""The decoding loop on a tiny random LLaVA (text and pictures) and on an enumerable toy."""

import copy
import itertools
import time
import weakref
from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from specflash.cache import HEADROOM, FixedCache, cache_length
from specflash.decoding import Decoding, generate
from specflash.drafts.base import Draft, DraftConfig, LossParts, Session
from specflash.drafts.vanilla import Vanilla
from specflash.errors import UserError
from specflash.records import PHASES, Batch, Generation, Output, Prompt, Proposal
from specflash.sampling import Sampling, distribution
from specflash.targets.base import Ends, Target
from tests.tiny import make_sample, picture, tiny_target

NEW = 16
Script = Callable[[list[int]], list[int]]
"""committed answer tokens -> what to draft next"""


class Scripted(Draft):
    """Drafts what a script says. `sessions` keeps what every request was told."""

    name = "scripted"

    def __init__(self, k: int, script: Script, q: Tensor | None = None):
        super().__init__(DraftConfig(width=1, k=k))
        self.script, self.q = script, q
        self.sessions: list[ScriptedSession] = []

    def attach(self, ends: Ends) -> "Scripted":
        return self

    def start(self, prompt: Prompt, output: Output, token: int, capacity: int) -> Session:
        self.sessions.append(ScriptedSession(self, output, token))
        return self.sessions[-1]

    def loss(self, batch: Batch) -> LossParts:
        raise NotImplementedError


class ScriptedSession(Session):
    def __init__(self, draft: Scripted, output: Output, token: int):
        self.draft = draft
        self.committed = [token]
        self.features = [output.features[0]]

    def propose(self, sampling: Sampling, generator: torch.Generator | None, limit: int) -> Proposal:
        count = min(self.draft.config.k, limit)
        if self.draft.q is None:
            return Proposal(torch.tensor(self.draft.script(self.committed)[:count], dtype=torch.long))
        q = self.draft.q[:count]                                                # [count, V]
        tokens = torch.multinomial(q, 1, generator=generator)[:, 0] if count else torch.empty(0, dtype=torch.long)
        return Proposal(tokens, q)

    def advance(self, ids: Tensor, features: Tensor) -> None:
        assert len(ids) == len(features)
        self.committed += ids.tolist()
        self.features.append(features)


def oracle(text: list[int]) -> Script:
    return lambda committed: text[len(committed):]


def wrong(text: list[int]) -> Script:
    return lambda committed: [(token + 1) % 300 for token in text[len(committed):]]


def right_then_wrong(text: list[int], right: int) -> Script:
    return lambda committed: (oracle(text)(committed)[:right] + wrong(text)(committed)[right:])


def random_mix(text: list[int], seed: int) -> Script:
    """Each token right with probability 0.7, else any token."""
    generator = torch.Generator().manual_seed(seed)

    def script(committed: list[int]) -> list[int]:
        right = text[len(committed):]
        other = torch.randint(300, (len(right),), generator=generator).tolist()
        lucky = (torch.rand(len(right), generator=generator) < 0.7).tolist()
        return [right[j] if lucky[j] else other[j] for j in range(len(right))]
    return script


VANILLA = Vanilla(Vanilla.Config(width=32))
SAMPLES = {
    "text": make_sample("Tell me about the sea.", images=()),
    "picture": make_sample("What is it?"),
    "two pictures": make_sample("Compare them.", images=(picture(), picture((20, 90, 200)))),
}


@pytest.fixture(scope="session")
def target(tmp_path_factory) -> Target:
    return tiny_target(tmp_path_factory.mktemp("tiny-llava"))


@pytest.fixture(scope="session")
def bf16_target(tmp_path_factory) -> Target:
    return tiny_target(tmp_path_factory.mktemp("tiny-llava-bf16"), "bfloat16")


@pytest.fixture(params=SAMPLES)
def prompt(request, target) -> Prompt:
    return target.encode(SAMPLES[request.param])


@pytest.fixture(scope="session")
def pictured(target) -> Prompt:
    return target.encode(SAMPLES["picture"])


def greedy(new: int = NEW) -> Sampling:
    return Sampling(max_new_tokens=new)


def with_ends(target: Target, *ends: int) -> Target:
    other = copy.copy(target)
    other.end_ids = frozenset(ends)
    return other


def unending(target: Target, prompt: Prompt, new: int = NEW) -> list[int]:
    return generate(with_ends(target), VANILLA, prompt, greedy(new)).ids


def check_account(done: Generation, sampling: Sampling) -> None:
    """What holds for every generation."""
    assert len(done.kept) == len(done.drafted) == len(done.committed)
    assert 1 + sum(done.committed) == len(done.ids) <= sampling.max_new_tokens
    assert all(kept <= drafted for kept, drafted in zip(done.kept, done.drafted, strict=True))
    whole = zip(done.kept[:-1], done.committed[:-1], strict=True)
    assert all(committed == kept + 1 for kept, committed in whole)  # only the last pass is ever cut


# -- greedy: the same text as vanilla, and vanilla the same as Hugging Face's -----------------------


def test_vanilla_equals_hugging_face_generate(target, prompt):
    done = generate(target, VANILLA, prompt, greedy())
    reference = target.model.generate(input_ids=prompt.ids, attention_mask=torch.ones_like(prompt.ids),
                                      **prompt.pixels, max_new_tokens=NEW, do_sample=False)
    assert done.ids == reference[0, prompt.length:].tolist()
    assert done.drafted == done.kept == [0] * (len(done.ids) - 1)


@pytest.mark.parametrize("k", range(1, 7))
def test_every_draft_gives_the_text_of_vanilla(target, prompt, k):
    text = generate(target, VANILLA, prompt, greedy()).ids
    longer = unending(target, prompt, NEW + 8)
    for script in (oracle(longer), wrong(longer), random_mix(longer, k), right_then_wrong(longer, k // 2)):
        done = generate(target, Scripted(k, script), prompt, greedy())
        assert done.ids == text
        check_account(done, greedy())


@pytest.mark.parametrize("k", range(1, 7))
def test_oracle_has_accept_length_k_plus_one(target, prompt, k):
    rounds = 3
    new = 1 + rounds * (k + 1)
    text = unending(target, prompt, new)
    done = generate(with_ends(target), Scripted(k, oracle(text)), prompt, greedy(new))
    assert done.kept == done.drafted == [k] * rounds
    assert done.committed == [k + 1] * rounds


def test_wrong_draft_advances_one_token_per_pass(target, pictured):
    text = unending(target, pictured)
    done = generate(with_ends(target), Scripted(3, wrong(text + [0] * 8)), pictured, greedy())
    assert done.ids == text
    assert done.kept == [0] * (NEW - 1)


def test_right_then_wrong_keeps_exactly_the_right_ones(target, pictured):
    text = unending(target, pictured, 64)
    done = generate(with_ends(target), Scripted(5, right_then_wrong(text, 2)), pictured, greedy(31))
    assert done.ids == text[:31]
    assert done.kept == [2] * 10


# -- cuts inside a block ------------------------------------------------------------------------------


@pytest.mark.parametrize("k", [1, 3, 6])
def test_end_token_inside_a_block_cuts_there(target, prompt, k):
    text = unending(target, prompt)
    for end in text[1:8:2]:
        ended = with_ends(target, end)
        cut = text[: text.index(end) + 1]
        done = generate(ended, Scripted(k, oracle(text + [0] * 8)), prompt, greedy())
        assert (done.ids, done.finish) == (cut, "stop")
        assert done.ids == generate(ended, VANILLA, prompt, greedy()).ids
        check_account(done, greedy())


def test_kept_counts_before_the_cut_and_committed_after(target, pictured):
    text = unending(target, pictured)
    place = next(place for place in range(2, 7) if text[place] not in text[:place])
    done = generate(with_ends(target, text[place]), Scripted(8, oracle(text)), pictured, greedy())
    assert (done.kept, done.drafted, done.committed) == ([8], [8], [place])


@pytest.mark.parametrize("new", range(1, 9))
def test_limit_inside_a_block_cuts_there(target, pictured, new):
    text = unending(target, pictured)
    done = generate(with_ends(target), Scripted(4, oracle(text)), pictured, greedy(new))
    assert (done.ids, done.finish) == (text[:new], "length")
    check_account(done, greedy(new))


def test_nothing_is_drafted_past_the_limit(target, pictured):
    text = unending(target, pictured)
    done = generate(with_ends(target), Scripted(4, oracle(text)), pictured, greedy(8))
    assert done.drafted == [4, 1]  # 1 + 5 + 2 tokens


def test_a_draft_that_ignores_the_limit_changes_nothing(target, pictured):
    class Eager(Scripted):
        def start(self, prompt, output, token, capacity):
            session = super().start(prompt, output, token, capacity)
            session.propose = lambda sampling, generator, limit: Proposal(
                torch.tensor(self.script(session.committed)[: self.config.k]))
            return session

    text = unending(target, pictured)
    done = generate(with_ends(target), Eager(4, oracle(text)), pictured, greedy(8))
    assert (done.ids, done.kept, done.committed) == (text[:8], [4, 4], [5, 2])


def test_first_token_may_end_the_answer(target, pictured):
    first = unending(target, pictured)[0]
    draft = Scripted(4, oracle([]))
    done = generate(with_ends(target, first), draft, pictured, greedy())
    assert (done.ids, done.finish, done.kept, done.committed) == ([first], "stop", [], [])
    assert not draft.sessions  # no draft prefill for nothing


def test_one_token_may_be_all_that_is_asked_for(target, pictured):
    done = generate(with_ends(target), Scripted(4, oracle([])), pictured, greedy(1))
    assert (done.ids, done.finish) == (unending(target, pictured)[:1], "length")


# -- what the draft is told -------------------------------------------------------------------------


def test_draft_gets_the_feature_that_precedes_each_committed_token(target, prompt):
    """All features, prefill and rounds, equal those of one pass over the finished text."""
    text = unending(target, prompt, 40)
    draft = Scripted(4, random_mix(text, seed=1))
    done = generate(with_ends(target), draft, prompt, greedy())
    session = draft.sessions[0]
    told = torch.cat(session.features)                      # h of x_0 … of the one before the pending
    with torch.inference_mode():
        answer = target.embed(torch.tensor([session.committed[:-1]]))
        whole = torch.cat([target.embed_prompt(prompt), answer], 1)
        features = target.forward(whole, None, target.positions(prompt, 0, whole.shape[1]), None, 1).features[0]
    assert session.committed == done.ids[: len(session.committed)]
    torch.testing.assert_close(told, features, atol=1e-4, rtol=1e-4)


def test_capacity_covers_every_position_of_the_request(target, pictured):
    capacities = []

    class Asked(Scripted):
        def start(self, prompt, output, token, capacity):
            capacities.append(capacity)
            return super().start(prompt, output, token, capacity)

    for k in (1, 6):
        generate(target, Asked(k, oracle([])), pictured, greedy())
    assert capacities[0] == capacities[1] >= pictured.length + NEW + HEADROOM


# -- constant width: equal to the last bit ------------------------------------------------------------


def spoken_logits(target: Target, draft: Draft, prompt: Prompt, width: int) -> tuple[list[int], Tensor]:
    """The text, and the logits row that each token after the first was taken from. [n, V]"""
    passes: list[Tensor] = []
    spy = with_ends(target)

    def forward(embeds, cache, positions, mask, keep):
        output = target.forward(embeds, cache, positions, mask, keep)
        passes.append(output.logits[0])
        if len(passes) > 1:  # behind the prefill: shapes that no draft has an influence on
            assert mask.shape == (1, 1, width, cache_length(prompt.length, NEW))
            assert keep == embeds.shape[1] == positions.shape[-1] == width
        return output

    spy.forward = forward
    done = generate(spy, draft, prompt, greedy(), width)
    return done.ids, torch.cat([logits[:count] for logits, count in zip(passes[1:], done.committed, strict=True)])


@pytest.mark.parametrize(("name", "width"), [("text", 9), ("picture", 5), ("two pictures", 7)])
def test_bf16_logits_of_chains_equal_vanilla_bit_for_bit_at_constant_width(bf16_target, name, width):
    prompt = bf16_target.encode(SAMPLES[name])
    text, reference = spoken_logits(bf16_target, VANILLA, prompt, width)
    assert reference.dtype == torch.bfloat16
    for k, script in itertools.product((2, width - 1), (oracle(text), wrong(text), random_mix(text, width))):
        ids, logits = spoken_logits(bf16_target, Scripted(k, script), prompt, width)
        assert ids == text
        assert torch.equal(logits, reference)


def test_constant_width_gives_the_same_text_in_fp32(target, prompt):
    text = unending(target, prompt)
    for draft in (VANILLA, Scripted(4, oracle(text)), Scripted(4, random_mix(text, 0))):
        assert generate(with_ends(target), draft, prompt, greedy(), width=7).ids == text


@pytest.mark.parametrize("width", [0, 4, HEADROOM + 1])
def test_width_that_does_not_fit_is_refused(target, pictured, width):
    with pytest.raises(UserError, match=r"width must lie in \[5, 32\] for a draft of 4 tokens"):
        Decoding(target, Scripted(4, oracle([])), pictured, greedy(), width)


# -- streaming ----------------------------------------------------------------------------------------


def test_text_and_phases_of_the_stream_equal_the_whole(target, pictured):
    text = unending(target, pictured)
    draft = Scripted(3, random_mix(text + [0] * 8, seed=2))
    decoding = Decoding(with_ends(target), draft, pictured, greedy())
    items = list(decoding)
    done = decoding.generation
    assert [token for item in items for token in item] == done.ids == text
    assert [len(item) for item in items] == [1, *done.committed]
    assert set(done.seconds) == set(PHASES)
    assert all(done.seconds[phase] > 0 for phase in PHASES)


def test_closing_ends_early_and_frees_the_cache(target, pictured):
    caches = []
    spy = with_ends(target)
    spy.new_cache = lambda length: caches.append(weakref.ref(cache := target.new_cache(length))) or cache
    decoding = Decoding(spy, VANILLA, pictured, greedy())
    assert len(next(decoding)) == len(next(decoding)) == 1
    assert caches[0]() is not None
    decoding.close()
    assert caches[0]() is None
    assert list(decoding) == []
    assert decoding.generation.ids == unending(target, pictured)[:2]


def test_exhausted_decoding_holds_no_cache(target, pictured):
    caches = []
    spy = with_ends(target)
    spy.new_cache = lambda length: caches.append(weakref.ref(cache := target.new_cache(length))) or cache
    decoding = Decoding(spy, VANILLA, pictured, greedy(3))
    assert len(list(decoding)) == 3
    assert caches[0]() is None


def test_time_between_the_rounds_is_nobodys(target, pictured):
    decoding = Decoding(with_ends(target), VANILLA, pictured, greedy(3))
    begin = time.perf_counter()
    for _ in decoding:
        time.sleep(0.2)
    assert sum(decoding.generation.seconds.values()) <= time.perf_counter() - begin - 0.6


def test_inference_mode_does_not_leak_to_the_consumer(target, pictured):
    for _ in Decoding(target, VANILLA, pictured, greedy(3)):
        assert not torch.is_inference_mode_enabled()


# -- sampling -----------------------------------------------------------------------------------------


def test_same_seed_same_text(target, pictured):
    text = unending(target, pictured)
    for draft in (VANILLA, Scripted(3, oracle(text + [0] * 8))):
        texts = [generate(target, draft, pictured, Sampling(1.0, seed=seed, max_new_tokens=NEW)).ids
                 for seed in (1, 1, 2)]
        assert texts[0] == texts[1] != texts[2]


def test_global_random_state_is_neither_used_nor_moved(target, pictured):
    torch.manual_seed(3)
    state = torch.get_rng_state()
    generate(target, VANILLA, pictured, Sampling(1.0, max_new_tokens=4))
    assert torch.equal(torch.get_rng_state(), state)


class Markov(Target):
    """Three tokens; the law of the next depends on the last one only, so texts are enumerable."""

    name, fingerprint, end_ids = "markov", "", frozenset()
    device, dtype, width, vocabulary = torch.device("cpu"), torch.float32, 3, 3
    table = torch.tensor([[1.0, 0.2, -0.5], [-0.3, 0.8, 0.4], [0.5, -1.0, 0.9]])

    @classmethod
    def load(cls, weights, dtype, device):
        return cls()

    @property
    def ends(self):
        return Ends(torch.eye(3), self.table.T)

    def encode(self, sample):
        return Prompt(torch.tensor([[0, 2]]), {}, (), torch.zeros(1, 2, dtype=torch.bool))

    def embed_prompt(self, prompt):
        return self.embed(prompt.ids)

    def embed(self, ids):
        return torch.eye(3)[ids]

    def positions(self, prompt, start, rows):
        return torch.arange(start, start + rows)[None]

    def forward(self, embeds, cache, positions, mask, keep):
        return Output(embeds, self.head(embeds[:, -keep:]))

    def head(self, features):
        return features @ self.table

    def decode(self, ids):
        return " ".join(map(str, ids))

    def new_cache(self, length):
        return FixedCache(0, length)


Q = torch.tensor([[0.2, 0.5, 0.3], [0.6, 0.1, 0.3]])


LAW_DRAFTS = {"vanilla": VANILLA, "deterministic": Scripted(2, lambda committed: [1, 0]),
              "sampled": Scripted(2, lambda committed: [], q=Q)}


@pytest.mark.parametrize("name", LAW_DRAFTS)
def test_texts_follow_the_same_law_within_four_sigma(name):
    """All 27 texts of three tokens: counts of 1500 seeds against the exact law."""
    toy, draft, draws = Markov(), LAW_DRAFTS[name], 1500
    prompt = toy.encode(None)
    p = distribution(toy.table, Sampling(0.7, top_p=0.95))                      # [V, V]
    law = p[2][:, None, None] * p[:, :, None] * p[None]                         # [V, V, V]
    counts = torch.zeros(3, 3, 3)
    for seed in range(draws):
        sampling = Sampling(0.7, top_p=0.95, seed=seed, max_new_tokens=3)
        counts[tuple(generate(toy, draft, prompt, sampling).ids)] += 1
    assert ((counts / draws - law).abs() <= 4 * (law * (1 - law) / draws).sqrt()).all()
