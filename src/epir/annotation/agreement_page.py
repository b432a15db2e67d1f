"""Agreement between coders as tables, and as an HTML page."""

from collections.abc import Sequence

from epir.annotation.adjudication import Case, disagreements
from epir.annotation.agreement import KEYS, Agreement, Kappa, PairAgreement
from epir.annotation.records import Decision
from epir.annotation.study import Study
from epir.core.table import MISSING, Column, Row, Table, interval_text, numbers
from epir.core.words import counted, people
from epir.reports.markup import Markup, element, html_table, join, section, whole_page

QUESTIONS = {"candidates": "accept, reject or unsure", "emotion": "emotion", "kind": "micro or macro"}
MATCHED = "of the matched movements"


def agreement_tables(result: Agreement) -> list[Table]:
    """The tables for a terminal: coders, pairs, and all coders together."""
    return [coders_table(result), pairs_table(result), alpha_table(result)]


def coders_table(result: Agreement) -> Table:
    """The number of decisions of each coder, by state."""
    states = list(next(iter(result.decisions.values())))
    rows = [Row((name, *(str(counts[state]) for state in states))) for name, counts in result.decisions.items()]
    columns = (Column("coder"), *numbers(*states))
    return Table("coders", f"Coders of {result.study}", columns, tuple(rows))


def pairs_table(result: Agreement) -> Table:
    """One row per pair of coders."""
    columns = (
        Column("coders"),
        *numbers("recordings", "people"),
        *numbers("matched", "of each", "F1", "IoU", group="movements"),
        *numbers("apex, ms", group="apart"),
        *numbers("same", "kappa", "95 %", group="emotion"),
        *numbers("reliability", group="units"),
    )
    rows = []
    for pair in result.pairs:
        cells = (
            f"{pair.first}, {pair.second}",
            str(pair.recordings),
            str(pair.people),
            str(pair.matched),
            f"{pair.accepted[0]} and {pair.accepted[1]}",
            _number(pair.f1),
            _number(pair.iou),
            _number(pair.apart_ms["apex"], 0),
            f"{pair.emotion.same} of {pair.emotion.compared}",
            _number(pair.emotion.kappa),
            interval_text(pair.emotion.interval),
            _number(pair.unit_reliability),
        )
        rows.append(Row(cells))
    notes = (
        f"Movements are matched one to one if their intersection over union is at least {result.least_overlap:g}; F1 "
        "is twice the matched movements over all. Times are medians. Intervals: bootstrap over people.",
        f"Units: twice those on which both agree over all units of both, {MATCHED}, as CASME II and SAMM print it.",
        *(note for pair in result.pairs for note in _unseen(pair)),
    )
    return Table("pairs", "Agreement between coders", columns, tuple(rows), notes)


def _unseen(pair: PairAgreement) -> list[str]:
    names = (pair.first, pair.second)
    return [
        f"Left out: {counted(number, 'candidate')} that {names[place]} accepted and {names[1 - place]} has not seen."
        for place, number in enumerate(pair.unseen)
        if number
    ]


def alpha_table(result: Agreement) -> Table:
    """Krippendorff's alpha over all coders."""
    rows = [Row((QUESTIONS[name], str(alpha.compared), _number(alpha.alpha))) for name, alpha in result.alpha.items()]
    columns = (Column("question"), *numbers("movements", "alpha"))
    title = f"Krippendorff's alpha of {counted(len(result.coders), 'coder')}, nominal"
    return Table("alpha", title, columns, tuple(rows))


def confusion_table(pair: PairAgreement, kappa: Kappa, what: str) -> Table:
    """Which words two coders used for the same movements."""
    rows = [
        Row((word, *(str(count) if count else MISSING for count in counts), str(sum(counts))))
        for word, counts in zip(kappa.words, kappa.confusion, strict=True)
    ]
    columns = (Column(pair.first), *numbers(*kappa.words, group=pair.second), *numbers("all"))
    between = f" ({interval_text(kappa.interval)})" if kappa.interval else ""
    note = f"Same answer {kappa.same} times of {kappa.compared}; kappa {_number(kappa.kappa)}{between}."
    return Table(
        f"confusion-{pair.first}-{pair.second}", f"{what}: {pair.first} in rows", columns, tuple(rows), (note,)
    )


def unit_agreement_table(pair: PairAgreement) -> Table:
    """Every action unit that at least one of two coders saw."""
    columns = (
        Column("AU"),
        *numbers(pair.first, pair.second, "both", group="movements with it"),
        *numbers("reliability", "kappa", "same side"),
        *numbers("same", "within one", group="intensity"),
    )
    rows = [
        Row((
            str(unit.unit), str(unit.first), str(unit.second), str(unit.both), _number(unit.reliability),
            _number(unit.kappa), _share(unit.same_side, unit.both), _share(unit.same_intensity, unit.graded),
            _share(unit.near_intensity, unit.graded),
        ))
        for unit in pair.units
    ]  # fmt: skip
    note = f"All units: {_number(pair.unit_reliability)} {MATCHED}, {_number(pair.unit_reliability_of_all)} of all."
    return Table(f"units-{pair.first}-{pair.second}", "Action units", columns, tuple(rows), (note,))


def times_table(pair: PairAgreement) -> Table:
    """The median distance between key frames."""
    rows = [Row((key, _number(pair.apart_frames[key], 1), _number(pair.apart_ms[key], 0))) for key in KEYS]
    columns = (Column("key frame"), *numbers("frames", "ms"))
    title = f"Median distance, {counted(pair.matched, 'matched movement')}"
    return Table(f"times-{pair.first}-{pair.second}", title, columns, tuple(rows))


def disagreements_table(study: Study, cases: Sequence[Case], coders: Sequence[str]) -> Table:
    """The movements on which coders differ, with every decision and the settled one."""
    recordings = {recording.id: recording for recording in study.recordings()}
    words = map(Column, ("differs in", *coders, "settled"))
    columns = (Column("recording"), *numbers("apex", "s"), *words)
    rows = []
    for case in cases:
        recording = recordings[case.recording]
        texts = (decision_text(case.decisions.get(name)) for name in coders)
        settled = decision_text(case.settled) if case.settled else ""
        start = (recording.path, str(case.apex), f"{case.apex / recording.fps:.2f}", ", ".join(case.differs))
        rows.append(Row((*start, *texts, settled)))
    return Table("disagreements", counted(len(rows), "disagreement"), columns, tuple(rows))


def decision_text(decision: Decision | None) -> str:
    """A decision in a few words.

    >>> decision_text(Decision(1, "anna", "accept", 10, 14, 20, emotion="fear"))
    'fear, 10-14-20'
    """
    if decision is None:
        return MISSING
    if decision.state != "accept":
        return decision.state
    units = " ".join(map(str, decision.units))
    kind = "" if decision.kind == "micro" else decision.kind
    frames = f"{decision.onset}-{decision.apex}-{decision.offset}"
    return ", ".join(filter(None, (decision.emotion or "unnamed", kind, units and f"AU {units}", frames)))


def agreement_page(study: Study, result: Agreement) -> str:
    """The whole page as HTML."""
    cases = disagreements(study, result.least_overlap)
    parts: list[tuple[str, str, Markup]] = [
        ("all", "All coders", join(*(html_table(table) for table in agreement_tables(result))))
    ]
    for number, pair in enumerate(result.pairs, start=1):
        tables = [times_table(pair)]
        tables += [confusion_table(pair, pair.emotion, "Emotion")] if pair.emotion.compared else []
        tables += [confusion_table(pair, pair.candidates, "Candidates")] if pair.candidates.compared else []
        tables += [unit_agreement_table(pair)] if pair.units else []
        parts.append((f"pair-{number}", f"{pair.first} and {pair.second}", join(*map(html_table, tables))))
    settled = sum(case.settled is not None for case in cases)
    lead = element("p", f"{settled} of {len(cases)} settled. To settle the rest: ", class_="lead")
    command = element("p", element("code", f"epir annotate {study.folder.name} --coder agreed"), class_="note")
    listed = join(lead, command, html_table(disagreements_table(study, cases, result.coders)))
    parts.append(("disagreements", "Disagreements", listed if cases else element("p", "None.", class_="lead")))
    recordings = study.recordings()
    facts = f"{counted(len(recordings), 'recording')}, {people(len({recording.person for recording in recordings}))}."
    header = element(
        "header",
        element("p", "EPIR report", class_="eyebrow"),
        element("h1", f"Agreement of {', '.join(result.coders)}"),
        element("p", f"The study {result.study}: {facts}", class_="lead"),
    )
    links = element("nav", *(element("a", title, href=f"#{ident}") for ident, title, _ in parts), aria_label="Contents")
    return whole_page(f"Agreement on {result.study}", join(header, links, *(section(*part) for part in parts)))


def _number(value: float, places: int = 2) -> str:
    return MISSING if value != value else f"{value:.{places}f}"


def _share(part: int, whole: int) -> str:
    return f"{part} of {whole}" if whole else MISSING
