import pytest

from epir.core.people import plain_name, probably_one


@pytest.mark.parametrize(
    ("one", "other"),
    [("Anna", "anna "), ("01", "1"), ("sub01", "Sub 1"), ("casme2/sub_01", "CASME2/sub1"), ("s11-000001", "s11-001")],
)
def test_two_spellings_of_one_name(one, other):
    assert plain_name(one) == plain_name(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [("1", "10"), ("casme2/01", "samm/01"), ("s1-11", "s11-1"), ("anna", "anne"), ("+", "-"), ("0", "")],
)
def test_different_people_stay_different(one, other):
    assert plain_name(one) != plain_name(other)


def test_groups_are_named_and_lone_names_are_not():
    assert probably_one(["m/Anna", "m/anna ", "m/1", "m/01", "m/ben", "n/1"]) == [
        ("m/01", "m/1"),
        ("m/Anna", "m/anna "),
    ]
