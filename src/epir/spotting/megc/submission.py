"""Write intervals as submission files of the MEGC challenges of 2022 to 2025.

| challenge | columns | types |
|---|---|---|
| `2022` (spotting) | vid,pred_onset,pred_offset,type | me, mae |
| `2023`, `2024` (spotting) | vid,onset,offset,type | me, mae |
| `2024-str`, `2025` (spot, then recognise) | subject,video,onset,offset,emotion | micro-expressions of three classes |

Each challenge takes one file per corpus, `cas_pred.csv` and `samm_pred.csv`, with frames counted from 1. For the last
format, the organisers published the order of the columns but not the header. In 2024 they used it for CAS(ME)^2 and
SAMM-LV with subjects as plain numbers (1 to 22 as in the sheet of CAS(ME)^2, 6 for SAMM's 006), in 2025 for unseen
videos.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal

from epir.core.config import check_known
from epir.core.errors import EpirError
from epir.core.files import csv_text
from epir.datasets.casme_sq import SUBJECTS
from epir.datasets.intervals import Kind
from epir.datasets.protocols import THREE
from epir.datasets.spelling import subject_number

Corpus = Literal["cas", "samm"]
FILES: dict[Corpus, str] = {"cas": "cas_pred.csv", "samm": "samm_pred.csv"}
TYPES: dict[Kind, str] = {"micro": "me", "macro": "mae"}
SPOTTING_HEADERS = {
    "2022": ("vid", "pred_onset", "pred_offset", "type"),
    "2023": ("vid", "onset", "offset", "type"),
    "2024": ("vid", "onset", "offset", "type"),
}
RECOGNITION_HEADER = ("subject", "video", "onset", "offset", "emotion")
RECOGNITION = ("2024-str", "2025")
CHALLENGES = (*SPOTTING_HEADERS, *RECOGNITION)


@dataclass(frozen=True, slots=True)
class SubmittedInterval:
    """One interval of a video; frames are counted from 1, both ends included."""

    corpus: Corpus
    subject: str  # 001, dzw
    video: str  # 001_2, a1
    kind: Kind
    onset: int
    offset: int
    emotion: str = ""  # of a micro-expression

    def __post_init__(self) -> None:
        if not 1 <= self.onset <= self.offset:
            raise EpirError(
                f"{self.vid}: an interval cannot go from frame {self.onset} to {self.offset}",
                fix="count frames from 1, and end intervals at or after their onset",
            )

    @property
    def vid(self) -> str:
        """The name of the video in formats without a column for the subject: `001_2`, `dzw_a1`."""
        return self.video if self.video.startswith(f"{self.subject}_") else f"{self.subject}_{self.video}"


def name_video(name: str, subject: str = "", corpus: str = "") -> tuple[Corpus, str, str]:
    """Corpus, subject and video as the challenges name them, from the name of a file or folder.

    >>> name_video("001_2"), name_video("dzw_a1"), name_video("a1", "dzw", "casme3-lv")
    (('samm', '001', '001_2'), ('cas', 'dzw', 'a1'), ('cas', 'dzw', 'a1'))
    """
    prefix, _, rest = name.partition("_")
    known = corpus.casefold()
    is_samm = known.startswith("samm") or (not known.startswith("cas") and re.fullmatch(r"\d{3}_\d+", name) is not None)
    if not subject and not rest:
        raise EpirError(
            f"the name {name!r} does not say whose video it is",
            fix="name videos as the challenge does: 001_2 (SAMM), dzw_a1 (CAS)",
        )
    if is_samm:
        return "samm", subject or prefix, name
    video = name.removeprefix(f"{subject}_") if subject else rest
    return "cas", _sheet_subject(subject) if known == "casme-sq" else subject or prefix, video


def submission_files(challenge: str, intervals: Iterable[SubmittedInterval]) -> dict[str, str]:
    """The content of both files by name; without intervals, a file has only its header.

    Rows are sorted by video and onset. Spot-then-recognise takes only micro-expressions of the three classes.
    """
    check_known(challenge, CHALLENGES, what="challenge")
    rows = sorted(intervals, key=lambda each: (each.vid, each.onset, each.offset, each.kind))
    files = {}
    for corpus, name in FILES.items():
        of_corpus = [each for each in rows if each.corpus == corpus]
        if challenge in RECOGNITION:
            named = [
                replace(each, emotion=each.emotion.strip().casefold()) for each in of_corpus if each.kind == "micro"
            ]
            kept = [each for each in named if each.emotion in THREE]
            files[name] = csv_text(
                RECOGNITION_HEADER, [_recognised(each, plain=challenge == "2024-str") for each in kept]
            )
        else:
            files[name] = csv_text(SPOTTING_HEADERS[challenge], [_spotted(each) for each in of_corpus])
    return files


def _spotted(each: SubmittedInterval) -> tuple[object, ...]:
    return each.vid, each.onset, each.offset, TYPES[each.kind]


def _recognised(each: SubmittedInterval, *, plain: bool) -> tuple[object, ...]:
    subject = str(int(each.subject)) if plain and each.subject.isdecimal() else each.subject
    return subject, each.video, each.onset, each.offset, each.emotion


def _sheet_subject(folder: str) -> str:
    """The number of a folder's person in the sheet of CAS(ME)^2: 1 for `s15`."""
    number = subject_number(folder)
    return str(SUBJECTS.index(number) + 1) if number in SUBJECTS else folder
