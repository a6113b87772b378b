"""The official Python clients, OpenAI's and Anthropic's, against the gateway in front of a real vLLM.

Arguments: the gateway's data address, the replica's address, the replica's process id, and the address
of a replica that breaks its answers off, which is a proxy in front of the real one, made here, and that of the gateway's metrics. The last
check stops the replica while it answers.
"""

import json
import os
import signal
import socket
import sys
import threading
import time
import traceback
import urllib.request

import anthropic
import openai

GATEWAY, REPLICA, PID, BREAKS = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4]
OPS = sys.argv[5]
MODEL = "tiny"
HELLO = [{"role": "user", "content": "hello world"}]
FULL = {"ignore_eos": True}
FLAG = {"type": "object", "properties": {"flag": {"type": "boolean"}}, "required": ["flag"], "additionalProperties": False}

gateway = openai.OpenAI(base_url=f"http://{GATEWAY}/v1", api_key="none", max_retries=0)
direct = openai.OpenAI(base_url=f"http://{REPLICA}/v1", api_key="none", max_retries=0)
claude = anthropic.Anthropic(base_url=f"http://{GATEWAY}", api_key="none", max_retries=0)
checks = []
ALL = 10**9
events = ALL  # of an answer that get through the proxy


def pump(source, sink, answers):
    """Copies bytes until one side closes, or too many events have come."""
    seen = 0
    try:
        while piece := source.recv(65536):
            seen += piece.count(b"data: {")
            if answers and seen > events:
                break
            sink.sendall(piece)
    except OSError:
        pass
    for side in (source, sink):
        try:
            side.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass


def proxy():
    host, port = BREAKS.split(":")
    listener = socket.create_server((host, int(port)))
    while True:
        client, _ = listener.accept()
        try:
            replica = socket.create_connection(tuple(REPLICA.split(":")))
        except OSError:
            client.close()
            continue
        threading.Thread(target=pump, args=(client, replica, False), daemon=True).start()
        threading.Thread(target=pump, args=(replica, client, True), daemon=True).start()


threading.Thread(target=proxy, daemon=True).start()


def check(name):
    def keep(f):
        checks.append((name, f))
        return f

    return keep


def raises(kind, f):
    """The error of the kind that f raises; any other is passed on."""
    try:
        f()
    except kind as e:
        return e
    raise AssertionError(f"no {kind.__name__}")


def running():
    """How many sequences the replica runs and holds waiting."""
    with urllib.request.urlopen(f"http://{REPLICA}/metrics") as answer:
        lines = answer.read().decode().splitlines()
    wanted = ("vllm:num_requests_running{", "vllm:num_requests_waiting{")
    return sum(float(line.split()[-1]) for line in lines if line.startswith(wanted))


def chat(client=gateway, model=MODEL, **more):
    return client.chat.completions.create(model=model, messages=HELLO, **more)


@check("chat")
def _():
    answer = chat(max_tokens=20, extra_body=FULL)
    assert answer.choices[0].finish_reason == "length" and answer.usage.completion_tokens == 20, answer


@check("chat streamed")
def _():
    seen = []
    for _ in range(8):  # a busy machine wakes vLLM, or this process, too late now and then
        start, first = time.monotonic(), None
        for c in chat(max_tokens=200, stream=True, extra_body=FULL):
            assert c.usage is None and c.choices, c
            first = first or time.monotonic() - start
        seen.append((first, time.monotonic() - start))
        if first < seen[-1][1] / 3:
            return
    raise AssertionError(f"first event and end, in seconds: {seen}")


@check("chat streamed with usage")
def _():
    chunks = list(chat(max_tokens=10, stream=True, stream_options={"include_usage": True}, extra_body=FULL))
    assert chunks[-1].choices == [] and chunks[-1].usage.completion_tokens == 10, chunks[-1]


@check("the answer is the replica's")
def _():
    asked = {"max_tokens": 30, "seed": 7, "n": 2, "extra_body": FULL}
    ours, theirs = chat(**asked), chat(direct, "google/tiny-it", **asked)
    assert [c.message.content for c in ours.choices] == [c.message.content for c in theirs.choices]
    assert ours.usage == theirs.usage, (ours.usage, theirs.usage)


@check("completions")
def _():
    answer = gateway.completions.create(model=MODEL, prompt=["hello", "world"], max_tokens=5, n=2, extra_body=FULL)
    assert len(answer.choices) == 4 and answer.usage.completion_tokens == 20, answer
    chunks = list(gateway.completions.create(model=MODEL, prompt=[7, 8, 9], max_tokens=5, stream=True, extra_body=FULL))
    assert chunks[-1].choices[0].finish_reason == "length", chunks


@check("responses")
def _():
    answer = gateway.responses.create(model=MODEL, input="hello", max_output_tokens=9, extra_body=FULL)
    assert answer.status == "incomplete" and answer.usage.output_tokens == 9, answer
    events = list(gateway.responses.create(model=MODEL, input="hello", max_output_tokens=9, stream=True, extra_body=FULL))
    assert events[0].type == "response.created" and events[-1].type == "response.completed", events


@check("messages")
def _():
    answer = claude.messages.create(model=MODEL, system="be brief", messages=HELLO, max_tokens=9, extra_body=FULL)
    counted = claude.messages.count_tokens(model=MODEL, system="be brief", messages=HELLO)
    assert answer.stop_reason == "max_tokens" and answer.usage.input_tokens == counted.input_tokens, (answer, counted)
    with claude.messages.stream(model=MODEL, messages=HELLO, max_tokens=30, extra_body=FULL) as stream:
        parts = list(stream.text_stream)
        last = stream.get_final_message()
    assert len(parts) > 3 and last.stop_reason == "max_tokens" and last.usage.output_tokens == 30, last


@check("a choice")
def _():
    answer = chat(max_tokens=20, extra_body={"structured_outputs": {"choice": ["positive", "negative"]}})
    assert answer.choices[0].message.content in ("positive", "negative"), answer


@check("an answer of a schema")
def _():
    shape = {"type": "json_schema", "json_schema": {"name": "flag", "schema": FLAG}}
    answer = chat(max_tokens=200, response_format=shape)
    assert isinstance(json.loads(answer.choices[0].message.content)["flag"], bool), answer


@check("tool calls")
def _():
    tools = [{"type": "function", "function": {"name": "set", "parameters": FLAG}}]
    asked = {"max_tokens": 300, "tools": tools, "tool_choice": {"type": "function", "function": {"name": "set"}}}
    call = chat(**asked).choices[0].message.tool_calls[0].function
    assert call.name == "set" and isinstance(json.loads(call.arguments)["flag"], bool), call
    parts = [t.function.arguments for c in chat(stream=True, **asked) for t in c.choices[0].delta.tool_calls or []]
    assert isinstance(json.loads("".join(parts))["flag"], bool), parts
    used = claude.messages.create(
        model=MODEL, messages=HELLO, max_tokens=300, tools=[{"name": "set", "input_schema": FLAG}], tool_choice={"type": "tool", "name": "set"}
    )
    assert used.stop_reason == "tool_use" and isinstance(used.content[0].input["flag"], bool), used


@check("typed errors")
def _():
    assert raises(openai.NotFoundError, lambda: chat(model="gpt-0")).code == "model_not_found"
    assert raises(openai.BadRequestError, lambda: chat(temperature=-1)).param == "temperature"
    assert raises(openai.BadRequestError, lambda: chat(tools=[])).param == "tools"
    e = raises(openai.BadRequestError, lambda: gateway.completions.create(model=MODEL, prompt=[7] * 3000))
    assert e.code == "context_length_exceeded", e.body
    e = raises(openai.BadRequestError, lambda: gateway.completions.create(model=MODEL, prompt="hello " * 3000))
    assert "2048" in e.body["message"], e.body
    turns = HELLO + HELLO
    e = raises(anthropic.BadRequestError, lambda: claude.messages.create(model=MODEL, messages=turns, max_tokens=1))
    assert "alternate" in e.body["error"]["message"], e.body


@check("more at once than the replica runs")
def _():
    ends, most = [], 0.0

    def read():
        chunks = list(chat(max_tokens=60, stream=True, stream_options={"include_usage": True}, extra_body=FULL))
        ends.append((chunks[-2].choices[0].finish_reason, chunks[-1].usage.completion_tokens))

    threads = [threading.Thread(target=read) for _ in range(40)]
    for t in threads:
        t.start()
    while any(t.is_alive() for t in threads):
        most = max(most, running())
    assert ends == [("length", 60)] * 40, ends
    assert most <= 16, f"{most} sequences at once, the cap is 16"


# What comes in one piece breaks before its first token; then there is nothing to go on with. The model's
# weights are random: an answer that begins with white space or half a character is not gone on with either.
@check("an answer that breaks goes on, token for token")
def _():
    global events
    asked = {"max_tokens": 60, "temperature": 0, "stream": True, "extra_body": FULL}
    asked["stream_options"] = {"include_usage": True, "continuous_usage_stats": True}  # on a busy machine events bear several tokens

    def read(client, model, i):
        if i % 2:
            chunks = list(chat(client, model, **asked))
            return "".join(c.choices[0].delta.content or "" for c in chunks if c.choices), chunks
        chunks = list(client.completions.create(model=model, prompt=f"the quick {i}", **asked))
        return "".join(c.choices[0].text for c in chunks if c.choices), chunks

    def pool():
        return gateway.chat.completions.with_raw_response.create(model="mended", messages=HELLO, max_tokens=1).headers["x-sluice-pool"]

    began = time.monotonic()
    while pool() != "breaks":
        assert time.monotonic() - began < 20, "the proxy gets nothing"
    whole = 0
    for i in range(30):
        want, theirs = read(direct, "google/tiny-it", i)
        events = 1 + i
        try:
            got, ours = read(gateway, "mended", i)
        except openai.APIError:
            continue
        finally:
            events = ALL
        whole += 1
        assert got == want and len({(c.id, c.created) for c in ours}) == 1, (i, got, want, ours[0], ours[-1])
        assert ours[-1].usage == theirs[-1].usage and ours[-2].choices[0].finish_reason == "length", (i, ours[-1], theirs[-1])
    with urllib.request.urlopen(f"http://{OPS}/metrics") as answer:
        lines = answer.read().decode().splitlines()
    went_on = sum(float(line.split()[-1]) for line in lines if line.startswith('sluice_broken_answers_total{result="continued"}'))
    assert went_on >= 5, (went_on, whole)
    print(f"   {went_on:.0f} of 30 answers went on")


@check("a client that leaves stops the work")
def _():
    for begin in (
        lambda: chat(max_tokens=1500, stream=True, extra_body=FULL),
        lambda: gateway.responses.create(model=MODEL, input="hello", max_output_tokens=1500, stream=True, extra_body=FULL),
        lambda: claude.messages.create(model=MODEL, messages=HELLO, max_tokens=1500, stream=True, extra_body=FULL),
    ):
        stream = begin()
        next(iter(stream))
        assert running() == 1, running()
        stream.close()
        left = time.monotonic()
        while running():
            assert time.monotonic() - left < 2, "the replica goes on"


# Some streams of a replica that is told to stop fall silent, others end with an error: which, is chance.
@check("streams of a replica that is told to stop end with an error")
def _():
    ended, least = [], threading.Semaphore(0)

    def read():
        try:
            for i, _ in enumerate(chat(max_tokens=1900, stream=True, extra_body=FULL)):
                if i == 5:
                    least.release()
            ended.append("whole")
        except openai.APIError as e:
            ended.append(str(e))

    threads = [threading.Thread(target=read) for _ in range(4)]
    for t in threads:
        t.start()
    for _ in threads:
        least.acquire()
    os.kill(PID, signal.SIGTERM)
    told = time.monotonic()
    for t in threads:
        t.join(20)
    took = time.monotonic() - told
    assert len(ended) == 4 and "whole" not in ended and took < 10, (took, ended)
    e = raises(openai.APIStatusError, chat)
    assert e.status_code in (502, 503), e
    print(f"   streams ended after {took:.1f} s: {sorted(set(ended))}; then {e}")


for name, f in checks:
    try:
        f()
        print("ok python", name, flush=True)
    except Exception:
        print("FAILED python", name, flush=True)
        traceback.print_exc(file=sys.stdout)
