"""PassNet as an environment of trainers for reinforcement learning, one module per trainer.

| module | trainer |
|---|---|
| `trl` | TRL: `GRPOTrainer(environment_factory=...)` and the asynchronous trainer |
| `verl` | veRL: reward function, agent loop |
| `skyrl` | SkyRL: text environment |
| `openrlhf` | OpenRLHF: reward function, agent |
| `openenv` | OpenEnv: server |

All are thin layers over `rollout`, which sends requests to servers started with `passnet env serve SUITE --listen HOST:PORT`. The module
of a trainer imports the trainer; `rollout` and `answers` need only this package. `passnet_verifiers` is the adapter for `verifiers`, which
finds environments by the name of their package. The guides are in docs/guides/trainers.
"""
