"""The command line as ``python -m ewp``, where the script ``ewp`` is not on the path."""

from ewp.cli import main

if __name__ == "__main__":
    main()
