"""The verb `serve`: the web page and its REST API."""

from typing import Annotated

from typer import Option

from epir.cli.options import AsJson, Code, ModelOption


def serve(
    model: ModelOption = None,
    code: Code = None,
    host: Annotated[str, Option(help="The address to listen on; 0.0.0.0 for every network.")] = "127.0.0.1",
    port: Annotated[int, Option(help="The port to listen on; 0 for any free one.")] = 7860,
    name: Annotated[
        list[str] | None,
        Option(help="A further host name to accept, such as that of a reverse proxy.", show_default="localhost"),
    ] = None,
    workers: Annotated[int, Option(help="Worker processes; each loads the model.")] = 1,
    token: Annotated[
        str | None,
        Option(
            envvar="EPIR_TOKEN", help="A secret that every request must carry.", show_default="none", show_envvar=True
        ),
    ] = None,
    change: Annotated[
        list[str] | None, Option("--set", help="Change a limit, such as max_seconds=600 or queue=20.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Serve the web page: drop a clip, see what moved and why. Ctrl-C stops it.

    Example: epir serve

    Example: epir serve --model models/mine --port 8000 --set max_seconds=600
    """
    import sys
    from json import dumps

    from epir.cli.console import say, warn
    from epir.core.config import override
    from epir.core.engines import Engine
    from epir.web.settings import ServeSettings

    check_web_server()

    from epir.web.app import serve as run

    settings = ServeSettings(host=host, port=port, names=tuple(name or ()), workers=workers, token=token or "")
    settings = override(settings, change or ())
    Engine(workers=settings.workers)  # raises for an absurd number
    if not settings.private:
        lacks = "no encryption" if settings.token else "no password and no encryption"
        warn(
            f"warning: other machines can reach this server at {settings.host}. It has {lacks}: "
            "use it on a trusted network, or behind a reverse proxy that adds both."
        )

    def ready(addresses: list[str]) -> None:
        if as_json:  # one line, flushed: programs wait for it
            sys.stdout.write(dumps({"address": addresses[0], "addresses": addresses}) + "\n")
            sys.stdout.flush()
            return
        query = f"?token={settings.token}" if settings.token else ""
        say(f"EPIR is running at {addresses[0]}{query}  (Ctrl-C stops it)")
        say(*(f"  from other machines: {address}{query}" for address in addresses[1:]))

    warn("loading the model ...")
    run(settings, model=model, ready=ready)


def check_web_server() -> None:
    """Raise `MissingExtra`, with the command to install it, if the web server is not installed."""
    from epir.core.errors import MissingExtra

    try:
        import epir.web.app  # noqa: F401
    except ModuleNotFoundError as error:
        if (error.name or "").split(".")[0] not in ("fastapi", "uvicorn", "starlette", "python_multipart"):
            raise
        raise MissingExtra.named("the web server", "web") from None
