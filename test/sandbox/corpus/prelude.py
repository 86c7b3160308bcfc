# Stands before every snippet. What an attempt returns is its evidence that it got through.
def attempt(what, act):
    try:
        evidence = act()
        line = f"ESCAPED {what}: {str(evidence)[:120]!r}" if evidence else f"tried {what}"
    except BaseException as error:
        line = f"tried {what}: {type(error).__name__}"
    print(line)
