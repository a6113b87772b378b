// The official Node.js client against the gateway.
//
// Arguments: the data address of the demo, of the gateway with scripted replicas,
// of a scripted replica.
import assert from 'node:assert/strict';
import OpenAI from 'openai';

const [demoAt, faultsAt, replicaAt] = process.argv.slice(2);
const model = 'gemma-3';
const say = (content) => [{ role: 'user', content }];
const hello = say('Hello, who are you?');
const flag = { type: 'object', properties: { flag: { type: 'boolean' } }, required: ['flag'], additionalProperties: false };

const demo = new OpenAI({ baseURL: `http://${demoAt}/v1`, apiKey: 'none' });
const faults = new OpenAI({ baseURL: `http://${faultsAt}/v1`, apiKey: 'sk-tests' });
const stranger = new OpenAI({ baseURL: `http://${faultsAt}/v1`, apiKey: 'sk-wrong' });

// How often the scripted replica has got the message.
const calls = async (message) =>
  Number(await (await fetch(`http://${replicaAt}/calls?of=${encodeURIComponent(message)}`)).text());

async function raises(kind, f) {
  try {
    await f();
  } catch (e) {
    assert(e instanceof kind, `want ${kind.name}, got ${e}`);
    return e;
  }
  assert.fail(`no ${kind.name}`);
}

async function collect(stream) {
  const all = [];
  for await (const c of await stream) all.push(c);
  return all;
}

const textOf = (chunks) => chunks.map((c) => c.choices[0]?.delta.content ?? '').join('');

// Holds the only slot of the route single for 1.5 s while f runs.
async function held(f) {
  const stream = await faults.chat.completions.create({ model: 'single', messages: say('hold 1500'), stream: true });
  const rest = stream[Symbol.asyncIterator]();
  await rest.next();
  try {
    return await f();
  } finally {
    while (!(await rest.next()).done);
  }
}

async function broken(message) {
  const got = [];
  const e = await raises(OpenAI.APIError, async () => {
    const stream = await faults.chat.completions.create({ model: 'scripted', messages: say(message), stream: true });
    for await (const c of stream) got.push(c);
  });
  assert.equal(textOf(got), 'one two ');
  return e;
}

const checks = {
  async 'chat'() {
    const a = await demo.chat.completions.create({ model, messages: hello, max_tokens: 20 });
    assert(a.choices[0].message.content);
    assert.equal(a.choices[0].finish_reason, 'length');
    assert.equal(a.usage.completion_tokens, 20);
  },
  async 'chat streamed'() {
    const start = performance.now();
    const chunks = [];
    let first;
    for await (const c of await demo.chat.completions.create({ model, messages: hello, max_tokens: 60, stream: true })) {
      if (textOf([c])) first ??= performance.now() - start;
      chunks.push(c);
    }
    const whole = performance.now() - start;
    assert(chunks.length > 10 && textOf(chunks));
    assert(first < 0.6 * whole, `first token after ${first} of ${whole} ms: not progressive`);
    assert(chunks.every((c) => !c.usage && c.choices.length), 'usage that nobody asked for');
  },
  async 'chat streamed with usage'() {
    const chunks = await collect(demo.chat.completions.create({
      model, messages: hello, max_tokens: 10, stream: true, stream_options: { include_usage: true },
    }));
    assert.deepEqual(chunks.at(-1).choices, []);
    assert.equal(chunks.at(-1).usage.completion_tokens, 10);
  },
  async 'completions'() {
    const a = await demo.completions.create({ model, prompt: 'Once upon', max_tokens: 12 });
    assert(a.choices[0].text);
    assert.equal(a.usage.completion_tokens, 12);
  },
  async 'completions streamed'() {
    const chunks = await collect(demo.completions.create({ model, prompt: 'Once upon', max_tokens: 30, stream: true }));
    assert(chunks.length > 3 && chunks.map((c) => c.choices[0].text).join(''));
  },
  async 'responses'() {
    const a = await demo.responses.create({ model, input: 'Hello', max_output_tokens: 16 });
    assert(a.output_text);
  },
  async 'responses streamed'() {
    const events = await collect(demo.responses.create({ model, input: 'Hello', max_output_tokens: 16, stream: true }));
    assert(events.some((e) => e.type === 'response.output_text.delta'));
    assert(['response.completed', 'response.incomplete'].includes(events.at(-1).type));
  },
  async 'an answer of a schema'() {
    const response_format = { type: 'json_schema', json_schema: { name: 'flag', schema: flag } };
    const a = await demo.chat.completions.create({ model, messages: hello, response_format });
    assert.equal(typeof JSON.parse(a.choices[0].message.content).flag, 'boolean');
  },
  async 'tool calls'() {
    const tools = [{ type: 'function', function: { name: 'set', parameters: flag } }];
    const stream = demo.chat.completions.stream({ model, messages: hello, tools, tool_choice: 'required' });
    const last = (await stream.finalChatCompletion()).choices[0]; // puts the deltas together
    assert.equal(last.finish_reason, 'tool_calls');
    assert.equal(typeof JSON.parse(last.message.tool_calls[0].function.arguments).flag, 'boolean');
  },
  async 'embeddings'() {
    const a = await demo.embeddings.create({ model, input: ['one', 'two'] });
    assert.equal(a.data.length, 2);
    assert.equal(typeof a.data[1].embedding[0], 'number');
  },
  async 'embeddings as floats'() {
    const a = await demo.embeddings.create({ model, input: 'one', encoding_format: 'float' });
    assert.equal(typeof a.data[0].embedding[0], 'number');
  },
  async 'models list and get'() {
    const names = (await collect(demo.models.list())).map((m) => m.id);
    assert(names.includes(model) && names.includes('google/gemma-3-27b-it'), names.join());
    assert.equal((await demo.models.retrieve(model)).id, model);
    await raises(OpenAI.NotFoundError, () => demo.models.retrieve('nothing'));
  },
  async 'unknown model is NotFoundError'() {
    const e = await raises(OpenAI.NotFoundError, () => demo.chat.completions.create({ model: 'gpt-0', messages: hello }));
    assert.equal(e.param, 'model');
    assert.equal(e.code, 'model_not_found');
  },
  async 'wrong parameter is BadRequestError'() {
    await raises(OpenAI.BadRequestError, () => demo.chat.completions.create({ model, messages: hello, max_tokens: -1 }));
    const e = await raises(OpenAI.BadRequestError, () => demo.chat.completions.create({ model, messages: hello, seed: 1 }));
    assert.equal(e.param, 'seed');
  },
  async 'too long is BadRequestError'() {
    const e = await raises(OpenAI.BadRequestError, () => demo.completions.create({ model, prompt: Array(40_000).fill(7) }));
    assert.equal(e.code, 'context_length_exceeded');
  },
  async 'wrong key is AuthenticationError'() {
    const e = await raises(OpenAI.AuthenticationError, () =>
      stranger.chat.completions.create({ model: 'scripted', messages: hello }));
    assert.equal(e.code, 'invalid_api_key');
    await raises(OpenAI.AuthenticationError, () => stranger.models.list());
  },
  async 'no room is RateLimitError with Retry-After'() {
    const e = await held(() => raises(OpenAI.RateLimitError, () =>
      faults.chat.completions.create({ model: 'single', messages: hello }, { maxRetries: 0 })));
    assert.equal(e.code, 'queue_full');
    assert(Number(e.headers.get('retry-after')) >= 1);
  },
  async 'retries after Retry-After and succeeds'() {
    const start = performance.now();
    const a = await held(() =>
      faults.chat.completions.create({ model: 'single', messages: say('after retry node') }));
    assert(a.choices[0].message.content);
    assert(performance.now() - start >= 1000);
    assert.equal(await calls('after retry node'), 1, 'the refused tries must not reach a replica');
  },
  async "a busy replica's 429 is retried"() {
    const start = performance.now();
    const a = await faults.chat.completions.create({ model: 'scripted', messages: say('busy node') });
    assert(a.choices[0].message.content);
    assert(performance.now() - start >= 1000);
    assert.equal(await calls('busy node'), 2);
  },
  async 'x-should-retry: false is honoured'() {
    const e = await raises(OpenAI.InternalServerError, () =>
      faults.chat.completions.create({ model: 'scripted', messages: say('lost node') }));
    assert.equal(e.status, 502);
    assert.equal(e.headers.get('x-should-retry'), 'false');
    assert.equal(await calls('lost node'), 1);
  },
  async 'a cut stream is APIError'() {
    const e = await broken('cut node');
    assert(e.message.includes('before it was complete'), e.message);
  },
  async 'an error in mid-stream is APIError'() {
    const e = await broken('error event node');
    assert(e.message.includes('the engine died'), e.message);
  },
};

for (const [name, f] of Object.entries(checks)) {
  try {
    await f();
    console.log('ok node', name);
  } catch (e) {
    console.log('FAILED node', name);
    console.log(e);
  }
}
