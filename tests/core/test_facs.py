import pytest

from epir.core.facs import CD6ME_UNITS, UNITS, names_a_side, parse_units


@pytest.mark.parametrize(
    ("annotation", "units"),
    [
        ("4+L10", {4: "both", 10: "left"}),
        ("R12", {12: "right"}),
        ("(R6 or R12)+R15", {6: "right", 12: "right", 15: "right"}),
        ("(R6 or R12) + R15", {6: "right", 12: "right", 15: "right"}),
        ("R6A+R12", {6: "right", 12: "right"}),
        ("12B", {12: "both"}),
        ("10A/B", {10: "both"}),  # an intensity between A and B
        ("R14A or 17A or 24A", {14: "right", 17: "both", 24: "both"}),
        ("A12+A7", {12: "both", 7: "both"}),  # asymmetrical: both sides, one of them stronger
        ("A/L12", {12: "left"}),
        ("7C+A12B", {7: "both", 12: "both"}),
        ("A1B+A2C", {1: "both", 2: "both"}),
        ("T23", {23: "both"}),  # the upper lip alone
        ("12A+ref(24)", {12: "both", 24: "both"}),
        ("ref(L10)+A12B", {10: "left", 12: "both"}),
        ("R14+17+soft focus", {14: "right", 17: "both"}),
        ("4D+ref(6)+7C+43E", {4: "both", 6: "both", 7: "both", 43: "both"}),
        ("L12+R12", {12: "both"}),
        ("12?", {12: "both"}),
        ("?L12?", {12: "left"}),
        ("AU6, AUR12", {6: "both", 12: "right"}),
        ("l1+r2", {1: "left", 2: "right"}),
        ("1 + 2 + 25", {1: "both", 2: "both", 25: "both"}),
        ("", {}),
        ("none", {}),
    ],
)
def test_annotations_are_read_as_annotators_write_them(annotation, units):
    assert parse_units(annotation) == units


def test_only_a_letter_before_the_number_names_a_side():
    assert names_a_side("4+L10") and names_a_side("(R6 or R12)")
    assert not any(map(names_a_side, ("4+10", "12B", "A12", "T23", "")))


def test_the_units_of_the_benchmark_are_among_those_known():
    assert set(CD6ME_UNITS) <= set(UNITS) and len(CD6ME_UNITS) == 12 and len(UNITS) == 17
