import pytest

from epir.core.errors import ConfigError
from epir.faces.settings import FaceSettings


def test_wrong_choices_are_refused_with_the_nearest():
    with pytest.raises(ConfigError, match=r"\[face.detector\] has no choice 'mtcn'\n  fix: did you mean 'mtcnn'"):
        FaceSettings(detector="mtcn")
    with pytest.raises(
        ConfigError, match=r"\[face.choice\] has no choice 'first'\n  fix: use one of: central, largest"
    ):
        FaceSettings(choice="first")
    with pytest.raises(ConfigError, match=r"face.min_face cannot be 5\n  fix: give a width in pixels from 20"):
        FaceSettings(min_face=5)
    with pytest.raises(ConfigError, match=r"face.margin cannot be -1"):
        FaceSettings(margin=-1)
