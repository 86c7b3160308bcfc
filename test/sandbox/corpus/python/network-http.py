import js, urllib.request, http.client, pyodide.http
url = "http://127.0.0.1:{{port}}/"
async def attempt_soon(what, act):
    try:
        got = await act()
        attempt(what, lambda: got)
    except BaseException as error:
        print(f"tried {what}: {type(error).__name__}")
async def status_of(fetching):
    return (await fetching).status
attempt("urllib", lambda: urllib.request.urlopen(url, timeout=1).status)
attempt("http.client", lambda: http.client.HTTPConnection("127.0.0.1", int("{{port}}"), timeout=1).request("GET", "/") or None)
attempt("open_url", lambda: pyodide.http.open_url(url).read())
await attempt_soon("pyfetch", lambda: status_of(pyodide.http.pyfetch(url)))
await attempt_soon("fetch of JavaScript", lambda: status_of(js.fetch(url)))
await attempt_soon("fetch of an address of clouds", lambda: status_of(js.fetch("http://169.254.169.254/latest/meta-data/")))
attempt("WebSocket", lambda: js.WebSocket.new("ws://127.0.0.1:{{port}}/").readyState == 1)
attempt("Deno.listen", lambda: js.Deno.listen(js.Object.fromEntries([["port", 0]])) and "listening")
