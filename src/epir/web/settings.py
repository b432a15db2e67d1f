"""The settings of the server: its address and its limits."""

from dataclasses import dataclass

from epir.core.errors import ConfigError

MIB = 1 << 20
LOOPBACK = ("127.0.0.1", "::1", "localhost")


@dataclass(frozen=True)
class ServeSettings:
    """The address and the limits of the server; sizes in bytes, times in seconds."""

    host: str = "127.0.0.1"
    port: int = 7860  # 0: any free one
    names: tuple[str, ...] = ()  # further host names, as behind a reverse proxy
    token: str = ""  # that every request must carry; empty: none
    workers: int = 1  # processes; each holds the model
    queue: int = 8  # uploads that may wait
    receiving: int = 32  # uploads that may arrive at once; they take no place in the queue yet
    per_address: int = 4  # uploads of one address that may arrive, wait or run; this machine itself is not limited
    max_bytes: int = 64 * MIB  # of one request
    max_seconds: float = 60.0  # of a video
    max_frames: int = 12000
    max_pixels: int = 4096 * 4096  # of one frame or picture
    max_megapixels: float = 16_000.0  # of all frames of a video together
    max_memory: int = 4096 * MIB  # of a worker process, on Linux
    header_s: float = 15.0  # to receive the head of a request
    receive_s: float = 120.0  # to receive one request
    stall_s: float = 20.0  # without a byte of it
    timeout_s: float = 120.0  # to process one upload
    live_sessions: int = 2  # cameras at once; each has a process of its own, which holds the model
    live_s: float = 3600.0  # of one session
    live_idle_s: float = 15.0  # without a frame, after which a session ends
    live_backlog_s: float = 3.0  # of frames that may wait; beyond, they are thinned out and dropped
    live_frames: int = 60  # of one request
    live_side: int = 1280  # px
    live_bytes: int = 8 * MIB  # of one request
    live_timeout_s: float = 20.0  # to look at a few frames
    keep_results: int = 50
    keep_bytes: int = 256 * MIB  # of the pictures of all results
    keep_s: float = 1800.0
    examples_ahead: bool = True  # render the examples at the start, not on first use
    movements: int = 12  # of one video that get pictures, the strongest first
    rejected: int = 24  # rejected movements of one video that get a replay, the strongest first
    max_pictures: int = 300  # that are one clip

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
            raise ConfigError("the token holds a space or an unusual character", fix="give ASCII letters and digits")
        if not 0 <= self.queue <= 10_000:
            raise ConfigError(f"queue cannot be {self.queue}", fix="give 0 to 10,000")

    @property
    def private(self) -> bool:
        """Whether only this machine can reach the server."""
        return self.host in LOOPBACK

    def limits(self) -> dict[str, float]:
        """The limits that clients need to know."""
        return {
            "bytes": self.max_bytes,
            "seconds": self.max_seconds,
            "frames": self.max_frames,
            "pixels": self.max_pixels,
            "megapixels": self.max_megapixels,
            "pictures": self.max_pictures,
            "time_s": self.timeout_s,
            "live_frames": self.live_frames,
            "live_side": self.live_side,
            "live_bytes": self.live_bytes,
            "live_sessions": self.live_sessions,
            "live_s": self.live_s,
            "results": self.keep_results,
            "results_s": self.keep_s,
        }
