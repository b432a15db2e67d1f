"""The queue is bounded and fair; results expire."""

import threading
from contextlib import ExitStack

import pytest

from epir.web.jobs import Job, JobQueue, ResultStore
from epir.web.problems import Problem, RequestError


def job(**options):
    return Job({}, 1.0, **options)


def queued(queue, count):
    return [queue.submit(job()) for _ in range(count)]


def test_first_come_first_served_with_places():
    queue = JobQueue(places=3, workers=1)
    jobs = queued(queue, 3)
    assert [queue.place(each) for each in jobs] == [1, 2, 3]
    assert queue.take() is jobs[0]
    assert [queue.place(each) for each in jobs] == [0, 1, 2]
    assert jobs[0].state == "running"
    assert queue.counts() == {"running": 1, "waiting": 2, "receiving": 0, "capacity": 3}


def test_a_full_queue_refuses_with_retry_after():
    queue = JobQueue(places=1, workers=1)
    jobs = queued(queue, 2)  # one will run, one waits
    with pytest.raises(RequestError, match=r"the server is busy: .*\n  fix: try again in") as refused:
        queue.submit(job())
    assert refused.value.status == 503
    assert 1 <= int(refused.value.headers["Retry-After"]) <= 120
    with pytest.raises(RequestError, match="busy"), queue.receiving():
        pass  # refused before its body is read
    queue.take()
    jobs[0].finish({}, {})
    queue.ended(jobs[0], 1.0)
    queue.submit(job())


def test_uploads_that_arrive_take_no_place():
    queue = JobQueue(places=0, workers=1, receiving=18)
    with ExitStack() as slow:
        for _ in range(9):
            slow.enter_context(queue.receiving())
        assert queue.counts() == {"running": 0, "waiting": 0, "receiving": 9, "capacity": 0}
        queue.submit(job())  # a complete upload is served
        with pytest.raises(RequestError, match="the server is busy: its queue is full"), queue.receiving():
            pass
    assert queue.counts()["receiving"] == 0


def test_only_so_many_uploads_arrive_at_once():
    queue = JobQueue(places=8, workers=1, receiving=2)
    with ExitStack() as slow:
        slow.enter_context(queue.receiving())
        with pytest.raises(RequestError, match="your address already has 1 upload in progress") as share:
            slow.enter_context(queue.receiving())  # this machine included
        slow.enter_context(queue.receiving("10.0.0.1"))
        with pytest.raises(RequestError, match="too many uploads at once") as refused:
            slow.enter_context(queue.receiving("10.0.0.2"))
    assert (share.value.status, refused.value.status) == (429, 503)


def test_an_address_has_its_share_and_others_theirs():
    queue = JobQueue(places=8, workers=1, per_address=2)
    queue.submit(job(address="10.0.0.1"))
    with queue.receiving("10.0.0.1"):
        queue.submit(job(address="10.0.0.1"))  # the upload that has just arrived is not counted twice
    with pytest.raises(
        RequestError, match=r"your address already has 2 uploads in progress\n  fix: try again in"
    ) as refused:
        queue.submit(job(address="10.0.0.1"))
    assert refused.value.status == 429
    assert int(refused.value.headers["Retry-After"]) >= 1
    queue.submit(job(address="10.0.0.2"))
    for _ in range(4):
        queue.submit(job())  # this machine


def test_a_worker_without_a_process_leaves_jobs_to_a_ready_one():
    queue, order = JobQueue(places=8, workers=2), []

    def take(name, ready):
        order.append((name, queue.take(ready=ready)))

    cold = threading.Thread(target=take, args=("cold", False))
    warm = threading.Thread(target=take, args=("warm", True))
    cold.start()
    warm.start()
    while queue.ready < 1:
        pass
    first = queue.submit(job())
    warm.join()
    assert order == [("warm", first)]
    second = queue.submit(job())
    cold.join()
    assert order[1] == ("cold", second)


def test_waiting_for_a_job_can_end_without_one():
    assert JobQueue(places=8, workers=1).take(0.01) is None


def test_background_jobs_run_last_and_take_no_place():
    queue = JobQueue(places=0, workers=1)
    background = queue.submit(job(background=True))
    (work,) = queued(queue, 1)
    assert queue.take() is work
    assert queue.take() is background
    assert queue.counts()["running"] == 1


def test_a_job_that_waits_can_be_cancelled_and_removes_its_files(tmp_path):
    queue = JobQueue(places=2, workers=1)
    folder = tmp_path / "upload"
    folder.mkdir()
    waiting = queue.submit(job(folder=folder))
    queue.cancel(waiting)
    assert waiting.state == "failed"
    assert waiting.problem.problem == "this job was cancelled"
    assert not folder.exists()
    assert queue.counts()["waiting"] == 0


def test_a_job_ends_once():
    one = job()
    one.finish({"label": "positive"}, {})
    one.fail(Problem("late", "never"))
    assert one.state == "done"
    assert one.outcome.done()


def test_closing_wakes_the_workers_and_fails_the_jobs():
    idle, busy, taken = JobQueue(places=2, workers=1), JobQueue(places=2, workers=1), []
    thread, jobs = threading.Thread(target=lambda: taken.append(idle.take())), queued(busy, 2)
    thread.start()
    for queue in (idle, busy):
        queue.close()
    thread.join()
    assert taken == [None]
    assert {each.problem.problem for each in jobs} == {"the server is shutting down"}
    with pytest.raises(RequestError, match="the server is shutting down"):
        idle.submit(job())


def test_retry_after_follows_the_duration_of_jobs():
    def retry(seconds):
        queue = JobQueue(places=4, workers=1)
        for _ in range(30):
            (one,) = queued(queue, 1)
            queue.take()
            one.finish({}, {})
            queue.ended(one, seconds)
        queued(queue, 5)
        with pytest.raises(RequestError) as refused:
            queue.submit(job())
        return int(refused.value.headers["Retry-After"])

    assert retry(0.2) < retry(3) < retry(20)


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
        except RequestError:
            return False

    return [there(job) for job in jobs]


@pytest.mark.parametrize(
    ("limits", "sizes", "kept"),
    [
        ({"max_results": 3, "max_bytes": 1000}, [10] * 5, 3),
        ({"max_results": 50, "max_bytes": 100}, [40] * 4, 2),
        ({"max_results": 50, "max_bytes": 100}, [40, 40, 4000], 1),  # the latest stays, however large
    ],
)
def test_the_oldest_expire_when_there_are_too_many_or_they_are_too_large(monkeypatch, limits, sizes, kept):
    results = ResultStore(**limits, seconds=60)
    clock = iter(range(1000, 2000))
    monkeypatch.setattr("time.time", lambda: next(clock) * 1e-3)
    jobs = [ended(results, size=size) for size in sizes]
    assert known(results, jobs) == [False] * (len(jobs) - kept) + [True] * kept


def test_results_expire_after_their_time(monkeypatch):
    results = ResultStore(max_results=50, max_bytes=1000, seconds=60)
    job = ended(results)
    now = job.ended
    monkeypatch.setattr("time.time", lambda: now + 59)
    assert known(results, [job]) == [True]
    monkeypatch.setattr("time.time", lambda: now + 60)
    assert known(results, [job]) == [False]


def test_a_job_that_has_not_ended_never_expires():
    results = ResultStore(max_results=1, max_bytes=1, seconds=1e-9)
    jobs = [Job({}, 1.0) for _ in range(9)]
    for job in jobs:
        results.add(job)
    assert known(results, jobs) == [True] * 9


def test_an_unknown_result_is_refused():
    with pytest.raises(
        RequestError, match=r"there is no such result.*\n  fix: send the video again; .* 30 minutes"
    ) as error:
        ResultStore(max_results=1, max_bytes=1, seconds=1800).get("x")
    assert error.value.status == 404


def test_the_status_of_a_job():
    results, queue = ResultStore(max_results=3, max_bytes=1000, seconds=60), JobQueue(3, 1)
    job = queue.submit(Job({"name": "me.mp4"}, 1.0, id="abc"))
    results.add(job)
    status = {"id": "abc", "name": "me.mp4", "state": "queued", "place": 1, "stage": "", "done": 0, "total": 0}
    assert results.status(job, queue) == {**status, "result": None, "error": None, "expires": None}
    job.finish({"label": "x"}, {})
    job.ended = 0.0
    assert results.status(job, queue)["expires"] == "1970-01-01T00:01:00+00:00"
