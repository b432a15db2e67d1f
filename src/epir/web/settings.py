"""The limits of the server: settings for `--set`, and constants."""

from dataclasses import dataclass

from epir.core.errors import ConfigError

MIB = 1 << 20
LOOPBACK = ("127.0.0.1", "::1", "localhost")

# Requests
MAX_FIELD = 8192  # bytes of a text field
MAX_BOUNDARY = 256
MAX_NAME = 120  # characters of a file name
MAX_DIGITS = 15  # of a frame number in a file name
DRAIN_S, DRAIN_BYTES = 5.0, 256 * MIB  # limits for reading the rest of a rejected body
RATE_GRACE_S = 10.0  # before a body must arrive at `min_rate`
DISCONNECT_S = 0.5  # between two checks whether a waiting client is still connected
KEEP_ALIVE_S, SHUTDOWN_S = 15, 3

# Worker processes
START_S = 180.0  # to load the model
RENDER_S = 300.0  # to render one example
CANCEL_S = 3.0  # to react to a cancelled job
PROGRESS_S = 0.1  # between two progress messages
MAX_MESSAGE = 256 * MIB  # one message or blob of a worker
MAX_BLOBS = 1000  # of one message
ESTIMATE_AFTER_S = 8.0  # of work before the remaining time is estimated
FIRST_JOB_S = 5.0  # estimate for a job before any has run

# Cameras
LIVE_WORKER_IDLE_S = 120.0  # after which a camera's worker process ends
LIVE_BATCH = 8  # frames per message to the worker
LIVE_MESSAGES = 2000  # kept for a client that reconnects
LIVE_BUFFER_BYTES, LIVE_BUFFER_FRAMES = 48 * MIB, 600  # waiting frames
LIVE_SPARSEST_S = 0.12  # between two frames after thinning; with larger gaps the spotter loses the face
LIVE_HEARTBEAT_S = 10.0  # at most, between two events
LIVE_GRACE_S = 10.0  # during which an ended session can still be read
LIVE_STATUS_S = 0.5  # between two status events

# Results
CURVE_POINTS = 1500  # of a timeline, about one per pixel of a screen
FILM_FRAMES, CLIP_FRAMES = 48, 240  # of one movement, and of the whole clip

WORKER_SETTINGS = (
    *("max_seconds", "max_frames", "max_pixels", "max_megapixels", "max_memory", "timeout_s"),
    *("live_side", "movements", "rejected"),
)


@dataclass(frozen=True)
class ServeSettings:
    """The address and the limits of the server; sizes in bytes, times in seconds."""

    host: str = "127.0.0.1"
    port: int = 7860  # 0: any free one
    names: tuple[str, ...] = ()  # further host names, such as that of a reverse proxy
    token: str = ""  # that every request must carry; empty: none
    workers: int = 1  # processes; each loads the model
    queue: int = 8  # uploads that may wait
    receiving: int = 32  # uploads that may arrive at once, at most half of them from one client
    per_address: int = 4  # uploads of one address that arrive, wait or run; no limit for this machine
    max_bytes: int = 256 * MIB  # of one request
    max_seconds: float = 300.0  # of a video
    max_frames: int = 12000
    max_pixels: int = 4096 * 4096  # of one frame or picture
    max_megapixels: float = 40_000.0  # of all frames together; a pixel of a picture counts 16 times
    max_pictures: int = 300  # in one clip
    max_memory: int = 4096 * MIB  # of a worker process, on Linux
    header_s: float = 15.0  # to receive the head of a request
    receive_s: float = 600.0  # to receive one request
    stall_s: float = 20.0  # without receiving a byte
    min_rate: float = 16 * 1024.0  # bytes per second of a body, on average, after its first seconds
    timeout_s: float = 300.0  # to process one upload
    live_sessions: int = 2  # cameras at once; each has a worker process
    live_s: float = 3600.0  # of one session
    live_idle_s: float = 15.0  # without a frame, after which a session ends
    live_backlog_s: float = 3.0  # of frames that may wait; they are thinned before, dropped beyond
    live_frames: int = 60  # of one request
    live_side: int = 1280  # px
    live_bytes: int = 8 * MIB  # of one request
    live_timeout_s: float = 20.0  # to analyse a few frames
    keep_results: int = 50
    keep_bytes: int = 256 * MIB  # pictures of all results
    keep_s: float = 1800.0
    examples_ahead: bool = True  # render the examples at startup, not on first use
    movements: int = 12  # of one video that get pictures, strongest first
    rejected: int = 24  # rejected movements of one video that get a replay, strongest first

    def __post_init__(self) -> None:
        if not 0 <= self.port <= 65535:
            raise ConfigError(
                f"the port cannot be {self.port}", fix="give a port from 1024 to 65535, or 0 for any free one"
            )
        for name in self.__dataclass_fields__:
            value = getattr(self, name)
            if name in ("host", "port", "names", "token", "queue", "examples_ahead"):
                continue
            if not 0 < value < float("inf"):
                raise ConfigError(f"{name} cannot be {value:g}", fix="give a number above 0")
        if self.token and not (self.token.isascii() and self.token.isprintable() and " " not in self.token):
            raise ConfigError("the token contains a space or a special character", fix="use ASCII letters and digits")
        if not 0 <= self.queue <= 10_000:
            raise ConfigError(f"queue cannot be {self.queue}", fix="give 0 to 10,000")

    @property
    def private(self) -> bool:
        """Whether only this machine can reach the server."""
        return self.host in LOOPBACK

    def limits(self) -> dict[str, float]:
        """The limits that clients need to know."""
        renamed = {"results": "keep_results", "results_s": "keep_s", "time_s": "timeout_s"}
        live = ("live_frames", "live_side", "live_bytes", "live_sessions", "live_s")
        most = ("bytes", "seconds", "frames", "pixels", "megapixels", "pictures")
        settings = {**{name: f"max_{name}" for name in most}, **{name: name for name in live}, **renamed}
        return {name: getattr(self, setting) for name, setting in settings.items()}
