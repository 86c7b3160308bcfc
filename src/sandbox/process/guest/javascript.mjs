// Worker for JavaScript and TypeScript: runs one module.
/* global Deno */
import { ending, errorOf, readJson, ready } from "./wire.mjs";

const { stringify } = JSON;
const { exit } = Deno;
const createObjectURL = URL.createObjectURL.bind(URL);
const queue = queueMicrotask;

const moduleUrl = (code) => createObjectURL(new Blob([code], { type: "application/typescript" }));

// Loads the transpiler before the job arrives.
await import(moduleUrl("export default 1 as number;"));
ready();
const { code, nonce } = readJson();
const sendResult = ending(nonce);
const url = moduleUrl(code);

let result;
let error = null;
let settled = false;

/** Stack with the guest's file as main.ts, without lines of this file. */
const stackOf = (thrown) => {
  try {
    const lines = `${thrown.stack ?? ""}`.replaceAll(url, "main.ts").split("\n");
    return lines.filter((line) => !line.includes("file:///")).join("\n");
  } catch {
    return "";
  }
};

/** Deno reports syntax errors as TypeError. */
const named = ({ name, message }) => {
  const text = `${message}`.replaceAll(url, "main.ts");
  return text.startsWith("SyntaxError: ") ? { name: "SyntaxError", text: text.slice(13) } : { name, text };
};

const describe = (thrown) => {
  try {
    if (thrown instanceof Error) {
      const { name, text } = named(thrown);
      return errorOf(name, text, stackOf(thrown));
    }
    return errorOf("Error", typeof thrown === "string" ? thrown : (stringify(thrown) ?? String(thrown)), "");
  } catch {
    return errorOf("Error", "", "");
  }
};

const fail = (thrown) => {
  error ??= describe(thrown);
  exit(1);
};

/** Fails the run on an uncaught error unless the guest's own listener handles it. */
const uncaught = (reasonOf) => (event) => {
  let handled = false;
  event.preventDefault();
  Object.defineProperty(event, "preventDefault", { value: () => (handled = true) });
  queue(() => {
    if (!handled) fail(reasonOf(event));
  });
};
addEventListener(
  "error",
  uncaught((event) => event.error),
);
addEventListener(
  "unhandledrejection",
  uncaught((event) => event.reason),
);

/** The module ends when the event loop is empty or when it exits. */
const NEVER = errorOf("Error", "The module waits at its top level for a promise that never settles.", "");
let idle = false;
addEventListener("beforeunload", () => (idle = true));
addEventListener("unload", () => {
  if (idle && !settled && error === null) {
    error = NEVER;
    Deno.exitCode = 1;
  }
  sendResult(result, error);
});

const jsonOf = (value) => {
  try {
    return stringify(value);
  } catch {
    return undefined;
  }
};

// Not awaited at the top level: that would look like a guest whose promise never settles.
async function runModule() {
  try {
    const value = await (await import(url)).default;
    result = jsonOf(value);
    settled = true;
  } catch (thrown) {
    settled = true;
    fail(thrown);
  }
}
void runModule();
