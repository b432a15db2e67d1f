import numpy as np

from epir.synthetic.identity import draw_identity


def test_the_same_name_is_the_same_person_and_another_is_another():
    assert draw_identity(0, "001") == draw_identity(0, "001")
    assert draw_identity(0, "001") != draw_identity(0, "002")
    assert draw_identity(0, "001") != draw_identity(1, "001")


def test_people_differ_in_everything_that_can_be_seen():
    people = [draw_identity(0, str(number)) for number in range(300)]
    looks = [person.looks for person in people]
    for name, least in (("hair", 9), ("beard", 5), ("glasses", 4), ("clothes", 4), ("iris", 6)):
        assert len({getattr(one, name) for one in looks}) >= least, name
    tones = np.array([one.tone for one in looks])
    assert np.histogram(tones, bins=5, range=(0, 1))[0].min() > 35, "skin tones cover the human range evenly"
    assert np.std([person.geometry.mouth_half for person in people]) > 0.2


def test_the_parts_of_every_face_are_in_their_places():
    for number in range(300):
        g = draw_identity(4, str(number)).geometry
        assert g.top < g.hairline < g.brow_y < g.eye_y < g.nose_y < g.mouth_y - g.lip_upper
        assert g.mouth_y + g.lip_lower + 3 < g.chin
        assert g.eye_x - g.eye_half > 2 and g.lip_upper > 0.4 and g.lip_lower > 0.6 and 0.6 < g.eye_open < 1.4
