import sys
while True: sys.stdout.write("x" * 1_000)
