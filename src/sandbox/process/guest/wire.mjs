// How a worker and the host speak. In: frames on stdin, each eight hexadecimal digits of length and then that many bytes; what follows the
// job's frame is the guest's own standard input. Out: the guest's output, and in the end one frame on stdout, which starts with NUL and the
// job's nonce. Everything that is used after the guest has begun is taken hold of here, before it could be replaced.
/* global Deno */
const { parse, stringify } = JSON;
const readSync = Deno.stdin.readSync.bind(Deno.stdin);
const writeSync = Deno.stdout.writeSync.bind(Deno.stdout);
const encoder = new TextEncoder();
const encode = encoder.encode.bind(encoder);
const decoder = new TextDecoder();
const decode = decoder.decode.bind(decoder);

/** The longest JSON of a result, bytes. */
const MOST_RESULT_BYTES = 262_144;
/** The longest text of an error, UTF-16 units. */
const MOST_ERROR_UNITS = 16_384;

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
  while (written < bytes.length) written += writeSync(bytes.subarray(written));
}

/** Tells the host that a job may come. */
export function ready() {
  writeAll(encode("\0ready\0"));
}

const cut = (value) => {
  try {
    return `${value}`.slice(0, MOST_ERROR_UNITS);
  } catch {
    return "";
  }
};

/** An error as the host is told of it. */
export function errorOf(name, value, traceback) {
  return { name: cut(name), value: cut(value), traceback: cut(traceback) };
}

/** What the worker tells the host when the guest is done, once: false when it was told already. */
export function ending(nonce) {
  const open = encode(`\0${nonce}`);
  let told = false;
  /** @param {string | undefined} result JSON @param {object | null} error */
  return (result, error) => {
    if (told) return false;
    told = true;
    const json = encode(result ?? "null");
    const tooLarge = json.length > MOST_RESULT_BYTES;
    const body = encode(
      `{"result":${tooLarge ? "null" : (result ?? "null")},"tooLarge":${tooLarge},"error":${stringify(error)}}`,
    );
    const frame = new Uint8Array(open.length + 8 + body.length);
    frame.set(open);
    frame.set(encode(body.length.toString(16).padStart(8, "0")), open.length);
    frame.set(body, open.length + 8);
    writeAll(frame);
    return true;
  };
}
