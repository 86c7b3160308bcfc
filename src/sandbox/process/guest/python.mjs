// Worker for Python: starts an interpreter, revokes its own permissions, and runs one program.
/* global Deno */
import { ending, errorOf, readBytes, readJson, ready, writeBytes } from "./wire.mjs";

const { exit } = Deno;
const { folder, wheels, image, make } = readJson();
/** Returns the bytes after a stream's transformation: the host keeps the image compressed. */
const through = async (bytes, stream) =>
  new Uint8Array(await new Response(new Blob([bytes]).stream().pipeThrough(stream)).arrayBuffer());
const memory = image ? await through(readBytes(), new DecompressionStream("gzip")) : undefined;
const { loadPyodide } = await import(`file://${folder}/pyodide.mjs`);
const options = { indexURL: `${folder}/`, env: { LANG: "C.UTF-8" } };

if (make) {
  // Makes a memory snapshot, from which other workers start ten times faster.
  const python = await loadPyodide({ ...options, _makeSnapshot: true });
  // Preloads the most frequent imports.
  python.runPython(`
import asyncio, base64, collections, csv, dataclasses, datetime, decimal, enum, functools, hashlib, heapq, io, itertools, json, linecache
import math, operator, os, random, re, statistics, string, sys, textwrap, time, traceback, typing, uuid
import pyodide.code
  `);
  const made = await through(python.makeMemorySnapshot(), new CompressionStream("gzip"));
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
// Frees the image at once; garbage collection may not come before the job.
memory?.buffer.transfer(0);
for (let wheel = 0; wheel < wheels; wheel += 1) python.unpackArchive(readBytes(), "wheel");

python.setStdin({ read: (buffer) => readSync(buffer) ?? 0, isatty: false });
python.setStdout({ write: writerTo(Deno.stdout), isatty: false });
python.setStderr({ write: writerTo(Deno.stderr), isatty: false });

/** Runs the program as __main__ and returns its result as JSON. */
const execute = python.runPython(`
async def execute(source, namespace=None):
    import json, linecache, sys, traceback
    from pyodide.code import eval_code_async
    name = "main.py"
    linecache.cache[name] = (len(source), None, source.splitlines(True), name)
    import __main__
    if namespace is None:
        namespace = __main__.__dict__
    report = {"result": None, "error": None, "code": 0}
    try:
        value = await eval_code_async(source, globals=namespace, filename=name)
        try:
            report["result"] = json.dumps(value, allow_nan=False)
        except BaseException:
            pass
    except SystemExit as end:
        if end.code is None or isinstance(end.code, int):
            report["code"] = (end.code or 0) & 255
        else:
            print(end.code, file=sys.stderr)
            report["code"] = 1
    except BaseException as error:
        report["code"] = 1
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
        report["error"] = [type(error).__name__, value, text[-16384:]]
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except BaseException:
            pass
    return json.dumps(report)

import sys
sys.stdout.reconfigure(line_buffering=True, errors="backslashreplace")
sys.stderr.reconfigure(line_buffering=True)
import json, linecache, traceback, pyodide.code, __main__
del sys, json, linecache, traceback, pyodide, __main__
globals().pop("execute")
`);

// Warms up the interpreter before a job arrives, and reseeds random, whose state the snapshot contains.
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
const sendResult = ending(nonce);
const { parse } = JSON;

// An interpreter that exits (os._exit) or fails inside a system call never returns.
addEventListener("unload", () => {
  if (sendResult(undefined, errorOf("InterpreterEnded", "The code ended its own interpreter.", "")))
    Deno.exitCode ||= 1;
});

const lost = (thrown) => {
  sendResult(undefined, errorOf(thrown?.name ?? "Error", thrown?.message ?? thrown, ""));
  exit(thrown?.status || 1);
};
addEventListener("unhandledrejection", (event) => {
  event.preventDefault();
  lost(event.reason);
});

async function runProgram() {
  try {
    const report = parse(await execute(code));
    sendResult(
      report.result ?? undefined,
      report.error === null ? null : errorOf(report.error[0], report.error[1], report.error[2]),
    );
    exit(report.code);
  } catch (thrown) {
    lost(thrown);
  }
}
void runProgram();
