import pytest

from epir.core.config import override
from epir.core.errors import ConfigError
from epir.web.settings import ServeSettings


def test_private_by_default():
    assert ServeSettings().private
    assert not ServeSettings(host="0.0.0.0").private


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("port=99999", r"the port cannot be 99999\n  fix: .*1024 to 65535"),
        ("max_seconds=0", r"max_seconds cannot be 0\n  fix: give a number above 0"),
        ("timeout_s=inf", r"timeout_s cannot be inf\n  fix: give a finite number"),
        ("workers=0", r"workers cannot be 0"),
        ("queue=-1", r"queue cannot be -1\n  fix: give 0 to 10,000"),
        ("live_sessions=0", r"live_sessions cannot be 0\n  fix: give a number above 0"),
        ("token='two words'", r"the token contains a space .*\n  fix: use ASCII"),
        ("max_second=5", r"there is no setting 'max_second'\n  fix: did you mean 'max_seconds'"),
    ],
)
def test_impossible_settings_are_refused(change, message):
    with pytest.raises(ConfigError, match=message):
        override(ServeSettings(), [change])


def test_limits_are_those_of_the_settings():
    limits = override(ServeSettings(), ["max_seconds=5", "max_bytes=1000"]).limits()
    assert (limits["seconds"], limits["bytes"]) == (5, 1000)
