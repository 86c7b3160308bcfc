// How a worker and the host speak. In: frames on stdin, each eight hexadecimal digits of length and then that many bytes; what follows the
// job's frame is the guest's own standard input. Out: the guest's output, and in the end one frame on stdout, which starts with NUL and the
// job's nonce. Everything that is used after the guest has begun is taken hold of here, before it could be replaced.
/* global Deno, process */
/* oxlint-disable typescript/unbound-method -- taken from their prototypes on purpose, and bound by `uncurried` */
const { parse, stringify } = JSON;
/** A method as a function of its receiver, which no change of a prototype reaches. */
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
// Deno 2.9 reads the file that Node's loaders are given as an ES module without checking the read permission.
const { Module } = process.getBuiltinModule("node:module");
const refuse = () => {
  throw new Deno.errors.NotCapable("Requires read access: the sandbox loads no files.");
};
for (const extension of Object.keys(Module._extensions)) Module._extensions[extension] = refuse;
Module.prototype._compile = refuse;

/** The longest JSON of a result, bytes. */
const MAX_RESULT_BYTES = 262_144;
/** The longest text of an error, UTF-16 units. */
const MAX_ERROR_LENGTH = 16_384;

function readExactly(length) {
  const bytes = new Uint8Array(length);
  let filled = 0;
  while (filled < length) {
    const count = readSync(bytes.subarray(filled));
    // The host is gone, or has no use for this worker any more.
    if (count === null) Deno.exit(0);
    filled += count;
  }
  return bytes;
}

/** The next frame from the host, as bytes. */
export function readBytes() {
  return readExactly(Number.parseInt(decode(readExactly(8)), 16));
}

/** The next frame from the host, as JSON. */
export function readJson() {
  return parse(decode(readBytes()));
}

function writeAll(bytes) {
  let written = 0;
  while (written < lengthOf(bytes)) written += writeSync(subarray(bytes, written));
}

/** A frame of bytes for the host. */
export function writeBytes(bytes) {
  writeAll(encode(bytes.length.toString(16).padStart(8, "0")));
  writeAll(bytes);
}

/** Tells the host that a job may come. */
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

/** An error as the host is told of it. */
export function errorOf(name, value, traceback) {
  return { name: cut(name), value: cut(value), traceback: cut(traceback) };
}

/** The JSON of an error, its texts one by one: an object would be asked for a toJSON that the guest may have given to all. */
const errorJson = ({ name, value, traceback }) =>
  `{"name":${stringify(name)},"value":${stringify(value)},"traceback":${stringify(traceback)}}`;

/** What the worker tells the host when the guest is done, once: false when it was told already. */
export function ending(nonce) {
  let told = false;
  /** @param {string | undefined} result JSON @param {object | null} error */
  return (result, error) => {
    if (told) return false;
    told = true;
    const json = result ?? "null";
    const tooLarge = lengthOf(encode(json)) > MAX_RESULT_BYTES;
    const body = `{"result":${tooLarge ? "null" : json},"tooLarge":${tooLarge},"error":${error === null ? "null" : errorJson(error)}}`;
    const length = padStart(hexOf(lengthOf(encode(body)), 16), 8, "0");
    writeAll(encode(`\0${nonce}${length}${body}`));
    return true;
  };
}
