"""The acceptance rule: exact where it must be, and every known wrong rule is caught.

The law of the next two tokens is enumerated exactly, in float64, on random toy problems (V = 6,
T = 0.7, top-k 4, top-p 0.9) with two drafted tokens. The enumeration uses the same
`acceptance_probability` and `residual` that `accept` draws with. Exact drafting modes must give the
target's own law; the wrong rules found in published code must not, or the check has no power.
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product

import pytest
import torch
from torch import Tensor

from specflash.acceptance import accept, accept_greedy, acceptance_probability, offered_law, residual
from specflash.sampling import Chance, Sampling, distribution

VOCABULARY = 6
SAMPLING = Sampling(temperature=0.7, top_k=4, top_p=0.9)
EXACT, CAUGHT = 1e-9, 1e-3
PROBLEMS = 20


def warp(logits: Tensor, sampling: Sampling = SAMPLING) -> Tensor:
    """The law in float64, so that the enumeration is not limited by the rounding of float32."""
    law = distribution(logits, sampling).double()
    return law / law.sum(-1, keepdim=True)


@dataclass(frozen=True)
class Toy:
    """Target and draft laws of three positions, each depending on all tokens before it.

    target  position -> [V, …, V] logits, one trailing axis for the token itself
    draft   the same, for two slots
    """

    target: tuple[Tensor, Tensor, Tensor]
    draft: tuple[Tensor, Tensor]


def toy(seed: int) -> Toy:
    generator = torch.Generator().manual_seed(seed)

    def logits(axes: int) -> Tensor:
        return 2 * torch.randn([VOCABULARY] * axes, generator=generator)

    return Toy((logits(1), logits(2), logits(3)), (logits(1), logits(2)))


@dataclass(frozen=True)
class Mode:
    """How a draft draws its two tokens, what q it states, and which laws the rule is given.

    drawn      toy -> laws the tokens are drawn from: slot 0 [V], slot 1 [V, V] given token 0
    stated     the q handed to the rule, same shapes; None: deterministic tokens
    residual   laws whose residual is drawn from, if not the target's
    bonus      law of the bonus token, if not the target's
    """

    drawn: Callable[[Toy], tuple[Tensor, Tensor]]
    stated: Callable[[Toy], tuple[Tensor, Tensor] | None]
    residual: Callable[[Toy], list[Tensor]] | None = None
    bonus: Callable[[Toy], Tensor] | None = None


def independent(toy: Toy, sampling: Sampling = SAMPLING) -> tuple[Tensor, Tensor]:
    """Slot 1 knows nothing of token 0."""
    first, second = toy.draft
    return warp(first, sampling), warp(second[0], sampling).expand(VOCABULARY, -1)


def conditional(toy: Toy) -> tuple[Tensor, Tensor]:
    """Slot 1 is told the token drawn at slot 0."""
    return warp(toy.draft[0]), warp(toy.draft[1])


def told_the_argmax(toy: Toy) -> tuple[Tensor, Tensor]:
    """Slot 1 is told slot 0's most likely token, whichever was drawn."""
    first, second = toy.draft
    return warp(first), warp(second[first.argmax()]).expand(VOCABULARY, -1)


def greedy(toy: Toy) -> tuple[Tensor, Tensor]:
    first, second = toy.draft
    return warp(first, Sampling(0.0)), warp(second, Sampling(0.0))


def raw(toy: Toy) -> tuple[Tensor, Tensor]:
    return toy.draft[0].double().softmax(-1), toy.draft[1].double().softmax(-1)


def unwarped_target(toy: Toy) -> list[Tensor]:
    return [logits.double().softmax(-1) for logits in toy.target]


def hot(toy: Toy) -> tuple[Tensor, Tensor]:
    return independent(toy, Sampling(temperature=1.6))


EXACT_MODES = {
    "A independent slots, own q": Mode(independent, independent),
    "A' draft at another temperature": Mode(hot, hot),
    "B slot told the drawn token, conditional q": Mode(conditional, conditional),
    "B' slot told the argmax, that q": Mode(told_the_argmax, told_the_argmax),
    "C greedy, one-hot q": Mode(greedy, lambda toy: None),
}
WRONG_MODES = {
    "X1 drawn given the drawn token, q given the argmax": Mode(conditional, told_the_argmax),
    "X2 greedy draft, q = softmax": Mode(greedy, conditional),
    "X3 drawn from the warped law, q = raw softmax": Mode(conditional, raw),
    "X4 bonus from the un-warped target": Mode(
        conditional, conditional, bonus=lambda toy: unwarped_target(toy)[2]),
    "X5 residual from the un-warped target": Mode(conditional, conditional, residual=unwarped_target),
}


def spoken_law(toy: Toy, mode: Mode) -> Tensor:
    """Law of the next three tokens under the rule, after two drafted ones. [V, V, V]

    What the rule leaves open (after an early rejection) the target continues by itself.
    """
    p = [warp(logits) for logits in toy.target]
    open_residual = mode.residual(toy) if mode.residual else p
    bonus = mode.bonus(toy) if mode.bonus else p[2]
    law = torch.zeros([VOCABULARY] * 3, dtype=torch.float64)
    first_law, second_law = mode.drawn(toy)
    stated = mode.stated(toy)
    for first in first_law.nonzero().flatten().tolist():
        for second in second_law[first].nonzero().flatten().tolist():
            drafted = torch.tensor([first, second])
            q = None if stated is None else torch.stack([stated[0], stated[1][first]])
            offered = offered_law(drafted, q, VOCABULARY).double()
            ok = acceptance_probability(torch.stack([p[0], p[1][first]]), offered, drafted)
            ok = ok.nan_to_num(0)  # 0 / 0, where a wrong q denies the token: no luck is below NaN
            left = residual(torch.stack([open_residual[0], open_residual[1][first]]), offered)
            weight = first_law[first] * second_law[first, second]
            law += weight * (1 - ok[0]) * left[0][:, None, None] * p[1][..., None] * p[2]
            law[first] += weight * ok[0] * (1 - ok[1]) * left[1][:, None] * p[2][first]
            law[first, second] += weight * ok[0] * ok[1] * bonus[first, second]
    return law


def target_law(toy: Toy) -> Tensor:
    p = [warp(logits) for logits in toy.target]
    return p[0][:, None, None] * p[1][..., None] * p[2]


def total_variation(mode: Mode) -> Tensor:
    """Distance to the target's law, problem by problem."""
    return torch.stack([(spoken_law(toy(seed), mode) - target_law(toy(seed))).abs().sum() / 2
                        for seed in range(PROBLEMS)])


@pytest.mark.parametrize("name", EXACT_MODES)
def test_exact_modes_follow_the_target(name):
    assert total_variation(EXACT_MODES[name]).max() <= EXACT


@pytest.mark.parametrize("name", WRONG_MODES)
def test_wrong_rules_are_caught(name):
    assert total_variation(WRONG_MODES[name]).mean() > CAUGHT


@pytest.mark.parametrize("name", ["A independent slots, own q", "B slot told the drawn token, conditional q",
                                  "C greedy, one-hot q"])
def test_draws_of_the_real_rule_follow_the_target_within_four_sigma(name):
    """The first token out of `accept`, whether kept or corrected, has the target's law."""
    problem, mode, draws = toy(3), EXACT_MODES[name], 1500
    generator, chance = torch.Generator().manual_seed(0), Chance(0)
    first_law, second_law = mode.drawn(problem)
    stated = mode.stated(problem)
    p = [warp(logits).float() for logits in problem.target]
    firsts = torch.multinomial(first_law, draws, replacement=True, generator=generator)
    seconds = torch.multinomial(second_law[firsts], 1, generator=generator).squeeze(-1)
    counts = torch.zeros(VOCABULARY)
    for first, second in zip(firsts, seconds, strict=True):
        rows = torch.stack([p[0], p[1][first], p[2][first, second]])
        q = None if stated is None else torch.stack([stated[0], stated[1][first]]).float()
        kept, token = accept(torch.stack([first, second]), q, rows, chance)
        counts[first if kept else token] += 1
    law = warp(problem.target[0])
    assert (counts[law == 0] == 0).all()
    assert ((counts / draws - law).abs() <= 4 * (law * (1 - law) / draws).sqrt()).all()


def test_share_of_accepted_tokens_is_one_minus_total_variation():
    p, q = warp(toy(0).target[0]), warp(toy(0).draft[0])
    tokens = torch.arange(VOCABULARY)
    ok = acceptance_probability(p.expand(VOCABULARY, -1), q.expand(VOCABULARY, -1), tokens)
    offered = q > 0
    assert (q * ok)[offered].sum() == pytest.approx(1 - float((p - q).abs().sum() / 2))


def one_hot(tokens: list[int]) -> Tensor:
    return torch.nn.functional.one_hot(torch.tensor(tokens), VOCABULARY).float()


@pytest.mark.parametrize(("drafted", "kept", "token"), [
    ([1, 2, 3], 3, 4), ([1, 2, 0], 2, 3), ([1, 0, 3], 1, 2), ([0, 2, 3], 0, 1), ([1, 2], 2, 3), ([0], 0, 1), ([], 0, 1),
])
@pytest.mark.parametrize("seed", range(3))
def test_greedy_keeps_the_agreeing_prefix_and_adds_the_targets_choice(drafted, kept, token, seed):
    p = one_hot([1, 2, 3, 4])[: len(drafted) + 1]
    outcome = accept(torch.tensor(drafted, dtype=torch.long), None, p, Chance(seed))
    assert [int(value) for value in outcome] == [kept, token]


def test_greedy_target_with_a_sampled_draft_follows_the_target():
    """At temperature 0 a sampled token equal to the target's is kept, since p / q ≥ 1."""
    q = torch.full((2, VOCABULARY), 1 / VOCABULARY)
    for drafted in ([1, 2], [1, 3], [4, 2]):
        kept, token = accept(torch.tensor(drafted), q, one_hot([1, 2, 5]), Chance(0))
        assert (drafted[: int(kept)] + [int(token)]) == [1, 2, 5][: int(kept) + 1]


def test_residual_is_what_the_draft_did_not_offer():
    p = torch.tensor([[0.5, 0.3, 0.2], [0.1, 0.6, 0.3]])
    q = torch.tensor([[0.7, 0.1, 0.2], [0.0, 1.0, 0.0]])
    torch.testing.assert_close(residual(p, q), torch.tensor([[0.0, 1.0, 0.0], [0.25, 0.0, 0.75]]))


def test_residual_of_rounding_only_is_the_target_itself():
    p = torch.tensor([[0.25, 0.75, 0.0]])
    assert torch.equal(residual(p, p), p)
    assert torch.equal(residual(p, p - torch.tensor([[1e-9, 0.0, 0.0]])), p)


def test_equal_laws_accept_everything():
    law = warp(toy(1).target[0]).float().expand(4, -1)
    generator, chance = torch.Generator().manual_seed(0), Chance(0)
    for _ in range(200):
        drafted = torch.multinomial(law[0], 3, replacement=True, generator=generator)
        assert int(accept(drafted, law[:3], law, chance)[0]) == 3


def test_same_seed_same_outcome():
    p = torch.full((4, VOCABULARY), 1 / VOCABULARY)
    drafted = torch.tensor([0, 1, 2])
    first, again = (accept(drafted, None, p, Chance(5)) for _ in range(2))
    assert first == again


@pytest.mark.parametrize("slots", range(4))
def test_the_greedy_rule_is_the_rule(slots):
    """All cases of three tokens: `accept` on one-hot laws says the same."""
    for best in product(range(3), repeat=slots + 1):
        p = one_hot(list(best))
        for drafted in product(range(3), repeat=slots):
            proposed = torch.tensor(drafted, dtype=torch.long)
            kept, token = map(int, accept_greedy(proposed, torch.tensor(best)))
            assert (kept, token) == tuple(map(int, accept(proposed, None, p, Chance())))
            assert kept == next((j for j in range(slots) if drafted[j] != best[j]), slots)
            assert token == best[kept]
