for path in ["/proc/self/environ", "/proc/self/cmdline", "/proc/self/maps", "/proc/self/mem", "/proc/1/cmdline", "/proc/net/tcp", "/sys/kernel/notes", "/dev/mem", "/dev/shm", "/dev/fd/3"]:
    attempt(path, lambda: open(path, "rb").read(64))
attempt("names of its descriptors", lambda: [n for n in __import__("os").listdir("/proc/self/fd") if int(n) > 20])
