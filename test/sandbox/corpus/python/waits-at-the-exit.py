import atexit, asyncio, time
def hang():
    while True: pass
atexit.register(hang)
class Hangs:
    def __del__(self): hang()
kept = Hangs()
asyncio.ensure_future(asyncio.sleep(3600))
print("started", flush=True)
raise SystemExit(0)
