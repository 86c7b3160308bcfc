// Protocol between worker and host. stdin: frames of eight hexadecimal digits of length and that many bytes,
// then the guest's own input. stdout: guest output, then one frame that starts with NUL and the nonce.
// Binds every function used after the guest has started, since guest code may replace the originals.
/* global Deno, process */
/* oxlint-disable typescript/unbound-method -- taken from their prototypes on purpose, and bound by `uncurried` */
const { parse, stringify } = JSON;
/** Turns a method into a function of its receiver, unaffected by later prototype changes. */
const uncurried = Function.prototype.bind.bind(Function.prototype.call);
const slice = uncurried(String.prototype.slice);
const padStart = uncurried(String.prototype.padStart);
const hexOf = uncurried(Number.prototype.toString);
const subarray = uncurried(Uint8Array.prototype.subarray);
const lengthOf = uncurried(
  Object.getOwnPropertyDescriptor(Object.getPrototypeOf(Uint8Array.prototype), "length").get,
);
const readSync = Deno.stdin.readSync.bind(Deno.stdin);
const writeSync = Deno.stdout.writeSync.bind(Deno.stdout);
const encoder = new TextEncoder();
const encode = encoder.encode.bind(encoder);
const decoder = new TextDecoder();
const decode = decoder.decode.bind(decoder);

/* oxlint-disable no-underscore-dangle -- the names are Node's */
// Deno 2.9 does not check the read permission in Node's module loaders.
const { Module } = process.getBuiltinModule("node:module");
const refuse = () => {
  throw new Deno.errors.NotCapable("Requires read access: the sandbox loads no files.");
};
for (const extension of Object.keys(Module._extensions)) Module._extensions[extension] = refuse;
Module.prototype._compile = refuse;

const MAX_RESULT_BYTES = 262_144;
/** UTF-16 units. */
const MAX_ERROR_LENGTH = 16_384;

function readExactly(length) {
  const bytes = new Uint8Array(length);
  let filled = 0;
  while (filled < length) {
    const count = readSync(bytes.subarray(filled));
    // The host closed the pipe.
    if (count === null) Deno.exit(0);
    filled += count;
  }
  return bytes;
}

/** Reads the next frame from the host. */
export function readBytes() {
  return readExactly(Number.parseInt(decode(readExactly(8)), 16));
}

export function readJson() {
  return parse(decode(readBytes()));
}

function writeAll(bytes) {
  let written = 0;
  while (written < lengthOf(bytes)) written += writeSync(subarray(bytes, written));
}

/** Writes a frame for the host. */
export function writeBytes(bytes) {
  writeAll(encode(bytes.length.toString(16).padStart(8, "0")));
  writeAll(bytes);
}

/** Signals that the worker can take a job. */
export function ready() {
  writeAll(encode("\0ready\0"));
}

const cut = (value) => {
  try {
    return slice(`${value}`, 0, MAX_ERROR_LENGTH);
  } catch {
    return "";
  }
};

/** Returns an error in the form of the protocol. */
export function errorOf(name, value, traceback) {
  return { name: cut(name), value: cut(value), traceback: cut(traceback) };
}

/** Serialises the texts one by one: stringify on an object would call a toJSON planted by the guest. */
const errorJson = ({ name, value, traceback }) =>
  `{"name":${stringify(name)},"value":${stringify(value)},"traceback":${stringify(traceback)}}`;

/** Returns a function that sends the result once. It returns false if already sent. */
export function ending(nonce) {
  let sent = false;
  /** @param {string | undefined} result JSON @param {object | null} error */
  return (result, error) => {
    if (sent) return false;
    sent = true;
    const json = result ?? "null";
    const tooLarge = lengthOf(encode(json)) > MAX_RESULT_BYTES;
    const body = `{"result":${tooLarge ? "null" : json},"tooLarge":${tooLarge},"error":${error === null ? "null" : errorJson(error)}}`;
    const length = padStart(hexOf(lengthOf(encode(body)), 16), 8, "0");
    writeAll(encode(`\0${nonce}${length}${body}`));
    return true;
  };
}
