"""The queue: bounded, fair, and honest about places."""

import threading

import pytest

from epir.web.jobs import Job, JobQueue
from epir.web.problems import Problem, Refused


def job(**options):
    return Job({}, 1.0, **options)


def queued(queue, count):
    jobs = []
    for _ in range(count):
        queue.reserve()
        jobs.append(queue.submit(job()))
    return jobs


def test_first_come_first_served_with_places():
    queue = JobQueue(places=3, workers=1)
    jobs = queued(queue, 3)
    assert [queue.place(each) for each in jobs] == [1, 2, 3]
    assert queue.take() is jobs[0]
    assert [queue.place(each) for each in jobs] == [0, 1, 2]
    assert jobs[0].state == "running"
    assert queue.counts() == {"running": 1, "waiting": 2, "capacity": 3}


def test_a_full_queue_refuses_with_the_time_to_come_back():
    queue = JobQueue(places=1, workers=1)
    jobs = queued(queue, 2)  # one will run, one waits
    with pytest.raises(Refused, match=r"the server is busy: .*\n  fix: try again in") as refused:
        queue.reserve()
    assert refused.value.status == 503
    assert 1 <= int(refused.value.headers["Retry-After"]) <= 120
    queue.take()
    jobs[0].finish({}, {})
    queue.ended(jobs[0], 1.0)
    queue.reserve()


def test_a_place_is_held_while_the_body_is_read():
    queue = JobQueue(places=0, workers=1)
    queue.reserve()
    with pytest.raises(Refused, match="busy"):
        queue.reserve()
    queue.release()
    queue.reserve()


def test_live_is_served_at_once_or_not_at_all():
    queue = JobQueue(places=8, workers=1)
    queue.reserve_now()
    queue.release()
    queued(queue, 1)
    with pytest.raises(Refused, match=r"busy.*\n  fix: try again in 1 second$"):
        queue.reserve_now()


def test_chores_wait_behind_everything_and_take_no_place():
    queue = JobQueue(places=0, workers=1)
    chore = queue.submit(job(chore=True))
    (work,) = queued(queue, 1)
    assert queue.take() is work
    assert queue.take() is chore
    assert queue.counts()["running"] == 1


def test_a_job_that_waits_can_be_cancelled_and_removes_its_files(tmp_path):
    queue = JobQueue(places=2, workers=1)
    folder = tmp_path / "upload"
    folder.mkdir()
    queue.reserve()
    waiting = queue.submit(job(folder=folder))
    queue.cancel(waiting)
    assert waiting.state == "failed"
    assert waiting.problem.problem == "this was cancelled"
    assert not folder.exists()
    assert queue.counts()["waiting"] == 0


def test_a_job_ends_once():
    one = job()
    one.finish({"label": "positive"}, {})
    one.fail(Problem("late", "never"))
    assert one.state == "done"
    assert one.outcome.done()


def test_closing_wakes_the_workers():
    queue, taken = JobQueue(places=2, workers=1), []
    thread = threading.Thread(target=lambda: taken.append(queue.take()))
    thread.start()
    queue.close()
    thread.join(timeout=10)
    assert taken == [None]
    with pytest.raises(Refused, match="the server is being shut down"):
        queue.reserve()


def test_closing_tells_those_who_wait():
    queue = JobQueue(places=2, workers=1)
    jobs = queued(queue, 2)
    queue.close()
    assert {each.problem.problem for each in jobs} == {"the server is being shut down"}


def test_the_time_to_come_back_learns_from_what_jobs_take():
    def retry(seconds):
        queue = JobQueue(places=4, workers=1)
        for _ in range(30):
            (one,) = queued(queue, 1)
            queue.take()
            one.finish({}, {})
            queue.ended(one, seconds)
        queued(queue, 5)
        with pytest.raises(Refused) as refused:
            queue.reserve()
        return int(refused.value.headers["Retry-After"])

    assert retry(0.2) < retry(3) < retry(20)
