import re
print("begun", flush=True)
re.match(r"^(([a-z])+.)+[A-Z]([a-z])+$", "a" * 60)
