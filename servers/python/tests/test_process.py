"""The server as a process of its own: SIGTERM, several workers, stdio and sse."""

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import httpx2
import pytest
from messages import HEADERS, INITIALIZE, call, request

Launch = Callable[..., tuple[subprocess.Popen[str], str]]
SECONDS = 60
"""How long anything may take here, on a machine that does much else."""


@pytest.fixture
def launch() -> Iterator[Launch]:
    """Return a function that starts the server, waits until it answers, and returns it and its base URL."""
    processes: list[subprocess.Popen[str]] = []

    def launched(**environment: str) -> tuple[subprocess.Popen[str], str]:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        process = subprocess.Popen(
            [sys.executable, "-m", "mcp_parity_server"],
            env=os.environ | {"PORT": str(port)} | environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        processes.append(process)
        url = f"http://127.0.0.1:{port}"
        if environment.get("MCP_TRANSPORT") != "stdio":
            wait_until_healthy(url)
        return process, url

    yield launched
    for process in processes:
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout):
            if pipe:
                pipe.close()


def wait_until_healthy(url: str) -> None:
    """Wait until /healthz answers."""
    deadline = time.monotonic() + SECONDS
    while True:
        try:
            assert httpx2.get(f"{url}/healthz").status_code == 200
        except httpx2.TransportError:
            assert time.monotonic() < deadline, "the server does not answer"
            time.sleep(0.1)
        else:
            return


@pytest.mark.parametrize("workers", ["1", "2"])
def test_sigterm_lets_calls_finish(launch: Launch, workers: str) -> None:
    process, url = launch(WORKERS=workers)
    answers: list[httpx2.Response] = []

    def slow_call() -> None:
        body = call("simulate_db_query", '{"query":"q","delay_ms":2000,"rows":1}')
        answers.append(httpx2.post(f"{url}/mcp", content=body, headers=HEADERS, timeout=SECONDS))

    thread = threading.Thread(target=slow_call)
    thread.start()
    time.sleep(1)
    process.send_signal(signal.SIGTERM)
    thread.join()
    assert answers[0].json()["result"]["structuredContent"]["rows"] == [{"id": 0, "name": "row-0", "value": 0}]
    assert process.wait(SECONDS) == 0


def test_workers_add_up_their_metrics(launch: Launch) -> None:
    process, url = launch(WORKERS="2")
    body = call("calculate_fibonacci", '{"n":1}')
    # A new connection each time, so that both workers get some.
    for _ in range(20):
        assert httpx2.post(f"{url}/mcp", content=body, headers=HEADERS).status_code == 200
    text = httpx2.get(f"{url}/metrics").text
    assert 'mcp_tool_calls_total{outcome="ok",tool="calculate_fibonacci"} 20.0' in text.splitlines()
    process.send_signal(signal.SIGTERM)
    assert process.wait(SECONDS) == 0


def speak(process: subprocess.Popen[str], message: str) -> None:
    """Send one message on standard input."""
    assert process.stdin
    process.stdin.write(message.replace("\n", "") + "\n")
    process.stdin.flush()


def hear(process: subprocess.Popen[str]) -> dict[str, Any]:
    """Read one message from standard output."""
    assert process.stdout
    return dict(json.loads(process.stdout.readline()))


def open_stdio(launch: Launch) -> subprocess.Popen[str]:
    """Start the server on stdio and initialize it."""
    process, _ = launch(MCP_TRANSPORT="stdio", LOG_LEVEL="debug")
    speak(process, INITIALIZE)
    assert hear(process)["result"]["protocolVersion"] == "2025-11-25"
    speak(process, '{"jsonrpc":"2.0","method":"notifications/initialized"}')
    return process


def test_stdio_until_the_input_ends(launch: Launch) -> None:
    process = open_stdio(launch)
    speak(process, call("calculate_fibonacci", '{"n":1e1}'))
    assert hear(process)["result"]["structuredContent"] == {"n": 10, "result": 55}
    speak(process, call("no_such_tool", "{}"))
    assert hear(process)["error"]["code"] == -32602
    assert process.stdin
    process.stdin.close()
    assert process.wait(SECONDS) == 0


def test_sigterm_on_stdio_lets_calls_finish(launch: Launch) -> None:
    process = open_stdio(launch)
    speak(process, call("simulate_db_query", '{"query":"q","delay_ms":1000,"rows":0}'))
    speak(process, request("ping", request_id='"p"'))
    assert hear(process)["id"] == "p"
    process.send_signal(signal.SIGTERM)
    assert hear(process)["result"]["structuredContent"] == {"query": "q", "delay_ms": 1000, "rows": []}
    assert process.wait(SECONDS) == 0


def test_sse(launch: Launch) -> None:
    process, url = launch(MCP_TRANSPORT="sse")
    assert httpx2.get(f"{url}/sse", headers={"Host": "evil.example"}).status_code == 403
    with httpx2.stream("GET", f"{url}/sse", timeout=SECONDS) as stream:
        lines = stream.iter_lines()

        def data() -> str:
            return next(line.removeprefix("data: ") for line in lines if line.startswith("data: "))

        endpoint = url + data()
        for message in (
            INITIALIZE,
            '{"jsonrpc":"2.0","method":"notifications/initialized"}',
            call("calculate_fibonacci", '{"n":10}'),
        ):
            sent = httpx2.post(endpoint, content=message, headers={"Content-Type": "application/json"})
            assert sent.status_code == 202
        assert json.loads(data())["result"]["protocolVersion"] == "2025-11-25"
        assert json.loads(data())["result"]["structuredContent"] == {"n": 10, "result": 55}
    process.send_signal(signal.SIGTERM)
    assert process.wait(SECONDS) == 0
