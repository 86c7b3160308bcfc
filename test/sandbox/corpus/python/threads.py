import threading, concurrent.futures
def hang():
    while True: pass
attempt("a thread", lambda: threading.Thread(target=hang).start() or "started")
attempt("a pool of threads", lambda: concurrent.futures.ThreadPoolExecutor().submit(hang).done())
attempt("a pool of processes", lambda: concurrent.futures.ProcessPoolExecutor().submit(hang).done())
