import os, signal
for number in (signal.SIGTERM, signal.SIGINT, signal.SIGALRM):
    attempt(f"handler of {number}", lambda: signal.signal(number, lambda *_: None) and None)
attempt("kill of the parent", lambda: os.kill(__import__("js").Deno.ppid, 0) or "sent")
attempt("js kill of the parent", lambda: __import__("js").process.kill(__import__("js").process.ppid, 0))
attempt("resource limits", lambda: __import__("resource").setrlimit(0, (-1, -1)) or "set")
attempt("os.setuid", lambda: os.setuid(0) or "set")
print("started", flush=True)
while True:
    try:
        while True: pass
    except BaseException:
        pass
