import builtins, js, os, pathlib, site, sys
builtins.planted = "by-the-first"
sys.modules["planted"] = builtins
js.globalThis.planted = "by-the-first"
os.environ["PLANTED"] = "by-the-first"
for place in ["/tmp/planted", os.path.expanduser("~/planted"), "/planted", "/dev/shm/planted"] + [f"{folder}/planted.py" for folder in sys.path if os.path.isdir(folder)]:
    try:
        pathlib.Path(place).write_text("value = 'by-the-first'")
        print("planted")
    except OSError:
        print("refused")
"planted"
