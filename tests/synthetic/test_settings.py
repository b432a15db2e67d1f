import pytest

from epir.core.config import override
from epir.core.errors import ConfigError
from epir.synthetic.settings import CorpusSettings


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"people": 0}, r"a corpus of 0 people is empty\n  fix: give --people 1 or more"),
        ({"clips": 0, "idle": 0}, r"are no clips\n  fix: give --clips 1 or more"),
        ({"clips": -1}, r"-1 clips with and 3 without"),
        ({"classes": 1}, r"there is no list of 1 classes\n  fix: use one of: 3, 5, 7"),
        ({"size": 40}, r"a frame cannot be 40 px wide\n  fix: give --size from 96 to 2048"),
        ({"size": 5000}, r"a frame cannot be 5000 px wide"),
        ({"fps": 5.0}, r"at 5 frames a second .* no frame between"),
        ({"quality": 0}, r"the jpg quality cannot be 0\n  fix: give --quality from 1 to 100"),
        ({"picture": "gif"}, r"\[picture\] has no choice 'gif'"),
    ],
)
def test_what_cannot_be_drawn_is_refused_before_anything_is_drawn(changes, words):
    with pytest.raises(ConfigError, match=words):
        CorpusSettings(**changes)


def test_nuisances_are_changed_by_their_dotted_names():
    assert override(CorpusSettings(), ["nuisances.blink=0.5", "people=3"]).nuisances.blink == 0.5
    with pytest.raises(ConfigError, match=r"\[nuisances\] has no setting 'blnk'\n  fix: did you mean 'blink'\?"):
        override(CorpusSettings(), ["nuisances.blnk=0.5"])
