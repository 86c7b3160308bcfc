import type { Transport } from "@connectrpc/connect";
import { createTransport } from "@connectrpc/connect/protocol-connect";
import type { UniversalClientFn } from "@connectrpc/connect/protocol";

/** Maximum message size, bytes. Tool results have no lower limit. */
const MAX_BYTES = 64 * 1024 * 1024;

/** Connect over fetch, unary calls. Buffers bodies so that a paying fetch can repeat them. */
export function connectTransport(baseUrl: string, fetchFn: typeof fetch, binary: boolean): Transport {
  return createTransport({
    baseUrl,
    httpClient: httpClientOf(fetchFn),
    useBinaryFormat: binary,
    interceptors: [],
    acceptCompression: [],
    sendCompression: null,
    compressMinBytes: MAX_BYTES,
    readMaxBytes: MAX_BYTES,
    writeMaxBytes: MAX_BYTES,
  });
}

function httpClientOf(fetchFn: typeof fetch): UniversalClientFn {
  return async ({ url, method, header, body, signal }) => {
    const chunks: Uint8Array<ArrayBuffer>[] = [];
    for await (const chunk of body ?? []) chunks.push(Uint8Array.from(chunk));
    const init = { method, headers: header, body: new Blob(chunks) };
    const response = await fetchFn(url, signal ? { ...init, signal } : init);
    const bytes = new Uint8Array(await response.arrayBuffer());
    // fetch has decompressed the body, but the headers still name the encoding.
    const answered = new Headers(response.headers);
    for (const name of ["content-encoding", "content-length"]) answered.delete(name);
    return { status: response.status, header: answered, body: once(bytes), trailer: new Headers() };
  };
}

async function* once(bytes: Uint8Array): AsyncIterable<Uint8Array> {
  yield await Promise.resolve(bytes);
}
