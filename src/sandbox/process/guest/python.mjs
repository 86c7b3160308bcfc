// The worker for Python: starts an interpreter, gives up what it needed for that, waits for one program, runs it, and ends with it.
/* global Deno */
import { ending, errorOf, readBytes, readJson, ready, writeBytes } from "./wire.mjs";

const { exit } = Deno;
const { folder, wheels, image, make } = readJson();
const memory = image ? readBytes() : undefined;
const { loadPyodide } = await import(`file://${folder}/pyodide.mjs`);
const options = { indexURL: `${folder}/`, env: { LANG: "C.UTF-8" } };

if (make) {
  // The memory of an interpreter that has started: others begin where this one is, in a tenth of the time.
  const python = await loadPyodide({ ...options, _makeSnapshot: true });
  // Those that programs import most: they cost nothing later.
  python.runPython(`
import asyncio, base64, collections, csv, dataclasses, datetime, decimal, enum, functools, hashlib, heapq, io, itertools, json, linecache
import math, operator, os, random, re, statistics, string, sys, textwrap, time, traceback, typing, uuid
import pyodide.code
  `);
  const made = python.makeMemorySnapshot();
  ready();
  readJson();
  writeBytes(made);
  exit(0);
}

const readSync = Deno.stdin.readSync.bind(Deno.stdin);
const writerTo = (stream) => {
  const writeSync = stream.writeSync.bind(stream);
  return (bytes) => writeSync(bytes);
};

const python = await loadPyodide(memory === undefined ? options : { ...options, _loadSnapshot: memory });
for (let wheel = 0; wheel < wheels; wheel += 1) python.unpackArchive(readBytes(), "wheel");

python.setStdin({ read: (buffer) => readSync(buffer) ?? 0, isatty: false });
python.setStdout({ write: writerTo(Deno.stdout), isatty: false });
python.setStderr({ write: writerTo(Deno.stderr), isatty: false });

/** Runs the guest's text as __main__; says what came of it in JSON. */
const execute = python.runPython(`
async def execute(source, namespace=None):
    import json, linecache, sys, traceback
    from pyodide.code import eval_code_async
    name = "main.py"
    linecache.cache[name] = (len(source), None, source.splitlines(True), name)
    import __main__
    if namespace is None:
        namespace = __main__.__dict__
    told = {"result": None, "error": None, "code": 0}
    try:
        value = await eval_code_async(source, globals=namespace, filename=name)
        try:
            told["result"] = json.dumps(value, allow_nan=False)
        except BaseException:
            pass
    except SystemExit as end:
        if end.code is None or isinstance(end.code, int):
            told["code"] = (end.code or 0) & 255
        else:
            print(end.code, file=sys.stderr)
            told["code"] = 1
    except BaseException as error:
        told["code"] = 1
        trace = error.__traceback__
        while trace is not None and trace.tb_frame.f_code.co_filename != name:
            trace = trace.tb_next
        try:
            text = "".join(traceback.TracebackException(type(error), error, trace).format())
        except BaseException:
            text = ""
        try:
            value = str(error)
        except BaseException:
            value = ""
        told["error"] = [type(error).__name__, value, text[-16384:]]
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except BaseException:
            pass
    return json.dumps(told)

import sys
sys.stdout.reconfigure(line_buffering=True, errors="backslashreplace")
sys.stderr.reconfigure(line_buffering=True)
import json, linecache, traceback, pyodide.code, __main__
del sys, json, linecache, traceback, pyodide, __main__
globals().pop("execute")
`);

// What a first program needs is compiled when it is first used: here, and not while somebody waits. An image holds the state of random, too.
const warmUp = python.runPython(`
def warm_up():
    import random
    random.seed()
    return {"__name__": "warm_up"}
globals().pop("warm_up")
`);
for (const program of ["import colorsys, json\nprint(end='')\n[json.dumps(n) for n in range(9)]", "1/0"]) {
  const namespace = warmUp();
  await execute(program, namespace);
  namespace.destroy();
}
warmUp.destroy();

Deno.permissions.revokeSync({ name: "read" });
for (const path of [undefined, folder, `${folder}/python_stdlib.zip`]) {
  const { state } = Deno.permissions.querySync(
    path === undefined ? { name: "read" } : { name: "read", path },
  );
  if (state === "granted") exit(70);
}
ready();

const { code, nonce } = readJson();
const tell = ending(nonce);
const { parse } = JSON;

// An interpreter that ends itself (os._exit), or meets a wall in the middle of a system call, never answers: then nothing is left to do.
addEventListener("unload", () => {
  if (tell(undefined, errorOf("InterpreterEnded", "The code ended its own interpreter.", "")))
    Deno.exitCode ||= 1;
});

const lost = (thrown) => {
  tell(undefined, errorOf(thrown?.name ?? "Error", thrown?.message ?? thrown, ""));
  exit(thrown?.status || 1);
};
addEventListener("unhandledrejection", (event) => {
  event.preventDefault();
  lost(event.reason);
});

async function runProgram() {
  try {
    const told = parse(await execute(code));
    tell(
      told.result ?? undefined,
      told.error === null ? null : errorOf(told.error[0], told.error[1], told.error[2]),
    );
    exit(told.code);
  } catch (thrown) {
    lost(thrown);
  }
}
void runProgram();
