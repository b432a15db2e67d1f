"""The verb `serve`."""

from pathlib import Path
from typing import Annotated

import typer


def serve(
    model: Annotated[
        Path | None, typer.Option(help="A model folder, or an ONNX file.", show_default="the shipped weights")
    ] = None,
    host: Annotated[str, typer.Option(help="The address to listen at; 0.0.0.0 is every network.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="The port to listen at; 0 is any free one.")] = 7860,
    name: Annotated[
        list[str] | None,
        typer.Option(help="A name the server may be called by, as behind a reverse proxy.", show_default="localhost"),
    ] = None,
    workers: Annotated[int, typer.Option(help="Clips that are looked at side by side.")] = 1,
    change: Annotated[
        list[str] | None, typer.Option("--set", help="Change a limit, such as max_seconds=120 or queue=20.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print the address as one JSON object.")] = False,
) -> None:
    """Serve a web page: drop a clip, see what moved and why. Ctrl-C ends it.

    Example: epir serve

    Example: epir serve --model models/mine --port 8000 --set max_seconds=120
    """
    from epir.cli.console import stderr, stdout
    from epir.core.config import override
    from epir.core.errors import MissingExtra
    from epir.web.settings import ServeSettings

    try:
        from epir.web.serve import serve as run
    except ModuleNotFoundError as error:
        if (error.name or "").split(".")[0] not in ("fastapi", "uvicorn", "starlette", "python_multipart"):
            raise
        raise MissingExtra.named("the web server", "web") from None

    settings = ServeSettings(host=host, port=port, names=tuple(name or ()), workers=workers)
    settings = override(settings, change or ())
    if not settings.private:
        stderr.print(
            f"warning: at {settings.host} other machines can reach this server. It has no password and no encryption: "
            "use it in a network you trust, or behind a reverse proxy that has both.",
            markup=False,
        )

    def ready(address: str) -> None:
        if json:
            import sys
            from json import dumps

            sys.stdout.write(dumps({"address": address}) + "\n")
            sys.stdout.flush()
        else:
            stdout.print(f"EPIR is at {address}  (Ctrl-C ends it)", markup=False)

    stderr.print("loading the model ...", markup=False)
    run(settings, model=model, ready=ready)
