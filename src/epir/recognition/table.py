"""Many answers -> one table."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from epir.recognition.answer import Answer

if TYPE_CHECKING:
    import pandas as pd


def answers_table(
    answers: Sequence[Answer], errors: Mapping[str, str] | None = None, labels: Sequence[str] = ()
) -> "pd.DataFrame":
    """One row per movement, with a score column per class; inputs that failed come last, with their error."""
    import pandas as pd

    names = list(labels) or list(next((each.scores for each in answers if each.scores), {}))
    rows = [_row(movement, names) for answer in answers for movement in (answer.all or (answer,))]
    rows += [{"input": name, "error": problem} for name, problem in (errors or {}).items()]
    columns = ["input", "label", "confidence", "onset", "apex", "offset", "fps", *names, "warnings", "error"]
    table = pd.DataFrame(rows, columns=columns)
    return table.astype({name: "Int64" for name in ("onset", "apex", "offset")})


def _row(answer: Answer, names: Sequence[str]) -> dict[str, Any]:
    scores = {name: answer.scores.get(name) for name in names}
    own = {name: getattr(answer, name) for name in ("input", "label", "confidence", "onset", "apex", "offset", "fps")}
    return {**own, **scores, "warnings": "; ".join(answer.warnings), "error": ""}
