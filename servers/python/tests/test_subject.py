"""What subject.yaml and the image say about the server is true."""

import re
from importlib.metadata import version
from pathlib import Path

import yaml

ROOT = Path(__file__).parents[1]


def test_versions() -> None:
    subject = yaml.safe_load((ROOT / "subject.yaml").read_text(encoding="utf-8"))
    sdk = subject["sdk"]
    assert version(sdk["name"]) == sdk["version"]
    assert f"{sdk['name']}=={sdk['version']} \\\n" in (ROOT / "requirements.lock").read_text(encoding="utf-8")
    dockerfile = (ROOT / "Dockerfile").read_text(encoding="utf-8")
    assert f'io.mcp-parity.sdk="{sdk["name"]}"' in dockerfile
    assert f'io.mcp-parity.sdk-version="{sdk["version"]}"' in dockerfile
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert f'requires-python = ">={subject["language"]["version"]}"' in project


def test_the_locks_agree() -> None:
    runtime, development = (
        set(re.findall(r"^(\S+==\S+)", (ROOT / name).read_text(encoding="utf-8"), re.MULTILINE))
        for name in ("requirements.lock", "requirements-dev.lock")
    )
    assert runtime
    assert runtime <= development
