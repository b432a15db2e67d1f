"""Which clips a report shows: the surest right answers and the surest wrong ones, from every class in turn."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace

from epir.core.records import Prediction
from epir.evaluation.store import Run
from epir.reports.tokens import Tokens, read_tokens


@dataclass(frozen=True)
class Example:
    """A strict prediction and what the model did with the clip's tokens to make it."""

    prediction: Prediction
    tokens: Tokens | None

    @property
    def is_right(self) -> bool:
        """Whether the strict answer was the truth."""
        return self.prediction.strict == self.prediction.truth


def choose_examples(run: Run, *, right: int = 6, wrong: int = 6) -> tuple[Example, ...]:
    """Right ones first; all of the first seed, so that a clip has one prediction."""
    seed = min(each.seed for each in run.predictions)
    mine = [each for each in run.predictions if each.seed == seed]
    chosen = [
        *_surest([each for each in mine if each.strict == each.truth], right),
        *_surest([each for each in mine if each.strict != each.truth], wrong),
    ]
    tokens = clip_tokens(run, {each.key for each in chosen}, seed)
    return tuple(Example(each, tokens.get(each.key)) for each in chosen)


def clip_tokens(run: Run, keys: set[str], seed: int) -> dict[str, Tokens]:
    """The tokens of some clips under one seed; empty for a model that does not explain itself.

    A model without token selection scores the tokens but chooses none, so its choices are left out.
    """
    selects = getattr(run.experiment.model, "selection", True)
    found = {}
    for fold in run.folds:
        if fold.seed == seed:
            for clip in fold.clips:
                key = f"{clip.corpus}/{clip.subject}/{clip.clip}"
                if key in keys and clip.tokens is not None:
                    tokens = read_tokens(clip.tokens, f"the fold {fold.fold} of {run.folder}")
                    found[key] = tokens if selects else replace(tokens, selected=())
    return found


def _surest(predictions: Sequence[Prediction], most: int) -> list[Prediction]:
    """Up to `most`, taking turns between the true classes, the highest score of the answer first."""
    by_class: dict[str, list[Prediction]] = defaultdict(list)
    for each in sorted(predictions, key=lambda each: (-max(each.scores), each.key)):
        by_class[each.truth].append(each)
    turns = [queue[turn] for turn in range(most) for _, queue in sorted(by_class.items()) if turn < len(queue)]
    return turns[:most]
