def squares(n: int):
    return [{"i": i, "square": float(i * i)} for i in range(n)]


def fails(n: int) -> int:
    if n > 1:
        raise ValueError(f"{n} is too large")
    return n
