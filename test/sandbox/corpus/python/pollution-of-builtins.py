import builtins, json, sys, traceback
print("said before", flush=True)
def forged(*_, **__): return "forged"
for name in ("repr", "str", "len", "isinstance", "type", "list", "dict", "print", "getattr", "hasattr", "eval", "exec", "compile"):
    setattr(builtins, name, forged)
json.dumps = json.loads = json.JSONEncoder.encode = forged
traceback.format_exc = traceback.format_exception = traceback.print_exc = forged
sys.excepthook = sys.exc_info = forged
sys.modules.clear()
sys.stdout = sys.stderr = None
raise ValueError("thrown all the same")
