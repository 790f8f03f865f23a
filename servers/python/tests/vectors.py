"""Reads the vectors of the contract: contract/vectors/*.yaml."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

CONTRACT = Path(__file__).parents[3] / "contract"

_REPEAT = re.compile(r'\{\{repeat ("(?:[^"\\]|\\.)*") ([0-9]+)\}\}')
_ROWS = re.compile(r"\{\{range \$i := seq ([0-9]+)\}\}\{\{if \$i\}\},\{\{end\}\}(.*?\{\{mod .*?)\{\{end\}\}")
_VALUE = re.compile(r"\{\{mod \(mul \$i ([0-9]+)\) ([0-9]+)\}\}")


@dataclass(frozen=True)
class Call:
    """One `call` step of a vector."""

    vector: str
    tool: str
    arguments: str | None
    expect: dict[str, Any]


def expand(text: str) -> str:
    """Expand the templates that the vectors use. Raises ValueError for one that is not known here."""

    def rows(match: re.Match[str]) -> str:
        def row(i: int) -> str:
            filled = _VALUE.sub(lambda value: str(i * int(value[1]) % int(value[2])), match[2])
            return filled.replace("{{$i}}", str(i))

        return ",".join(row(i) for i in range(int(match[1])))

    expanded = _REPEAT.sub(lambda match: json.loads(match[1]) * int(match[2]), _ROWS.sub(rows, text))
    if re.search(r"\{\{ *(repeat|range|if|end|mod|mul|seq|\$)", expanded):
        message = f"a template that tests/vectors.py does not know: {expanded[:200]}"
        raise ValueError(message)
    return expanded


def calls() -> Iterator[Call]:
    """Return every `call` step of the contract that needs no session."""
    for file in sorted((CONTRACT / "vectors").glob("*.yaml")):
        group = yaml.safe_load(file.read_text(encoding="utf-8"))
        for vector in group["vectors"]:
            for step in vector.get("steps", [vector]):
                if "call" in step and vector.get("sessions") != "stateful":
                    arguments = step["call"].get("arguments")
                    yield Call(
                        vector=f"{group['group']}/{vector['name']}",
                        tool=step["call"]["tool"],
                        arguments=None if arguments is None else expand(arguments),
                        expect=step["expect"],
                    )
