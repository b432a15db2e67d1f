"""How well a final model does on people that training has not seen: by grouped folds, or on map sets kept apart.

Folds train the recipe again and again on some of the people. Where maps can be made at will, as of invented people, it
is cheaper and says more to keep some apart and let the final model itself predict them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from epir.core.errors import ProtocolError
from epir.core.records import Prediction
from epir.evaluation.samples import EvaluationSet, read_maps
from epir.evaluation.scores import score
from epir.recognition.calibration import Calibration, calibrate


@dataclass(frozen=True)
class Judgement:
    """Strict scores and the calibration that came with them."""

    strict: dict[str, Any]
    calibration: Calibration
    folds: int = 0  # 0: people kept apart
    clips: int = 0  # of the people kept apart
    people: int = 0

    def to_notes(self) -> dict[str, Any]:
        """Who was judged, for the notes of a model folder."""
        return {"folds": self.folds} if self.folds else {"clips": self.clips, "people": self.people}


def judged_by_folds(run: Any, classes: Sequence[str], folds: int) -> Judgement:
    """What a finished run of grouped folds says."""
    return Judgement(run.scores["strict"], calibrate(run.predictions, classes), folds=folds)


def judged_on(network: Any, apart: EvaluationSet, *, mirror: bool, shift: int) -> Judgement:
    """What the network says about people kept apart; each half of them is judged under the other's temperature."""
    from epir.training.fit import predict

    scores = predict(network, read_maps(apart.samples), mirror=mirror, shift=shift)  # (n, C)
    people = sorted({sample.clip.person for sample in apart.samples})
    half = {person: str(number % 2) for number, person in enumerate(people)}
    predictions = []
    for sample, row in zip(apart.samples, scores, strict=True):
        guess = apart.classes[int(row.argmax())]
        clip = sample.clip
        predictions.append(
            Prediction(
                corpus=clip.corpus,
                subject=clip.subject,
                clip=clip.clip,
                truth=sample.label,
                strict=guess,
                best_epoch=guess,
                seed=0,
                fold=half[clip.person],
                scores=tuple(float(value) for value in row),
            )
        )
    return Judgement(
        score(predictions, apart.classes, "strict"),
        calibrate(predictions, apart.classes),
        clips=len(predictions),
        people=len(people),
    )


def refuse_acquaintances(training: EvaluationSet, apart: EvaluationSet) -> None:
    """People kept apart must not be among those trained on, and must be asked about the same classes."""
    both = {clip.person for clip in training.clips} & {clip.person for clip in apart.clips}
    if both:
        raise ProtocolError(
            f"{len(both)} people are trained on and kept apart, for example {min(both)}",
            fix="keep other people apart; synthetic ones differ by --seed",
        )
    if apart.classes != training.classes:
        raise ProtocolError(
            f"the people kept apart show {', '.join(apart.classes)}, training {', '.join(training.classes)}",
            fix="give map sets with the same classes",
        )
