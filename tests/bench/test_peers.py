import torch

from epir.bench import peers
from epir.bench.peers import learned_peers, measure


def test_every_learned_peer_is_measured():
    names = ("ststnet", "off-apexnet", "dual-inception", "capsulenet", "rcn-a", "htnet", "resnet18-flow")
    assert learned_peers() == names


def test_ratios_come_in_pairs_and_name_what_was_compared(monkeypatch):
    monkeypatch.setattr(peers, "learned_peers", lambda: ("ststnet",))
    torch.set_num_threads(2)
    one, many = measure(quick=True)
    assert torch.get_num_threads() == 2
    assert one.name == "ststnet / epir, forward, one map" and many.name == "ststnet / epir, forward, batch 64"
    assert 0 < one.value < 1 and 0 < many.value < 1  # 1,683 parameters against 7 million
    assert " ms against " in one.detail and one.target is None
