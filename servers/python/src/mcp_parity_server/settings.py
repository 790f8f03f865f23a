"""The environment variables of section 3 of the contract."""

import ipaddress
import socket
from typing import Annotated, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field, ValidationError, model_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

DRAIN_SECONDS = 10
"""How long calls in flight may go on after SIGTERM."""


class SettingsError(Exception):
    """An environment variable has a value that the server cannot use; the text says which and what is allowed."""


def _resolvable(host: str) -> str:
    try:
        socket.getaddrinfo(host, None, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except (OSError, UnicodeError) as error:
        raise ValueError("does not resolve") from error
    return host


def _base_url(url: str) -> str:
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
        raise ValueError("not a base URL")
    if parts.port == 0 or url.endswith("/"):
        raise ValueError("not a base URL")
    return url


class Settings(BaseSettings):
    """How the server runs. The description of a field says which values are allowed; error messages repeat it."""

    model_config = SettingsConfigDict(frozen=True, case_sensitive=True, extra="ignore")

    host: Annotated[str, Field(min_length=1), AfterValidator(_resolvable)] = Field(
        "127.0.0.1", validation_alias="HOST", description="an IP address, or a host name that resolves here"
    )
    port: int = Field(8082, validation_alias="PORT", ge=1, le=65535, description="a port number from 1 to 65535")
    upstream_url: Annotated[str, AfterValidator(_base_url)] = Field(
        "http://127.0.0.1:8090",
        validation_alias="UPSTREAM_URL",
        description="a base URL such as http://127.0.0.1:8090, without a final slash",
    )
    sessions: Literal["stateless", "stateful"] = Field(
        "stateless", validation_alias="MCP_SESSIONS", description="stateless or stateful"
    )
    transport: Literal["http", "sse", "stdio"] = Field(
        "http", validation_alias="MCP_TRANSPORT", description="http, sse or stdio"
    )
    workers: int = Field(
        1,
        validation_alias="WORKERS",
        ge=1,
        le=1024,
        description="a number of processes from 1 to 1024; 1 unless MCP_TRANSPORT is http and MCP_SESSIONS stateless",
    )
    log_level: Literal["debug", "info", "warn", "error"] = Field(
        "info", validation_alias="LOG_LEVEL", description="debug, info, warn or error"
    )

    @model_validator(mode="after")
    def _sessions_need_one_process(self) -> "Settings":
        # A session lives in the memory of one process, and the kernel hands a connection to any of them.
        if self.workers > 1 and (self.transport != "http" or self.sessions != "stateless"):
            raise ValueError(_describe("WORKERS", str(self.workers)))
        return self

    @property
    def listens_on_one_address(self) -> bool:
        """Whether `host` names one address, rather than every address of the machine."""
        try:
            return not ipaddress.ip_address(self.host).is_unspecified
        except ValueError:
            return True


def _describe(variable: str, value: str) -> str:
    allowed = next(field.description for field in Settings.model_fields.values() if field.validation_alias == variable)
    return f"{variable} is {value!r}: use {allowed}"


def load() -> Settings:
    """Read the settings from the environment.

    Raises SettingsError with one line for each variable that has a wrong value.
    """
    try:
        return Settings()
    except ValidationError as error:
        lines = [
            _describe(str(item["loc"][0]), item["input"]) if item["loc"] else str(item["ctx"]["error"])
            for item in error.errors()
        ]
        raise SettingsError("\n".join(lines)) from error
