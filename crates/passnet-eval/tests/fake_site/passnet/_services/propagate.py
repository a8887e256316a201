"""Answers for each graph that nothing is known of its values."""

import json
import sys


def main():
    for line in sys.stdin:
        graph = json.loads(line)["graph"]
        print(json.dumps({"values": [None] * (len(graph["inputs"]) + len(graph["nodes"]))}), flush=True)


if __name__ == "__main__":
    main()
