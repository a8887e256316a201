CALLS = []


def median(values):
    CALLS.append(values)
    return 1.0 if len(CALLS) == 1 else 1e-3
