import sys
sys.setrecursionlimit(10**9)
print("started", flush=True)
def deeper(n): return deeper(n + 1) + 1
deeper(0)
