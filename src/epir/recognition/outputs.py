"""An answer -> files: the picture of why for each movement, the timeline, the annotated video, the values."""

import json
from pathlib import Path
from typing import Any

from epir.core.files import whole_folder
from epir.core.progress import Progress, Silent
from epir.recognition.answer import Answer


def write_outputs(
    given: Any, answer: Answer, folder: str | Path, *, force: bool = False, progress: Progress | None = None
) -> list[Path]:
    """Write all there is to see about an answer into a folder, and say what was written."""
    from epir.recognition.video import write_video
    from epir.reports.why import draw_timeline, draw_why, save_picture

    folder, answers = Path(folder), answer.all or (answer,)
    with whole_folder(folder, force=force) as place:
        written = [
            save_picture(draw_why(each), place / ("why.png" if len(answers) == 1 else f"why-{number}.png"))
            for number, each in enumerate(answers, start=1)
            if each.found
        ]
        if answer.timeline is not None:
            written.append(save_picture(draw_timeline(answer), place / "timeline.png"))
            written.append(write_video(given, answer, place / "annotated.mp4", progress or Silent()))
        values = json.dumps({"answers": [each.to_dict() for each in answers]}, indent=1)
        written.append(place / "answer.json")
        written[-1].write_text(values + "\n", encoding="utf-8")
    return [folder / path.name for path in written]
