"""`python -m epir`, the same as the command `epir`."""

from epir.cli.main import main

if __name__ == "__main__":
    main()
