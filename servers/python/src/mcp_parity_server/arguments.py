"""The arguments of the tools, checked as the contract's input schemas say.

The models repeat the limits of the schemas so that the tools have typed arguments; a test proves that the JSON Schema
of each model equals the contract's.
"""

from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError


def _whole_number(value: object) -> object:
    """Turn 10.0 and 1e1 into 10: JSON has one kind of number. Everything else is left to the strict check."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


WholeNumber = BeforeValidator(_whole_number)


class Arguments(BaseModel):
    """Arguments of one tool call. Strict: "10" and true are no integers; forbidding: an unknown name is an error."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


class FibonacciArguments(Arguments):
    """Arguments of calculate_fibonacci."""

    n: Annotated[int, Field(ge=0, le=32), WholeNumber]


class FetchArguments(Arguments):
    """Arguments of fetch_external_data."""

    # The expression is matched by Rust's regex crate, where $ is the end of the text and not a final newline.
    endpoint: Annotated[str, Field(pattern=r"^(/[A-Za-z0-9_-]{1,64}){1,8}$")]


class ProcessArguments(Arguments):
    """Arguments of process_json_data."""

    data: dict[str, Any]


class QueryArguments(Arguments):
    """Arguments of simulate_db_query."""

    query: Annotated[str, Field(min_length=1, max_length=1000)]
    delay_ms: Annotated[int, Field(ge=0, le=5000), WholeNumber] = 10
    rows: Annotated[int, Field(ge=0, le=1000), WholeNumber] = 10


def describe(error: ValidationError) -> str:
    """Say in one line per argument what is wrong with it."""
    return "\n".join(f"{item['loc'][0]}: {item['msg']}" for item in error.errors(include_url=False))
