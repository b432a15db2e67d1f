"""Results are forgotten: in time, when there are too many, when they are too large."""

import pytest

from epir.web.jobs import Job, JobQueue
from epir.web.problems import Refused
from epir.web.results import Results, told


def ended(results, size=10, at=None):
    job = Job({}, 1.0)
    results.add(job)
    job.finish({"label": "positive"}, {"why.png": bytes(size)})
    if at is not None:
        job.ended = at
    return job


def known(results, jobs):
    def there(job):
        try:
            return results.get(job.id) is job
        except Refused:
            return False

    return [there(job) for job in jobs]


def test_the_oldest_go_when_there_are_too_many(monkeypatch):
    results = Results(most=3, most_bytes=1000, seconds=60)
    clock = iter(range(1000, 2000))
    monkeypatch.setattr("time.time", lambda: next(clock) * 1e-3)
    jobs = [ended(results) for _ in range(5)]
    assert known(results, jobs) == [False, False, True, True, True]


def test_the_oldest_go_when_they_are_too_large(monkeypatch):
    results = Results(most=50, most_bytes=100, seconds=60)
    clock = iter(range(1000, 2000))
    monkeypatch.setattr("time.time", lambda: next(clock) * 1e-3)
    jobs = [ended(results, size=40) for _ in range(4)]
    assert known(results, jobs) == [False, False, True, True]
    alone = ended(results, size=4000)
    assert known(results, [*jobs, alone]) == [False, False, False, False, True]


def test_time_passes(monkeypatch):
    results = Results(most=50, most_bytes=1000, seconds=60)
    job = ended(results)
    now = job.ended
    monkeypatch.setattr("time.time", lambda: now + 59)
    assert known(results, [job]) == [True]
    monkeypatch.setattr("time.time", lambda: now + 60)
    assert known(results, [job]) == [False]


def test_what_has_not_ended_is_never_forgotten():
    results = Results(most=1, most_bytes=1, seconds=1e-9)
    jobs = [Job({}, 1.0) for _ in range(9)]
    for job in jobs:
        results.add(job)
    assert known(results, jobs) == [True] * 9


def test_an_unknown_result_is_refused_with_words():
    with pytest.raises(
        Refused, match=r"there is no such result.*\n  fix: send the video again; .* 30 minutes"
    ) as error:
        Results(most=1, most_bytes=1, seconds=1800).get("x")
    assert error.value.status == 404


def test_what_is_told_about_a_job():
    results, queue = Results(most=3, most_bytes=1000, seconds=60), JobQueue(3, 1)
    queue.reserve()
    job = queue.submit(Job({}, 1.0, id="abc"))
    results.add(job)
    assert told(job, queue, results) == {
        "id": "abc",
        "state": "queued",
        "place": 1,
        "stage": "",
        "done": 0,
        "total": 0,
        "result": None,
        "error": None,
        "expires": None,
    }
    job.finish({"label": "x"}, {})
    job.ended = 0.0
    assert told(job, queue, results)["expires"] == "1970-01-01T00:01:00+00:00"
