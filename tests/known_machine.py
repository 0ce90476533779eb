"""A machine that is no machine: with its speeds the model's choices are the same wherever the tests run."""

SPEEDS = {
    "roofs": {
        "flops": 100e9,
        "flops_all": 200e9,
        "threads": 2,
        "copies": {
            "L1": [8 << 10, 200e9],
            "L2": [256 << 10, 100e9],
            "L3": [8 << 20, 60e9],
            "memory": [64 << 20, 20e9],
        },
    },
    "overheads": {
        "call": 4e-6,
        "tile": 15e-9,
        "run": 5e-9,
        "number": 1e-9,
        "transform": 0.1e-9,
        "pack": 0.5e-9,
        "place": 5e-9,
    },
}
