def luhn(number):
    """Whether the last digit of a number is right; None for None."""
    if number is None:
        return None
    if number < 0:
        return False
    digits = [int(d) for d in reversed(str(number))]
    products = [d * (1 + i % 2) for i, d in enumerate(digits)]
    return sum(p // 10 + p % 10 for p in products) % 10 == 0
