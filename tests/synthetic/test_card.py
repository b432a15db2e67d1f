import pytest

import epir
from epir.core.errors import ConfigError
from epir.synthetic.card import data_card
from epir.synthetic.corpus import CorpusSettings, plan_corpus


def test_a_data_card_counts_what_is_there():
    settings = CorpusSettings(people=2, clips=3, idle=1, size=96, fps=50)
    plans = plan_corpus(settings)
    card = data_card(settings, plans)
    head = card.split("---")[1].splitlines()
    assert "license: apache-2.0" in head and "- n<1K" in head and "- video-classification" in head
    counted = [int(line.split("|")[2]) for line in card.splitlines() if line.startswith("| ") and "clips" not in line]
    assert sum(counted) == len(plans) == 8
    assert f"{len(plans)} clips of 2 synthetic people" in card and "96 x 96 px, 50 frames a second" in card
    assert "- 1K<n<10K" in data_card(settings, plans * 500)


def test_synth_writes_a_corpus_from_python(tmp_path):
    made = epir.synth(tmp_path / "c", people=1, clips=1, idle=0, size=96, fps=50)
    assert (made.people, made.clips) == (1, 1) and (tmp_path / "c" / "README.md").read_text().startswith("---\nlicense")
    with pytest.raises(ConfigError, match="'peple'"):
        epir.synth(tmp_path / "d", peple=1)
