deep = []
for _ in range(3_000):
    deep = [deep]
deep
