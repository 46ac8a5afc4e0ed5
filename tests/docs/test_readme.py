"""The README's code runs and prints what the README says."""

import contextlib
import io
import re
from pathlib import Path

README = Path(__file__).parents[2] / "README.md"


def test_readme_code_prints_what_it_says():
    blocks = re.findall(r"```(python|text)\n(.*?)```", README.read_text(), flags=re.DOTALL)
    namespace: dict[str, object] = {}
    printed = ""
    compared = 0
    for language, block in blocks:
        if language == "python":
            out = io.StringIO()
            with contextlib.redirect_stdout(out):
                exec(compile(block, "README.md", "exec"), namespace)
            printed = out.getvalue()
        else:
            assert printed.endswith(block)
            compared += 1
    assert compared
