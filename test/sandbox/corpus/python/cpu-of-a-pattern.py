import re
print("started", flush=True)
re.match(r"^(([a-z])+.)+[A-Z]([a-z])+$", "a" * 60)
