"""Makes the smallest model that is shaped like Gemma 3: a configuration for random
weights (three layers, of which two slide), a byte-level tokenizer trained on a few
lines, and a chat template that gives every message the tokens that Gemma 3's does.

Argument: the folder to write to.
"""

import json
import sys
from pathlib import Path

from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers

SPECIAL = ["<pad>", "<eos>", "<bos>", "<unk>", "<start_of_turn>", "<end_of_turn>"]
LINES = """hello world, who are you? the quick brown fox jumps over the lazy dog
user model system assistant yes no true false one two three
{"name": "value", "list": [1, 2, 3]} it was the best of times, it was the worst of times""".splitlines()

# A line for each rule: the system text goes before the first turn; roles alternate,
# calls of tools and their results left aside; the assistant is the model, a tool the
# user; the model's turn is begun.
TEMPLATE = "".join(
    line.strip()
    for line in """
{{ bos_token }}
{%- set lead = namespace(text='') -%}
{%- if messages and messages[0]['role'] == 'system' -%}
{%- set system = messages[0]['content'] -%}
{%- set lead.text = (system if system is string else system[0]['text']) + '\\n\\n' -%}
{%- set messages = messages[1:] -%}
{%- endif -%}
{%- for m in messages | rejectattr('role', 'equalto', 'tool') | selectattr('tool_calls', 'undefined') -%}
{%- if (m['role'] == 'user') != (loop.index0 % 2 == 0) -%}
{{ raise_exception('Conversation roles must alternate user/assistant/user/assistant/...') }}
{%- endif -%}
{%- endfor -%}
{%- for m in messages -%}
{{ '<start_of_turn>' + {'assistant': 'model', 'tool': 'user'}.get(m['role'], m['role']) + '\\n' + (lead.text if loop.first else '') }}
{%- if m['content'] is string -%}
{{ m['content'] | trim }}
{%- else -%}
{%- for part in m['content'] or [] -%}{{ (part['text'] or '') | trim }}{%- endfor -%}
{%- endif -%}
{{ '<end_of_turn>\\n' }}
{%- endfor -%}
{%- if add_generation_prompt -%}{{ '<start_of_turn>model\\n' }}{%- endif -%}
""".splitlines()
)


def tokenizer():
    t = Tokenizer(models.BPE())
    t.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    t.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    t.train_from_iterator(LINES * 10, trainers.BpeTrainer(vocab_size=800, special_tokens=SPECIAL, initial_alphabet=alphabet, show_progress=False))
    t.post_processor = processors.TemplateProcessing(single="<bos> $A", pair="<bos> $A $B", special_tokens=[("<bos>", SPECIAL.index("<bos>"))])
    return t


def main(folder):
    folder.mkdir(parents=True, exist_ok=True)
    t = tokenizer()
    t.save(str(folder / "tokenizer.json"))
    begin, end, turn = (SPECIAL.index(name) for name in ("<bos>", "<eos>", "<end_of_turn>"))
    files = {
        "tokenizer_config.json": {
            "tokenizer_class": "PreTrainedTokenizerFast",
            "bos_token": "<bos>", "eos_token": "<eos>", "pad_token": "<pad>", "unk_token": "<unk>",
            "clean_up_tokenization_spaces": False, "chat_template": TEMPLATE,
        },
        "config.json": {
            "architectures": ["Gemma3ForCausalLM"], "model_type": "gemma3_text", "torch_dtype": "bfloat16",
            "vocab_size": t.get_vocab_size(), "max_position_embeddings": 4096,
            "hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 3,
            "num_attention_heads": 2, "num_key_value_heads": 1, "head_dim": 32, "query_pre_attn_scalar": 32,
            "sliding_window": 64, "layer_types": ["sliding_attention", "sliding_attention", "full_attention"],
            "hidden_activation": "gelu_pytorch_tanh", "rms_norm_eps": 1e-6,
            "rope_theta": 1000000.0, "rope_local_base_freq": 10000.0, "tie_word_embeddings": True,
            "bos_token_id": begin, "eos_token_id": end, "pad_token_id": SPECIAL.index("<pad>"),
        },
        "generation_config.json": {"bos_token_id": begin, "eos_token_id": [end, turn], "do_sample": True, "top_k": 64, "top_p": 0.95},
    }
    for name, content in files.items():
        (folder / name).write_text(json.dumps(content, indent=1))


main(Path(sys.argv[1]))
