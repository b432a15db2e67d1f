from epir.core.seeds import generator, stream_seed


def test_streams_are_named_and_stable():
    assert stream_seed(0, "fold", "casme2/sub01") == 1943307458288939414  # the same on every machine
    assert len({stream_seed(s, n) for s in range(20) for n in "abc"}) == 60
    assert stream_seed(1, "2", "3") != stream_seed(1, "23")
    assert 0 <= stream_seed(5) < 2**63


def test_the_same_stream_gives_the_same_numbers():
    assert generator(3, "a").normal() == generator(3, "a").normal() != generator(3, "b").normal()
