import sys
while True: print("x" * 2_000, file=sys.stderr)
