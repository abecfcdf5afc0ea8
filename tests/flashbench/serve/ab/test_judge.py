"""A live difference is judged as the gate judges one."""

from flashbench.serve.ab.judge import judge
from flashbench.serve.events import Order
from flashbench.verify.compare import divergence
from specflash.decoding import generate
from specflash.drafts.vanilla import Vanilla, VanillaConfig
from specflash.sampling import Sampling
from tests.tiny import make_sample, tiny_target


def test_the_gates_rule_decides_and_in_float32_there_is_no_tie(tmp_path, monkeypatch):
    target = tiny_target(tmp_path)
    order = Order(make_sample(), Sampling(max_new_tokens=6))
    prompt = target.encode(order.sample)
    text = generate(target, Vanilla(VanillaConfig(width=target.width)), prompt, order.sampling).ids
    other = [*text[:3], (text[3] + 1) % 300, *text[4:]]
    found, gate = judge(target, order, other, text), divergence(target, prompt, other, text)
    assert found == {"identical": False, "first_difference": gate.position, "gap": gate.gap, "tie": False}
    assert (gate.position, gate.kind) == (3, "real")
    monkeypatch.setattr("flashbench.verify.compare.TIE_ULPS", 1e9)
    assert divergence(target, prompt, other, text).kind == "tie"
    assert judge(target, order, other, text)["tie"] is False
