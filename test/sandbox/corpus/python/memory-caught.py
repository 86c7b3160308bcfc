print("started", flush=True)
all = []
while True:
    try:
        all.append(bytearray(4 << 20))
    except BaseException:
        pass
