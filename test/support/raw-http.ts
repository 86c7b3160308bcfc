import { once } from "node:events";
import { connect } from "node:net";
import { record } from "./record.ts";

/** A response as bytes. */
export interface RawAnswer {
  status: number;
  /** Names in lower case; of repeated ones the last. */
  headers: Record<string, string>;
  body: string;
}

/** Data to send: chunks are written in order with a pause between. */
export interface RawRequest {
  pieces: readonly (string | Buffer)[];
  pauseMs?: number;
  /** Whether our side is closed after the last piece. */
  end?: boolean;
  /** How long to wait for the server to finish, ms. */
  waitMs?: number;
}

/**
 * Sends bytes to a server unchanged, which no HTTP client does, and reads the response until the server
 * closes the connection or stops sending.
 */
export async function rawRequest(
  baseUrl: string,
  { pieces, pauseMs = 20, end = false, waitMs = 1_000 }: RawRequest,
): Promise<RawAnswer[]> {
  const { hostname, port } = new URL(baseUrl);
  const socket = connect(Number(port), hostname);
  const chunks: Buffer[] = [];
  let silence: NodeJS.Timeout | undefined;
  const done = new Promise<void>((resolve) => {
    const wait = () => {
      clearTimeout(silence);
      silence = setTimeout(resolve, chunks.length > 0 ? 100 : waitMs);
    };
    socket.on("data", (chunk) => {
      chunks.push(chunk);
      wait();
    });
    socket.on("error", () => {});
    socket.on("close", () => resolve());
    wait();
  });
  await once(socket, "connect");
  for (const [index, piece] of pieces.entries()) {
    if (index > 0) await new Promise((resolve) => setTimeout(resolve, pauseMs));
    if (socket.destroyed) break;
    socket.write(piece);
  }
  if (end) socket.end();
  await done;
  clearTimeout(silence);
  socket.destroy();
  const answers = parseAnswers(Buffer.concat(chunks).toString("latin1"));
  for (const { status, body } of answers) if (status >= 400) record(body);
  return answers;
}

/** Several answers on one connection; in chunks (RFC 9112 section 7.1) only from Connect. */
function parseAnswers(text: string): RawAnswer[] {
  const answers: RawAnswer[] = [];
  let rest = text;
  while (rest.startsWith("HTTP/1.1 ")) {
    const headEnd = rest.indexOf("\r\n\r\n");
    if (headEnd < 0) throw new Error(`a head without an end: ${JSON.stringify(rest.slice(0, 200))}`);
    const [first = "", ...lines] = rest.slice(0, headEnd).split("\r\n");
    const headers = Object.fromEntries(
      lines.map((line) => [
        line.slice(0, line.indexOf(":")).toLowerCase(),
        line.slice(line.indexOf(":") + 1).trim(),
      ]),
    );
    const chunked = headers["transfer-encoding"] === "chunked";
    const length = chunked
      ? rest.indexOf("0\r\n\r\n", headEnd) + 5 - (headEnd + 4)
      : Number(headers["content-length"] ?? 0);
    answers.push({
      status: Number(first.split(" ")[1]),
      headers,
      body: rest.slice(headEnd + 4, headEnd + 4 + length),
    });
    rest = rest.slice(headEnd + 4 + length);
  }
  if (rest !== "") throw new Error(`not HTTP: ${JSON.stringify(rest.slice(0, 200))}`);
  return answers;
}
