"""The official Python clients against the gateway: OpenAI's, and Anthropic's for messages.

Arguments: the data address of the demo, of the gateway with scripted replicas, of a scripted replica.
"""

import json
import sys
import threading
import time
import traceback
import urllib.parse
import urllib.request

import anthropic
import openai

DEMO, FAULTS, REPLICA = sys.argv[1:4]
MODEL = "gemma-3"
HELLO = [{"role": "user", "content": "Hello, who are you?"}]
FLAG = {"type": "object", "properties": {"flag": {"type": "boolean"}}, "required": ["flag"], "additionalProperties": False}

demo = openai.OpenAI(base_url=f"http://{DEMO}/v1", api_key="none")
faults = openai.OpenAI(base_url=f"http://{FAULTS}/v1", api_key="sk-tests")
checks = []


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


def say(message):
    return [{"role": "user", "content": message}]


def calls(message):
    """How often the scripted replica has got the message."""
    query = urllib.parse.quote(message)
    with urllib.request.urlopen(f"http://{REPLICA}/calls?of={query}") as answer:
        return int(answer.read())


def text_of(chunks):
    return "".join(c.choices[0].delta.content or "" for c in chunks if c.choices)


@check("chat")
def _():
    answer = demo.chat.completions.create(model=MODEL, messages=HELLO, max_tokens=20)
    assert answer.choices[0].message.content and answer.choices[0].finish_reason == "length", answer
    assert answer.usage.completion_tokens == 20, answer.usage


@check("chat streamed")
def _():
    start = time.monotonic()
    chunks, first = [], None
    for c in demo.chat.completions.create(model=MODEL, messages=HELLO, max_tokens=60, stream=True):
        if first is None and text_of([c]):
            first = time.monotonic() - start
        chunks.append(c)
    whole = time.monotonic() - start
    assert len(chunks) > 10 and text_of(chunks), len(chunks)
    assert first < 0.6 * whole, f"first token after {first:.2f} s of {whole:.2f} s: not progressive"
    assert all(c.usage is None and c.choices for c in chunks), "usage that nobody asked for"


@check("chat streamed with usage")
def _():
    options = {"include_usage": True}
    chunks = list(demo.chat.completions.create(model=MODEL, messages=HELLO, max_tokens=10, stream=True, stream_options=options))
    assert chunks[-1].choices == [] and chunks[-1].usage.completion_tokens == 10, chunks[-1]


@check("completions")
def _():
    answer = demo.completions.create(model=MODEL, prompt="Once upon", max_tokens=12)
    assert answer.choices[0].text and answer.usage.completion_tokens == 12, answer


@check("completions streamed")
def _():
    chunks = list(demo.completions.create(model=MODEL, prompt="Once upon", max_tokens=30, stream=True))
    assert len(chunks) > 3 and "".join(c.choices[0].text for c in chunks), chunks


@check("responses")
def _():
    answer = demo.responses.create(model=MODEL, input="Hello", max_output_tokens=16)
    assert answer.output_text, answer


@check("responses streamed")
def _():
    events = list(demo.responses.create(model=MODEL, input="Hello", max_output_tokens=16, stream=True))
    assert any(e.type == "response.output_text.delta" for e in events), events
    assert events[-1].type in ("response.completed", "response.incomplete"), events[-1]


@check("an answer of a schema")
def _():
    shape = {"type": "json_schema", "json_schema": {"name": "flag", "schema": FLAG}}
    answer = demo.chat.completions.create(model=MODEL, messages=HELLO, response_format=shape)
    assert isinstance(json.loads(answer.choices[0].message.content)["flag"], bool), answer


@check("tool calls")
def _():
    tools = [{"type": "function", "function": {"name": "set", "parameters": FLAG}}]
    asked = {"model": MODEL, "messages": HELLO, "tools": tools, "tool_choice": "required"}
    choice = demo.chat.completions.create(**asked).choices[0]
    call = choice.message.tool_calls[0]
    assert choice.finish_reason == "tool_calls" and isinstance(json.loads(call.function.arguments)["flag"], bool), choice
    with demo.chat.completions.stream(**asked) as stream:  # puts the deltas together
        last = stream.get_final_completion().choices[0]
    assert last.finish_reason == "tool_calls" and isinstance(json.loads(last.message.tool_calls[0].function.arguments)["flag"], bool), last
    turns = [choice.message, {"role": "tool", "tool_call_id": call.id, "content": "done"}]
    answer = demo.chat.completions.create(model=MODEL, messages=HELLO + turns, tools=tools, max_tokens=9).choices[0]
    assert answer.message.content and not answer.message.tool_calls, answer
    flat = [{"type": "function", "name": "set", "parameters": FLAG, "strict": False}]
    events = list(demo.responses.create(model=MODEL, input="Hello", tools=flat, tool_choice="required", stream=True))
    assert events[-1].response.output[0].name == "set", events[-1]


@check("embeddings")  # the client asks for base64 by itself, and decodes it
def _():
    answer = demo.embeddings.create(model=MODEL, input=["one", "two"])
    assert len(answer.data) == 2 and isinstance(answer.data[1].embedding[0], float), answer


@check("embeddings as floats")
def _():
    same = demo.embeddings.create(model=MODEL, input="one", encoding_format="float").data[0].embedding
    packed = demo.embeddings.create(model=MODEL, input="one").data[0].embedding
    assert len(same) == len(packed) and all(abs(a - b) < 1e-6 for a, b in zip(same, packed)), same


@check("models list and get")
def _():
    names = {m.id for m in demo.models.list()}
    assert MODEL in names and "google/gemma-3-27b-it" in names, names
    assert demo.models.retrieve(MODEL).id == MODEL
    raises(openai.NotFoundError, lambda: demo.models.retrieve("nothing"))


@check("unknown model is NotFoundError")
def _():
    e = raises(openai.NotFoundError, lambda: demo.chat.completions.create(model="gpt-0", messages=HELLO))
    assert e.param == "model" and e.code == "model_not_found", (e.param, e.code)


@check("wrong parameter is BadRequestError")
def _():
    e = raises(openai.BadRequestError, lambda: demo.chat.completions.create(model=MODEL, messages=HELLO, max_tokens=-1))
    assert e.body["message"], e.body
    e = raises(openai.BadRequestError, lambda: demo.chat.completions.create(model=MODEL, messages=HELLO, seed=1))
    assert e.param == "seed", e.body


@check("too long is BadRequestError")
def _():
    e = raises(openai.BadRequestError, lambda: demo.completions.create(model=MODEL, prompt=[7] * 40_000))
    assert e.code == "context_length_exceeded", e.body


@check("wrong key is AuthenticationError")
def _():
    stranger = faults.with_options(api_key="sk-wrong")
    e = raises(openai.AuthenticationError, lambda: stranger.chat.completions.create(model="scripted", messages=HELLO))
    assert e.code == "invalid_api_key", e.body
    raises(openai.AuthenticationError, lambda: list(stranger.models.list()))


class Held:
    """Holds the only slot of the route single for 1.5 s."""

    def __enter__(self):
        stream = iter(faults.chat.completions.create(model="single", messages=say("hold 1500"), stream=True))
        next(stream)
        self.rest = threading.Thread(target=list, args=[stream])
        self.rest.start()

    def __exit__(self, *_):
        self.rest.join()


@check("no room is RateLimitError with Retry-After")
def _():
    with Held():
        once = faults.with_options(max_retries=0)
        e = raises(openai.RateLimitError, lambda: once.chat.completions.create(model="single", messages=HELLO))
    assert e.code == "queue_full" and int(e.response.headers["retry-after"]) >= 1, e.body


@check("retries after Retry-After and succeeds")
def _():
    with Held():
        start = time.monotonic()
        answer = faults.chat.completions.create(model="single", messages=say("after retry python"))
        waited = time.monotonic() - start
    assert answer.choices[0].message.content and waited >= 1, waited
    assert calls("after retry python") == 1, "the refused tries must not reach a replica"


@check("a busy replica's 429 is retried")
def _():
    start = time.monotonic()
    answer = faults.chat.completions.create(model="scripted", messages=say("busy python"))
    assert answer.choices[0].message.content and time.monotonic() - start >= 1
    assert calls("busy python") == 2, calls("busy python")


@check("x-should-retry: false is honoured")
def _():
    e = raises(openai.InternalServerError, lambda: faults.chat.completions.create(model="scripted", messages=say("lost python")))
    assert e.status_code == 502 and e.response.headers["x-should-retry"] == "false", e
    assert calls("lost python") == 1, calls("lost python")


def broken(message):
    got = []

    def read():
        for c in faults.chat.completions.create(model="scripted", messages=say(message), stream=True):
            got.append(c)

    e = raises(openai.APIError, read)
    assert text_of(got) == "one two ", got
    return e


@check("a cut stream is APIError")
def _():
    assert "before it was complete" in str(broken("cut python"))


@check("an error in mid-stream is APIError")
def _():
    assert "the engine died" in str(broken("error event python"))


messages = anthropic.Anthropic(base_url=f"http://{DEMO}", api_key="none")


@check("anthropic messages")
def _():
    answer = messages.messages.create(model=MODEL, messages=HELLO, max_tokens=16)
    assert answer.content[0].text and answer.stop_reason == "max_tokens", answer


@check("anthropic messages streamed")
def _():
    with messages.messages.stream(model=MODEL, messages=HELLO, max_tokens=30) as stream:
        parts = list(stream.text_stream)
        assert len(parts) > 3 and stream.get_final_message().stop_reason == "max_tokens", parts


@check("anthropic tool use")
def _():
    asked = {"model": MODEL, "messages": HELLO, "max_tokens": 300, "tools": [{"name": "set", "input_schema": FLAG}], "tool_choice": {"type": "any"}}
    with messages.messages.stream(**asked) as stream:
        used = stream.get_final_message()
    assert used.stop_reason == "tool_use" and isinstance(used.content[0].input["flag"], bool), used
    result = {"type": "tool_result", "tool_use_id": used.content[0].id, "content": "done"}
    asked["messages"] = HELLO + [{"role": "assistant", "content": used.content[:1]}, {"role": "user", "content": [result]}]
    answer = messages.messages.create(**{**asked, "tool_choice": {"type": "auto"}})
    assert answer.content[0].type == "text", answer


@check("anthropic typed errors")
def _():
    e = raises(anthropic.NotFoundError, lambda: messages.messages.create(model="gpt-0", messages=HELLO, max_tokens=1))
    assert e.body["type"] == "error" and e.body["error"]["type"] == "not_found_error", e.body
    stranger = anthropic.Anthropic(base_url=f"http://{FAULTS}", api_key="sk-wrong")
    raises(anthropic.AuthenticationError, lambda: stranger.messages.create(model="scripted", messages=HELLO, max_tokens=1))


# How a replica may break an answer off; the simulated ones do it when asked to.
BREAKS = ["abort", "truncate", "error-event", "cut", "reset"]


def read_to_the_end(stream):
    """The types of a stream's events, up to an error, and the error."""
    kinds, error = [], None
    try:
        for event in stream:
            kinds.append(event.type)
    except (openai.APIError, anthropic.APIError) as e:
        error = e
    return kinds, error


@check("anthropic: a broken message is APIError, and is never closed")
def _():
    for fault in BREAKS:
        stream = messages.messages.create(
            model=MODEL, messages=HELLO, max_tokens=16, stream=True, extra_headers={"x-sim-fault": fault + ":after=3"})
        kinds, error = read_to_the_end(stream)
        assert "content_block_delta" in kinds and "message_stop" not in kinds and error is not None, (fault, kinds, error)


@check("a broken response is APIError, and is never completed")
def _():
    for fault in BREAKS:
        stream = demo.responses.create(
            model=MODEL, input="Hello", max_output_tokens=16, stream=True, extra_headers={"x-sim-fault": fault + ":after=3"})
        kinds, error = read_to_the_end(stream)
        assert "response.output_text.delta" in kinds and "response.completed" not in kinds, (fault, kinds, error)
        assert error is not None or kinds[-1] in ("error", "response.failed"), (fault, kinds, error)


for name, f in checks:
    try:
        f()
        print("ok python", name, flush=True)
    except Exception:
        print("FAILED python", name, flush=True)
        traceback.print_exc(file=sys.stdout)
