from epir.web.looking import judged_on


def test_scores_calibrated_on_invented_people_are_told_as_such():
    assert judged_on({"data": {"corpora": {"synthetic": 20000}}}) == "invented people"
    assert judged_on({"data": {"corpora": {"casme2": 145, "synthetic": 10}}}) == "people"
    assert judged_on({}) == "people"
