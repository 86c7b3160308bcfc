import sys
attempt("input", lambda: input())
attempt("input once more", lambda: input("more? "))
attempt("stdin", lambda: sys.stdin.read())
attempt("getpass", lambda: __import__("getpass").getpass("secret: "))
attempt("breakpoint", lambda: breakpoint())
