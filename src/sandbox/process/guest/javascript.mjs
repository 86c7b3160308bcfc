// The worker for JavaScript and TypeScript: waits for one module, runs it, and ends with it.
/* global Deno */
import { ending, errorOf, readJson, ready } from "./wire.mjs";

const { stringify } = JSON;
const { exit } = Deno;
const createObjectURL = URL.createObjectURL.bind(URL);
const queue = queueMicrotask;

const moduleUrl = (code) => createObjectURL(new Blob([code], { type: "application/typescript" }));

// The first module that is loaded brings the transpiler along.
await import(moduleUrl("export default 1 as number;"));
ready();
const { code, nonce } = readJson();
const tell = ending(nonce);
const url = moduleUrl(code);

let result;
let error = null;
let settled = false;

/** Stack lines in the guest's words: its file is main.ts, and this one is nobody's business. */
const stackOf = (thrown) => {
  try {
    const lines = `${thrown.stack ?? ""}`.replaceAll(url, "main.ts").split("\n");
    return lines.filter((line) => !line.includes("file:///")).join("\n");
  } catch {
    return "";
  }
};

/** The name and the message; Deno calls text that is no module a TypeError. */
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

/** Ends the run for an error that nobody caught, unless the guest's own listener says that it has. */
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

/** The module is over when nothing is left to wait for, or when it says so itself. */
const NEVER = errorOf("Error", "The module waits at its top level for a promise that never settles.", "");
let idle = false;
addEventListener("beforeunload", () => (idle = true));
addEventListener("unload", () => {
  if (idle && !settled && error === null) {
    error = NEVER;
    Deno.exitCode = 1;
  }
  tell(result, error);
});

const jsonOf = (value) => {
  try {
    return stringify(value);
  } catch {
    return undefined;
  }
};

// Not at the top level: a worker that waits there could not be told from a guest that never ends.
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
